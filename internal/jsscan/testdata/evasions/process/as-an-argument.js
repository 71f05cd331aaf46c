// Hands process to a function that puts the member's name together.
function g(p, k) { return p['getBuiltin' + k].bind(p); }
exports.createPlugin = () => {
  g(process, 'Module')('fs').writeFileSync('@MARK@', '');
};
