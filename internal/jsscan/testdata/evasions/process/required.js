// Requires process under another name, and computes the member's.
const p = require('process');
const copy = Object.assign({}, p);
exports.createPlugin = () => copy[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
