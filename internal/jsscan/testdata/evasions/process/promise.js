// Hands process on by a promise.
exports.createPlugin = async () => {
  const k = ['getBuiltin', 'Module'].join('');
  await Promise.resolve(process).then((p) => p[k]('fs').writeFileSync('@MARK@', ''));
};
