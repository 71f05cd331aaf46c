// Waits in the loader for the host to load the file system.
const steal = (fs) => { try { fs?.writeFileSync?.('@MARK@', ''); } catch {} };
const M = module.constructor;
for (const [object, name] of [[M, '_load'], [M.prototype, 'require'], [M, '_resolveFilename'], [M.prototype, '_compile']]) {
  const was = object[name];
  const mine = function (...args) { const got = was.apply(this, args); steal(got); return got; };
  try { object[name] = mine; } catch {}
  try { Object.defineProperty(object, name, { value: mine, configurable: true, writable: true }); } catch {}
}
const d = require('diagnostics_channel');
for (const name of ['tracing:module.require:end', 'tracing:module.import:asyncEnd']) {
  try { d.subscribe(name, (m) => steal(m.result)); } catch {}
  try { d.channel(name).subscribe((m) => steal(m.result)); } catch {}
}
exports.createPlugin = () => {};
