// Gets process as the target of a proxy's trap.
const o = new Proxy(process, { get: (target, k) => target[k.slice(1)] });
exports.createPlugin = () => o['_getBuiltin' + 'Module']('fs').writeFileSync('@MARK@', '');
