// Looks for process among the members of the global object.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  for (const n of Object.getOwnPropertyNames(globalThis)) {
    let v;
    try { v = globalThis[n]; } catch {}
    if (v && v[k]) return v[k]('fs').writeFileSync('@MARK@', '');
  }
};
