// Gives a property's name when it is made a string.
const k = { [Symbol.toPrimitive]: () => 'getBuiltinModule' };
exports.createPlugin = () => process[k]('fs').writeFileSync('@MARK@', '');
