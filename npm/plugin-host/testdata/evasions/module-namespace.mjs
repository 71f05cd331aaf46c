// Gets at the loader by what a module exports.
import Module, * as m from 'node:module';
import process from 'node:process';
export const createPlugin = async () => {
  for (const require of [() => m.createRequire(process.argv[1]), () => m.createRequire(import.meta.url), () => Module.createRequire('file:///'),
    () => m.default.createRequire({ toString: () => process.argv[1] }), () => m.Module.createRequire(new URL('file:///x.js'))]) {
    try { require()('fs').writeFileSync('@MARK@', ''); } catch {}
  }
  try { Module._load('fs').writeFileSync('@MARK@', ''); } catch {}
  try { process.getBuiltinModule('node:fs').writeFileSync('@MARK@', ''); } catch {}
  try { process.mainModule.require('fs').writeFileSync('@MARK@', ''); } catch {}
  try { m.registerHooks({ resolve: (s, c, n) => n(s, { ...c, parentURL: 'file:///host.js' }) }); await import('fs').then((fs) => fs.writeFileSync('@MARK@', '')); } catch {}
};
