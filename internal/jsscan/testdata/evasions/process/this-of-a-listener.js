// Learns process as the receiver of a listener of its own.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  process.once('x', function () { this[k]('fs').writeFileSync('@MARK@', ''); });
  process.emit('x');
};
