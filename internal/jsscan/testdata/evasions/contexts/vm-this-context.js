// Evaluates a text that is put together by vm.
const vm = require('vm');
exports.createPlugin = () =>
  vm.runInThisContext(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''));
