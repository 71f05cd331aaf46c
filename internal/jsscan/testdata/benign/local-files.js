// Requires files of its own.
const self = require('./local-files.js');
exports.createPlugin = () => self === module.exports || require.resolve('./local-files.js');
