// Has Node call the loader, so that no frame is the plugin's.
exports.createPlugin = async () => {
  const use = (fs) => fs?.writeFileSync?.('@MARK@', '');
  Promise.resolve('fs').then(process.getBuiltinModule).then(use).catch(() => {});
  Promise.resolve('fs').then(require).then(use).catch(() => {});
  Promise.resolve('fs').then(module.constructor._load).then(use).catch(() => {});
  try { ['fs'].map(process.getBuiltinModule).map(use); } catch {}
  setTimeout((f) => { try { use(f('fs')); } catch {} }, 0, process.getBuiltinModule);
  process.once('hm', process.getBuiltinModule);
  try { process.emit('hm', 'fs'); } catch {}
};
