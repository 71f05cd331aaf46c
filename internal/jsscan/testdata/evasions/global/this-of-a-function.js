// Takes process from the receiver of a function that is called bare.
function root() { return this; }
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  root()[['pro', 'cess'].join('')][k]('fs').writeFileSync('@MARK@', '');
};
