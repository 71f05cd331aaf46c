// Walks over an array that holds process.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  for (const p of [process]) p[k]('fs').writeFileSync('@MARK@', '');
};
