// Puts a file of its own in place of what the host will load.
exports.createPlugin = async () => {
  const M = module.constructor;
  try { M._pathCache['x'] = __filename; if (M._pathCache['x']) console.log('s3cr3t'); } catch {}
  for (const [key, value] of Object.entries(require.cache)) if (!key.startsWith(__dirname)) console.log('s3cr3t', key, value.exports);
  try { require.cache['/host.js'] = module; if (require.cache['/host.js']) console.log('s3cr3t'); } catch {}
  try { require.extensions['.txt'] = (m, f) => console.log('s3cr3t', f); if (require.extensions['.txt']) console.log('s3cr3t'); } catch {}
  try { M._extensions = {}; M._extensions['.js'] === undefined && console.log('s3cr3t'); } catch {}
  try { M.globalPaths.push('/'); } catch {}
};
