// Writes the name of process with an escape.
exports.createPlugin = () => \u0070rocess.get\u0042uiltinModule('fs').writeFileSync('@MARK@', '');
