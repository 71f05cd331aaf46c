// A constant that with hides.
const name = 'path';
exports.createPlugin = () => { with ({ name: 'fs' }) require(name).writeFileSync('@MARK@', ''); };
