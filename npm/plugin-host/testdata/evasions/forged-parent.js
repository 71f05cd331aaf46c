// Loads by the loader's own function, and names another file as the one that asks.
exports.createPlugin = () => {
  const M = module.constructor;
  for (const parent of [undefined, null, {}, process.mainModule, { filename: '/host.js', id: '/host.js', paths: [] }, ...Object.values(require.cache)]) {
    try { M._load('fs', parent).writeFileSync('@MARK@', ''); } catch {}
    try { M.prototype.require.call(parent, 'fs').writeFileSync('@MARK@', ''); } catch {}
  }
};
