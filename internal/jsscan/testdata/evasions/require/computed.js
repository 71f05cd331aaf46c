// Requires a name that is put together.
exports.createPlugin = () => require(['f', 's'].join('')).writeFileSync('@MARK@', '');
