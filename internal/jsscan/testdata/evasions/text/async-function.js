// Makes an async function of a text.
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
exports.createPlugin = () =>
  new AsyncFunction(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
