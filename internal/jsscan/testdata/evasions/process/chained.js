// A method of process returns process.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  process.on('x', () => {})[k]('fs').writeFileSync('@MARK@', '');
};
