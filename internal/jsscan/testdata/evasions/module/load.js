// Loads by Module._load.
const M = require('module');
const { _load: l } = M;
exports.createPlugin = () => l(['f', 's'].join('')).writeFileSync('@MARK@', '');
