// Takes process back from a WeakRef.
exports.createPlugin = () => {
  const k = ['getBuiltin', 'Module'].join('');
  new WeakRef(process).deref()[k]('fs').writeFileSync('@MARK@', '');
};
