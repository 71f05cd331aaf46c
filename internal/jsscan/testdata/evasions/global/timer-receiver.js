// The global object as the receiver of what has the name of a timer.
function setImmediate() { return this; }
exports.createPlugin = () => {
  const p = setImmediate.call(globalThis)[['pro', 'cess'].join('')];
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
