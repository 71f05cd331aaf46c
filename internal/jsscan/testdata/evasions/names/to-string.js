// Returns require from toString, which is called by its name.
const o = { toString() { return require; } };
exports.createPlugin = () => o.toString()(['f', 's'].join('')).writeFileSync('@MARK@', '');
