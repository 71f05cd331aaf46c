// Takes the member from a proxy of process.
exports.createPlugin = () => {
  const p = new Proxy(process, {});
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
