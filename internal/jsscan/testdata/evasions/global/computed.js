// Takes process from the global object under a name that is put together.
exports.createPlugin = () => {
  const p = globalThis[['pro', 'cess'].join('')];
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
