// Writes compiled code to a directory.
const { enableCompileCache, flushCompileCache } = require('module');
exports.createPlugin = () => { enableCompileCache('@MARK@'); flushCompileCache(); };
