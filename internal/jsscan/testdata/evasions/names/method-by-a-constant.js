// Calls a method of an inner object by a constant; it finds require in its receiver.
const name = 'run';
const all = { inner: { load: require } };
all.inner.run = function (x) { return this.load(x); };
exports.createPlugin = () => all.inner[name](['f', 's'].join('')).writeFileSync('@MARK@', '');
