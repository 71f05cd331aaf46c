// Yields process from a generator.
function* all() { yield process; }
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  for (const p of all()) p[k]('fs').writeFileSync('@MARK@', '');
};
