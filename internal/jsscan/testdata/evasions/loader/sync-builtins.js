// Changes a module that others use, and lets the change be seen by all.
const M = require('module');
exports.createPlugin = () => {
  M.prototype.require.call(module, ['f', 's'].join('')).writeFileSync('@MARK@', '');
  M.syncBuiltinESMExports();
};
