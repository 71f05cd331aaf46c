// Copies all members of the global object.
exports.createPlugin = () => {
  const { ...all } = globalThis;
  const d = Object.getOwnPropertyDescriptors(globalThis);
  const p = (all.process || d[['pro', 'cess'].join('')].get.call(globalThis));
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
