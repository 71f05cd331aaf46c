// Swaps two names, one of which is process.
exports.createPlugin = () => {
  let a = process, b = {};
  [a, b] = [b, a];
  b[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
