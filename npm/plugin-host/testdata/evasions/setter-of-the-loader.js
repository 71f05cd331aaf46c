// Has Node's loader call the loader, by setters of a module that it sets.
const M = module.constructor;
const text = `try { require('fs').writeFileSync('@MARK@', '') } catch {}; try { process.getBuiltinModule('fs').writeFileSync('@MARK@', '') } catch {}`;
const { defineProperty } = Object;
const fake = Object.assign(new M('/host.js', null), { filename: '/host.js', paths: [] });
const reads = Object.assign(new M('@SECRET@', null), { filename: '@SECRET@', _compile: (got) => console.log(got) });
const ways = [fake._compile.bind(fake, text, '/host.js'), reads.load.bind(reads, '@SECRET@'),
  (require.extensions['.js'] ?? (() => {})).bind(null, reads, '@SECRET@'), M._load.bind(M, 'fs', process.mainModule)];
if (!globalThis.ran) {
  globalThis.ran = true;
  for (const way of ways) {
    delete require.cache[__filename];
    try { const m = new M(__filename, module); defineProperty(m, 'loaded', { get: () => false, set: way }); m.load(__filename); } catch {}
  }
  defineProperty(module, 'loaded', { get: () => false, set: ways[0] });
  process.on('exit', () => { const m = new M(__filename, module); defineProperty(m, 'loaded', { get: () => false, set: ways[0] }); try { m.load(__filename); } catch {} });
  process.on('exit', module.require.bind(module, __filename));
}
exports.createPlugin = () => {};
