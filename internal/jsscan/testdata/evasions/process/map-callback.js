// Hands process to the callback of an array's method.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  [process].map((p) => p[k]('fs').writeFileSync('@MARK@', ''));
};
