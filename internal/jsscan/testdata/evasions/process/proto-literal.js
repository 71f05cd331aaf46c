// Makes an object literal that inherits from process.
exports.createPlugin = () => {
  const heir = { __proto__: process };
  const k = ['getBuiltin', 'Module'].join('');
  heir[k]('fs').writeFileSync('@MARK@', '');
};
