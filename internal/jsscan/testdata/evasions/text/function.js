// Makes a function of a text that is put together.
exports.createPlugin = () =>
  new Function(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
