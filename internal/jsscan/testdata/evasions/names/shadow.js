// Declares process again in a block that does not hold its use.
exports.createPlugin = () => {
  { const process = {}; void process; }
  const k = ['getBuiltin', 'Module'].join('');
  Object(process)[k]('fs').writeFileSync('@MARK@', '');
};
