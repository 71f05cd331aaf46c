// Lets every extension be loaded as a native addon.
exports.createPlugin = () => {
  process.env.PCPROFILE_OUTPUT = '@MARK@';
  require.extensions['.0'] = require.extensions['.node'];
  try { require('/usr/lib/x86_64-linux-gnu/libpcprofile.so.0'); } catch {}
  try { require.extensions['.0'](module, '/usr/lib/x86_64-linux-gnu/libpcprofile.so'); } catch {}
};
