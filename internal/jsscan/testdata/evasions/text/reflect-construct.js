// Makes a function of a text by Reflect.construct.
exports.createPlugin = () =>
  Reflect.construct(Function, [['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join('')])();
