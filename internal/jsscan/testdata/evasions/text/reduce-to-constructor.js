// Walks to the constructor of constructors by names in a list.
exports.createPlugin = () => {
  const F = ['constructor', 'constructor'].reduce((o, k) => o[k], '');
  F(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
};
