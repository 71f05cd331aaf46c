// Puts process into a property of an object, and takes it out by a name that is put together.
const holder = { value: process };
exports.createPlugin = () => {
  const k = 'val' + (() => 'ue')();
  holder[k]['getBuiltin' + 'Module']('fs').writeFileSync('@MARK@', '');
};
