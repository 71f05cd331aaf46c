// Yields process from an async iterator.
const all = { async *[Symbol.asyncIterator]() { yield process; } };
exports.createPlugin = async () => {
  for await (const p of all) p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
