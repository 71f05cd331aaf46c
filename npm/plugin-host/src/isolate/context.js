// The thread of one plugin of tier 2. It makes a context of its own for the plugin, hands it
// texts and takes texts from it: no object of one realm is ever touched in the other.
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { constants, createContext, Script } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { answerFetch } from './fetch.js';

const { code, limits, network } = workerData;

// The plugin's promises are of its own realm, and nobody here looks at why one was rejected.
process.on('unhandledRejection', () => {});

const text = (file) => readFileSync(new URL(file, import.meta.url), 'utf8');
const makeGlobals = new Script(text('globals.cjs'), { filename: 'globals' });
const makeRuntime = new Script(text('runtime.cjs'), { filename: 'runtime' });
// One expression, which hallmark made: a function of (exports, require, module).
const plugin = new Script(`__hallmark.enter(${code}\n); 0`, { filename: 'plugin' });
const take = new Script('__hallmark.take()');

// ask answers the few questions that only the host's realm can. Its arguments and its answer
// are texts; its callers in the context swallow what it throws.
const parts = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
const settable = new Set(parts.filter((p) => p !== 'origin'));
const questions = {
  __proto__: null,
  url(given) {
    const { url, base, part, value } = JSON.parse(given);
    let u;
    try {
      u = new URL(url, base);
      if (settable.has(part)) u[part] = value;
    } catch {
      return 'null';
    }
    return JSON.stringify(Object.fromEntries(parts.map((p) => [p, u[p]])));
  },
  query: (given) => JSON.stringify([...new URLSearchParams(given)]),
  encode: (given) => new URLSearchParams(JSON.parse(given)).toString(),
  uuid: () => randomUUID(),
  random: (given) => randomBytes(Math.min(Number(given) || 0, 65536)).toString('hex'),
};
function ask(what, given) {
  if (typeof what !== 'string' || typeof given !== 'string' || given.length > 1 << 20) return undefined;
  const answer = questions[what];
  return typeof answer === 'function' ? answer(given) : undefined;
}

const context = createContext(constants.DONT_CONTEXTIFY, {
  name: 'plugin', codeGeneration: { strings: false, wasm: false }, microtaskMode: 'afterEvaluate',
});

const once = { displayErrors: false, timeout: limits.startMillis };
makeGlobals.runInContext(context, once)(ask, makeRuntime.runInContext(context, once), {
  __proto__: null, network, uninterrupted: limits.uninterrupted, timers: limits.timers, fetches: limits.fetches,
  outboxChars: limits.messageBytes * 4, outboxMessages: limits.messagesPerSecond,
  version: process.version, platform: process.platform, arch: process.arch,
});

// A function of this realm that got out nevertheless leads to no other code.
for (const f of [function () {}, async function () {}, function* () {}, async function* () {}]) {
  Object.defineProperty(Object.getPrototypeOf(f), 'constructor', { value: undefined, writable: false, configurable: false });
}

const post = parentPort.postMessage.bind(parentPort);
let ended = false;

function end(reason) {
  if (ended) return;
  ended = true;
  post({ ended: reason });
  for (const t of timers.values()) clearTimeout(t);
}

// run runs a script in the context and returns a text that it gives, or nothing. What it throws
// may be the plugin's and is not looked at: the functions of globals.cjs catch what a plugin throws,
// so that it is the end of the time or of the stack.
function run(script, millis) {
  const begin = performance.now();
  try {
    const value = script.runInContext(context, { displayErrors: false, timeout: millis });
    return typeof value === 'string' ? value : undefined;
  } catch {
    end(performance.now() - begin >= 0.9 * millis ? 'time' : 'context');
  }
  return undefined;
}

const timers = new Map();

// deliver hands one message over and passes on what the plugin says.
function deliver(message, millis) {
  if (ended) return;
  run(new Script(`__hallmark.deliver(${JSON.stringify(message)}); 0`), millis);
  if (ended) return;
  const out = run(take, millis);
  if (ended) return;
  if (out === undefined) return end('context');
  let all;
  try {
    all = JSON.parse(out);
  } catch {
    return end('context');
  }
  for (const m of all) handle(m);
  sample();
}

// handle takes what is for this thread, and sends the rest to the host, as texts.
function handle(message) {
  if (typeof message !== 'string' || message.length > limits.messageBytes) return end('message');
  if (message.startsWith('{"timer":')) {
    const { timer, ms, repeat } = JSON.parse(message);
    if (typeof timer !== 'number' || !(ms >= 1) || timers.size >= limits.timers * 2) return end('timers');
    const fire = () => {
      if (!repeat) timers.delete(timer);
      deliver(JSON.stringify({ fired: timer }), limits.callMillis);
    };
    timers.set(timer, repeat ? setInterval(fire, ms) : setTimeout(fire, ms));
  } else if (message.startsWith('{"clear":')) {
    const { clear } = JSON.parse(message);
    clearTimeout(timers.get(clear));
    timers.delete(clear);
  } else if (message.startsWith('{"fetch":')) {
    answerFetch(JSON.parse(message), limits, network, (text) => deliver(text, limits.callMillis));
  } else if (message === '{"flood":true}') {
    end('flood');
  } else {
    post({ message });
  }
}

// sample says how much memory this thread holds, in which nothing but the plugin grows.
function sample() {
  const h = getHeapStatistics();
  const { arrayBuffers } = process.memoryUsage();
  const heapBytes = h.used_heap_size + arrayBuffers;
  post({ heapBytes });
  if (heapBytes > limits.heapBytes) {
    globalThis.gc?.();
    end('heap');
  }
}

run(plugin, limits.startMillis);
parentPort.on('message', ({ message, millis }) => deliver(message, millis));
post({ ready: true });
