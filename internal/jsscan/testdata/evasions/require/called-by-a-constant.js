// Calls require by a member whose name is a constant.
const by = 'call';
exports.createPlugin = () => require[by](null, ['f', 's'].join('')).writeFileSync('@MARK@', '');
