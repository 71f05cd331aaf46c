// Writes by the promises of fs.
const { writeFile } = require('fs/promises');
exports.createPlugin = () => writeFile('@MARK@', '');
