// Takes process from the receiver of a callback.
exports.createPlugin = () => {
  const names = ['pro' + 'cess', 'getBuiltin' + 'Module'];
  [1].forEach(function () { this[names[0]][names[1]]('fs').writeFileSync('@MARK@', ''); });
};
