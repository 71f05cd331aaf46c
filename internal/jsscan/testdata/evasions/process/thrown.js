// Throws process, and catches it.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  try { throw process; } catch (p) { p[k]('fs').writeFileSync('@MARK@', ''); }
};
