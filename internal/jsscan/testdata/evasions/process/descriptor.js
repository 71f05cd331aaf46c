// Takes process out of a descriptor.
exports.createPlugin = () => {
  const p = Object.getOwnPropertyDescriptor(globalThis, 'process');
  (p.value || p.get.call(globalThis))['getBuiltin' + 'Module']('fs').writeFileSync('@MARK@', '');
};
