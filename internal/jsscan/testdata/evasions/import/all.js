// Gets the namespace of the module "process" by Promise.all.
exports.createPlugin = async () => {
  const [p] = await Promise.all([import('node:process')]);
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
