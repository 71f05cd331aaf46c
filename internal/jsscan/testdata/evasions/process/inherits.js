// Makes an object that inherits from process.
exports.createPlugin = () => {
  const heir = Object.create(process);
  const k = ['getBuiltin', 'Module'].join('');
  heir[k]('fs').writeFileSync('@MARK@', '');
};
