// Runs evasions in a sandbox, as if hallmark had admitted them. Usage: node evasion.js TIER (ENTRY SCRIPT)...
// ENTRY is the file of a plugin below its dist/; SCRIPT is what hallmark makes of it (tier 2). What the plugins
// say, in whatever way, is printed.
import { readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { open as open2 } from '../src/tier2.js';
import { open as open3 } from '../src/tier3.js';

const [, , tier, ...pairs] = process.argv;

async function run(entry, script) {
  const root = dirname(dirname(entry));
  const plugin = {
    name: 'evasion', version: '1.0.0', root, entry: relative(root, entry), manifest: {}, externals: new Map(), hallmark: 'none', sdk: undefined,
    rules: { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: [] },
    limits: { callMillis: 5000, startMillis: 5000 }, warn: (m) => console.log(m), script: JSON.parse(readFileSync(script, 'utf8')),
  };
  let session;
  try {
    session = await (tier === '2' ? open2 : open3)(plugin);
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
  while (pairs.length > 0) await run(...pairs.splice(0, 2));
}
await Promise.all(Array.from({ length: 8 }, work)); // most of them wait
console.log('the host lives');
