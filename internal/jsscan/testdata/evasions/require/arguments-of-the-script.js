// Takes require out of the arguments of the script.
const load = arguments[1];
exports.createPlugin = () => load('fs').writeFileSync('@MARK@', '');
