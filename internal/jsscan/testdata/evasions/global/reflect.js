// Takes process from the global object by Reflect.
exports.createPlugin = () => {
  const p = Reflect.get(globalThis, ['pro', 'cess'].join(''));
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
