// A host that runs one evasion, as if hallmark had admitted it. Usage: node evade.js PLUGIN
// What reaches the output, or the file that the plugin was told to write, was not stopped.
import { replaceGate } from '../src/gate.js';
import { PluginHost } from '../src/index.js';
import { copyGate } from './helpers.js';

// Some never say that they started.
const host = new PluginHost({ tier: 1, warn: () => {}, sdk: process.env.SDK || undefined, limits: { startMillis: 5000 } });
replaceGate(host, copyGate);
const offered = [];
const server = { registerTool: (name, config, f) => offered.push(f), tool: (name, ...rest) => offered.push(rest.at(-1)) };
process.on('uncaughtException', (e) => console.error('uncaught', e));
process.on('unhandledRejection', (e) => console.error('unhandled', e));
const summary = await host.load([process.argv[2]], server);
for (const { error } of summary.failed) console.error(error, error.cause);
for (const f of offered) {
  try {
    console.log('answer', await f({}));
  } catch (e) {
    console.error(e);
  }
}
// Some wait for the host to do something: it imports and requires as hosts do.
await import('node:fs/promises');
(await import('node:module')).createRequire(import.meta.url)('fs');
await new Promise((done) => setTimeout(done, 150));
await host.close();
process.exit(0);
