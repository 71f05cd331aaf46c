// A bound function among listeners: the other has process as its receiver.
exports.createPlugin = () => {
  const f = function (k) { if (this[k]) this[k]('fs').writeFileSync('@MARK@', ''); };
  for (const g of [f.bind({}), f]) process.on('x', g);
  process.emit('x', ['getBuiltin', 'Module'].join(''));
};
