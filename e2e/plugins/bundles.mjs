// Bundles packages of npm, each below out/ID.BUNDLER.js: node bundles.mjs BUNDLER PACKAGE…
import fs from 'node:fs';
import path from 'node:path';

const [bundler, ...packages] = process.argv.slice(2);
fs.mkdirSync('in', { recursive: true });
const inputs = packages.map((name) => {
  const id = name.replace(/\W/g, '_');
  const file = path.resolve('in', `${id}.${bundler}.mjs`);
  fs.writeFileSync(file, `import * as all from '${name}';\nexport function createPlugin() { return all; }\n`);
  return [`${id}.${bundler}.js`, file];
});

const builds = {
  async esbuild() {
    const { build } = await import('esbuild');
    await Promise.all(inputs.map(([to, file]) => build({ entryPoints: [file], bundle: true, platform: 'node',
      format: 'cjs', outfile: `out/${to}`, logLevel: 'error' })));
  },
  async rollup() {
    const [{ rollup }, { nodeResolve }, { default: commonjs }, { default: json }] = await Promise.all([
      import('rollup'), import('@rollup/plugin-node-resolve'), import('@rollup/plugin-commonjs'),
      import('@rollup/plugin-json')]);
    for (const [to, file] of inputs) {
      const bundle = await rollup({ input: file, onwarn() {}, plugins: [
        nodeResolve({ preferBuiltins: true, exportConditions: ['node'] }), commonjs(), json()] });
      await bundle.write({ file: `out/${to}`, format: 'cjs', inlineDynamicImports: true });
    }
  },
  async webpack() {
    const { default: webpack } = await import('webpack');
    for (const [to, entry] of inputs) {
      await new Promise((done, failed) => webpack({ mode: 'production', target: 'node', entry,
        optimization: { minimize: false }, output: { path: path.resolve('out'), filename: to,
          library: { type: 'commonjs2' } } }, (err, stats) => {
        if (err || stats.hasErrors()) failed(err || new Error(stats.toString()));
        else done();
      }));
    }
  },
};
await builds[bundler]();
