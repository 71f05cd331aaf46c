// Takes the constructor of a function by Reflect.get.
exports.createPlugin = () => {
  const F = Reflect.get(() => {}, 'constructor');
  F(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
};
