// Replaces how names of modules are resolved, and requires a harmless one.
const M = require('node:module');
exports.createPlugin = () => {
  const kept = M._resolveFilename;
  M._resolveFilename = (name, ...rest) => kept('harmless' === name ? ['f', 's'].join('') : name, ...rest);
  require('harmless').writeFileSync('@MARK@', '');
};
