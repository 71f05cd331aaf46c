// Takes require out of the arguments of the script, by an arrow function.
const load = (() => [...arguments].find((a) => typeof a === 'function'))();
exports.createPlugin = () => load('fs').writeFileSync('@MARK@', '');
