// Requires by the prototype of module.
exports.createPlugin = () => {
  const proto = Object.getPrototypeOf(module);
  proto[['req', 'uire'].join('')].call(module, 'fs').writeFileSync('@MARK@', '');
};
