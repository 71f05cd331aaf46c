// A host that holds nothing, which runs one evasion: what gets through here is one.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const offered = [];
const server = { registerTool: (name, config, f) => offered.push(f), tool: (name, ...rest) => offered.push(rest.at(-1)) };
process.on('uncaughtException', (e) => console.error('uncaught', e));
try {
  const loaded = await import(pathToFileURL(process.argv[2]).href);
  await (loaded.createPlugin ?? loaded.default.createPlugin)(server);
} catch (e) {
  console.error(e);
}
for (const f of offered) {
  try {
    console.log(await f({}));
  } catch (e) {
    console.error(e);
  }
}
await import('node:fs/promises');
createRequire(import.meta.url)('fs');
await new Promise((done) => setTimeout(done, 150));
process.exit(0);
