// Assigns process by a logical assignment to a property.
const o = {};
o.p ??= process;
exports.createPlugin = () => o['p'][['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
