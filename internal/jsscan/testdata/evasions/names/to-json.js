// Returns process from a function that JSON.parse calls.
exports.createPlugin = () => {
  const p = JSON.parse('{"a":1}', () => process);
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
