// Makes functions of texts by a class that extends Function.
class F extends Function {}
exports.createPlugin = () =>
  new F(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
