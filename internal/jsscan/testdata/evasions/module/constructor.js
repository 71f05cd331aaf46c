// Loads by the class of module.
exports.createPlugin = () => {
  const { constructor: M } = module;
  M[['_lo', 'ad'].join('')]('fs').writeFileSync('@MARK@', '');
};
