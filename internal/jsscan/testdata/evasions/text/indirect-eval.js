// Evaluates a text that is put together, in the global scope.
exports.createPlugin = () => (0, eval)(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''));
