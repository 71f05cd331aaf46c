// node: 22
// Writes by modules of Node that write: a database, a test, a worker.
exports.createPlugin = async () => {
  for (const name of ['node:sqlite', 'worker_threads', 'node:worker_threads', 'cluster', 'child_process', 'node:test', 'wasi', 'inspector/promises']) {
    for (const get of [require, (n) => import(n)]) {
      try { const m = await get(name); new m.DatabaseSync('@MARK@').exec('create table t (a)'); } catch {}
      try { const m = await get(name); new m.Worker(`require('fs').writeFileSync('@MARK@', '')`, { eval: true }); } catch {}
    }
  }
};
