// A host that loads a plugin only after hallmark has checked it.
//
//   node host.mjs PLUGIN
//
// hallmark writes a private copy from the very bytes that it checked; the plugin is loaded
// from there, so that nothing that happens to PLUGIN afterwards matters. While it runs,
// require and import reach what the check allowed and nothing else.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { guard } from './guard.mjs';

const run = promisify(execFile);
const hallmark = process.env.HALLMARK ?? 'hallmark';

// check resolves to hallmark's answer, or rejects with its type: integrityError,
// signatureError, policyError or validationError.
async function check(plugin, copy, ...flags) {
  const args = ['plugin', 'verify', plugin, '--json', '--copy-to', copy, ...flags];
  const { stdout } = await run(hallmark, args, { maxBuffer: 64 << 20 }).catch((e) => e);
  const answer = JSON.parse(stdout || '{}');
  if (answer.ok !== true) {
    throw Object.assign(new Error(answer.error ?? 'hallmark gave no answer'), { name: answer.error_type ?? 'operationError', exitCode: answer.exit_code ?? 1 });
  }
  return answer;
}

const room = await realpath(await mkdtemp(join(tmpdir(), 'plugin-')));
try {
  const copy = join(room, 'plugin');
  const answer = await check(process.argv[2], copy);
  const manifest = JSON.parse(await readFile(join(copy, 'mcp-plugin.json')));
  guard(copy, manifest.permissions ?? {}, (manifest.externalDependencies ?? []).map((e) => e.name));
  const loaded = await import(pathToFileURL(join(copy, answer.entry)));
  const createPlugin = loaded.createPlugin ?? loaded.default?.createPlugin;
  console.log(`loaded ${answer.name}@${answer.version}:`, await createPlugin());
} catch (e) {
  console.error(`${e.name}: ${e.message}`);
  process.exitCode = e.exitCode ?? 1;
} finally {
  await rm(room, { recursive: true, force: true });
}
