// Gives process as a pattern's default.
exports.createPlugin = () => {
  const { none: p = process } = {};
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
