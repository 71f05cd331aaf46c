// Hands the global object to a function that puts the names together.
const walk = (o, ...names) => names.reduce((v, n) => v[n], o);
exports.createPlugin = () => {
  const g = walk(globalThis, 'pro' + 'cess', 'getBuiltin' + 'Module');
  g('fs').writeFileSync('@MARK@', '');
};
