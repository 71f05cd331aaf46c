// Requires by a module of the cache.
exports.createPlugin = () => {
  for (const m of Object.values(require.cache)) return m.require('f' + 's').writeFileSync('@MARK@', '');
};
