// Makes a function of a text, by the constructor of one under a name that is put together.
exports.createPlugin = () => {
  const k = ['construct', 'or'].join('');
  const text = ['return pro', 'cess'].join('');
  const p = exports.createPlugin[k](text)();
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
