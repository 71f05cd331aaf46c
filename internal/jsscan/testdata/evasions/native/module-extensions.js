// Loads a native addon under another name by Module._extensions.
const { _extensions: all } = require('module');
exports.createPlugin = () => {
  process.env.PCPROFILE_OUTPUT = '@MARK@';
  const load = all['.no' + 'de'];
  try { load(module, '/usr/lib/x86_64-linux-gnu/libpcprofile.so'); } catch {}
};
