// Runs evasions in tier 3, as if hallmark had admitted them. Usage: node evasion.js ENTRY...
// ENTRY is the file of a plugin below its dist/. What the plugins say, in whatever way, is printed.
import { dirname, relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { open } from '../src/tier3.js';

const entries = process.argv.slice(2);

async function run(entry) {
  const root = dirname(dirname(entry));
  const plugin = {
    name: 'evasion', version: '1.0.0', root, entry: relative(root, entry), manifest: {}, externals: new Map(), sdk: undefined,
    rules: { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: [] },
    limits: { callMillis: 5000, startMillis: 5000 }, warn: (m) => console.log(m),
  };
  let session;
  try {
    session = await open(plugin);
    const answers = [];
    for (const t of session.tools) {
      answers.push(session.callTool(t.name, {}).then(JSON.stringify, (e) => `${e.stack} ${e.pluginMessage}`).then(console.log));
      await Promise.race([answers.at(-1), wait(500)]); // one that never answers is waited for beside the next
    }
    await Promise.all(answers);
  } catch (e) {
    console.log(e.stack, e.pluginMessage);
  }
  await wait(100);
  await session?.close();
}

async function work() {
  while (entries.length > 0) await run(entries.shift());
}
await Promise.all(Array.from({ length: 8 }, work)); // most of them wait
console.log('the host lives');
