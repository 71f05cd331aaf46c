// Gets a module of Node without an import.
exports.createPlugin = () => process.getBuiltinModule('fs').writeFileSync('@MARK@', '');
