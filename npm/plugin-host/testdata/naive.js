// What the list of escapes is worth: one of them runs in a context as one would make it at first, with objects of
// the host in it. Usage: node naive.js MARK NAME. MARK is there afterwards if the way leads out.
import vm from 'node:vm';
import { prelude, ways } from './escapes.js';

const [, , mark, name] = process.argv;
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
const globals = { console: { log() {}, error() {} }, setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, URL, URLSearchParams, TextEncoder,
  crypto, performance, structuredClone, process: { env: {} }, require: () => ({}), module: {}, exports: {}, __hallmark: {} };
const f = vm.runInContext(`${prelude(mark)}; (async function (args, extra) { ${ways[name]} })`, vm.createContext(globals));
f({}, { signal: AbortSignal.abort(), sendNotification: async () => {}, sendRequest: async () => {} }).catch(() => {});
setTimeout(() => process.exit(0), 300);
