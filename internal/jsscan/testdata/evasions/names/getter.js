// Returns process from a getter under a name that is put together.
const o = { get ['p' + Math.floor(1.5)]() { return process; } };
exports.createPlugin = () => o.p1[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
