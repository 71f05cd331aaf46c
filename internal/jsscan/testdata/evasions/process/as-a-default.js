// Hands process to a function as the default of a parameter.
const member = (k, o = process) => o[k];
exports.createPlugin = () => {
  member('getBuiltin' + 'Module')('fs').writeFileSync('@MARK@', '');
};
