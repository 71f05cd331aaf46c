// Takes the global object from itself, and hands it on in a list.
exports.createPlugin = () => {
  const [g] = [global.globalThis.global];
  const k = ['getBuiltin', 'Module'].join('');
  g[['pro', 'cess'].join('')][k]('fs').writeFileSync('@MARK@', '');
};
