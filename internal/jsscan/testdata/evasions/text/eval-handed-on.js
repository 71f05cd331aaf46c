// Hands eval to the method of an array.
exports.createPlugin = () =>
  [['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join('')].map(eval);
