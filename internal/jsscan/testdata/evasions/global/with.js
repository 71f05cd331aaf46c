// Puts the global object into the scope of names.
exports.createPlugin = () => {
  with (globalThis) {
    with (process) { getBuiltinModule('fs').writeFileSync('@MARK@', ''); }
  }
};
