// Tier 2: a plugin runs in a context of its own, with frozen intrinsics and no module of Node
// that reaches anything, on a thread whose heap and time are limited.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { OperationError, PolicyError } from './errors.js';
import { limitsOf, Peer } from './isolate/peer.js';
import { sdkName } from './rules.js';

const run = promisify(execFile);

/** given are the modules of Node that have a counterpart in a context. */
const given = new Set(['timers', 'timers/promises', 'events', 'path', 'path/posix', 'console', 'process', 'url']);

// uninterrupted are methods of Array that run as long as a forged length says, whatever the time limit.
const uninterrupted = ['at', 'concat', 'copyWithin', 'entries', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast',
  'findLastIndex', 'flat', 'flatMap', 'forEach', 'includes', 'indexOf', 'join', 'lastIndexOf', 'map', 'pop', 'push', 'reduce',
  'reduceRight', 'reverse', 'shift', 'slice', 'some', 'sort', 'splice', 'toLocaleString', 'toReversed', 'toSorted', 'toSpliced',
  'unshift', 'with'];

function refuse(plugin, what, tier) {
  throw new PolicyError(`plugin ${plugin.name} needs ${what}, which tier 2 does not give${tier ? `: ${tier}` : ''}`, { plugin: plugin.name });
}

/** checkRules throws where the manifest asks for what a context cannot have. */
function checkRules(plugin) {
  const { rules } = plugin;
  for (const [need, name] of [['fsRead', 'permissions.fsRead'], ['fsWrite', 'permissions.fsWrite'], ['exec', 'permissions.exec']]) {
    if (rules[need]) refuse(plugin, name, 'tier 3 does');
  }
  if (rules.packages.length > 0) refuse(plugin, `external packages (${rules.packages.join(', ')})`, 'tier 3 does');
}

function checkRequires(plugin, requires) {
  for (const name of requires) {
    const plain = name.replace(/^node:/, '');
    if (given.has(plain)) continue;
    if (name.startsWith('node:') || builtinModules.includes(plain)) refuse(plugin, `node:${plain}`, 'tier 3 does, as far as its permissions go');
    if (name === sdkName || name.startsWith(`${sdkName}/`)) refuse(plugin, `${sdkName} at run time`, 'tiers 1 and 3 do');
    if (name.startsWith('.')) continue; // an optional file that is not there
    refuse(plugin, `the package ${name}`, 'tiers 1 and 3 do, if it is declared');
  }
}

/** scriptOf asks hallmark for the plugin as one script, made of the private copy's bytes after it checked them again. */
async function scriptOf(plugin) {
  const room = await mkdtemp(join(tmpdir(), 'plugin-script-'));
  try {
    const file = join(room, 'script.json');
    // All that the host demands was checked when the copy was made; here it is the same bytes.
    const args = ['plugin', 'verify', '--json', '--script-to', file, '--sandbox-available', '--allow-native=false', '--require-signatures=false',
      '--strict-capabilities=false', '--strict-tools=false', '--strict-integrity=false', '--', plugin.root];
    const { stdout } = await run(plugin.hallmark, args, { maxBuffer: 64 << 20, env: plugin.env ?? process.env }).catch((e) => e);
    let answer;
    try {
      answer = JSON.parse(stdout);
    } catch {
      throw new OperationError(`hallmark gave no answer about plugin ${plugin.name}`, { plugin: plugin.name });
    }
    if (answer.ok !== true || !answer.script) {
      throw new PolicyError(answer.error ?? `no script of plugin ${plugin.name}`, { plugin: plugin.name, hint: answer.hint });
    }
    const script = JSON.parse(await readFile(file, 'utf8'));
    if (script.format !== 1) throw new OperationError('hallmark wrote a script of another format', { plugin: plugin.name });
    return script;
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}

/** open starts a plugin in tier 2. */
export async function open(plugin) {
  const limits = limitsOf(plugin.limits);
  if (constants?.DONT_CONTEXTIFY === undefined) {
    throw new PolicyError(`tier 2 needs Node 20.18, 22.8 or later, and this is ${process.version}`, { plugin: plugin.name });
  }
  checkRules(plugin);
  const script = plugin.script ?? await scriptOf(plugin);
  checkRequires(plugin, script.requires);

  const worker = new Worker(new URL('./isolate/context.js', import.meta.url), {
    workerData: { code: script.code, network: plugin.rules.network, limits: { ...limits, uninterrupted } },
    env: {}, argv: [], execArgv: ['--unhandled-rejections=none'], stdin: false, stdout: true, stderr: true, name: `plugin ${plugin.name}`,
    trackUnmanagedFds: true,
    resourceLimits: { maxOldGenerationSizeMb: Math.max(16, Math.ceil(limits.heapBytes / (1 << 20))), maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  });
  worker.unref();
  // Nothing is written to its stdout and stderr, and who reads them keeps this process from ending.
  let watch;
  let heapBytes = 0;
  let busy = 0;
  const peer = new Peer(plugin, limits, {
    send: (message, millis) => { busy++; worker.postMessage({ message, millis }); },
    kill: async () => {
      clearInterval(watch);
      let patience;
      const late = new Promise((resolve) => { patience = setTimeout(resolve, 2000, 'late'); });
      if (await Promise.race([worker.terminate(), late]) === 'late') {
        plugin.warn?.(`plugin ${plugin.name}: its thread is in a function of V8 that nothing interrupts; it ends with the process`);
      }
      clearTimeout(patience);
    },
    warn: plugin.warn,
  });
  // Memory outside of the heap, while the thread is busy and tells nothing: what the process grows by.
  let before = process.memoryUsage.rss();
  watch = setInterval(() => {
    const rss = process.memoryUsage.rss();
    if (peer.pending === 0) before = Math.min(before, rss);
    else if (rss - before > 2 * limits.heapBytes + (128 << 20)) peer.end('heap', PolicyError);
  }, 50);
  watch.unref();

  worker.on('message', (m) => {
    if (typeof m !== 'object' || m === null) return;
    if (typeof m.heapBytes === 'number') heapBytes = m.heapBytes;
    if (typeof m.ended === 'string') peer.end(m.ended, PolicyError);
    else if (m.message !== undefined) peer.receive(m.message);
  });
  worker.on('error', (e) => peer.end(e?.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'heap' : 'its thread failed', PolicyError));
  worker.on('messageerror', () => peer.end('form', PolicyError));
  worker.on('exit', () => peer.end('its thread ended'));
  worker.ref();
  try {
    await peer.start();
  } finally {
    worker.unref();
  }
  return peer.session(() => ({ heapBytes, pendingCalls: peer.pending, deliveries: busy }));
}
