// Makes a function of a text, by the constructor of one.
exports.createPlugin = () => {
  const make = (() => {})['construct' + 'or'];
  make(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
};
