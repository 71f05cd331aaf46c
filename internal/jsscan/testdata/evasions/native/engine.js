// Loads native code as an engine of crypto.
const crypto = require('crypto');
exports.createPlugin = () => crypto.setEngine('@MARK@');
