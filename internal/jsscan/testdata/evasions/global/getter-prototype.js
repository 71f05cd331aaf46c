// Defines a getter on the prototype of all objects, whose receiver is the global object.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  Object.defineProperty(Object.prototype, 'zzz', { configurable: true, get() { return this; } });
  const p = zzz[['pro', 'cess'].join('')];
  delete Object.prototype.zzz;
  p[k]('fs').writeFileSync('@MARK@', '');
};
