// The first thing that runs in the process of a plugin of tier 3, under Node's permission model.
// It takes away what that model does not hold in all versions, loads the plugin, and passes texts
// between it and the host over descriptor 3. What a plugin changes here it changes for itself only.
'use strict';
const fs = require('node:fs');
const module_ = require('node:module');
const os = require('node:os');
const path = require('node:path');
const stream = require('node:stream');
const { pathToFileURL } = require('node:url');
const v8 = require('node:v8');

const { root, entry, permissions, refused, messageBytes } = JSON.parse(process.argv[2]);
const { read, writeSync } = fs;
const { pid } = process;
const kill = process._kill.bind(process); // which process.kill calls, and which is taken away below
const die = () => { kill(pid, 9); for (;;); };

// -- what the plugin has no permission for

function deny(what, need) {
  return function () {
    const e = new Error(`${what} ${need}`);
    e.name = 'policyError';
    e.code = 'ERR_ACCESS_DENIED';
    throw e;
  };
}

function replace(target, name, what, need = 'is not given to a plugin in tier 3') {
  if (!target || !(name in target)) return;
  const value = deny(what, need);
  try {
    Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true });
  } catch {
    try { target[name] = value; } catch { /* a getter: what it leads to is replaced */ }
  }
}

// Node loads its client for HTTP late, and that takes from modules which are shut below.
if (typeof globalThis.Request === 'function') void new globalThis.Request('http://a.example');
new ReadableStream({ start: (c) => c.close() }).getReader().releaseLock(); // for which it makes a context

// Prototypes first: some of their classes are reached by other ways than their module.
if (!permissions.network) {
  const net = require('node:net');
  const dgram = require('node:dgram');
  const no = 'needs permissions.network';
  for (const name of ['connect', 'open']) replace(net.Socket.prototype, name, 'a connection', no);
  for (const name of ['listen', '_listen2']) replace(net.Server.prototype, name, 'a server', no);
  // Their handles connect and listen as well, on files too. One comes with any socket, such as this process' output.
  try {
    const { _handle: handle } = new net.Socket({ fd: 2, readable: false, writable: false });
    handle.unref();
    const pipe = Object.getPrototypeOf(handle);
    for (const name of ['bind', 'bind6', 'connect', 'connect6', 'listen', 'open', 'fchmod']) replace(pipe, name, 'a connection', no);
    replace(pipe, 'constructor', 'a connection', no);
  } catch { /* it is no socket, and gives no handle */ }
  for (const name of ['bind', 'connect', 'send', 'addMembership']) replace(dgram.Socket.prototype, name, 'a socket', no);
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']) {
    if (name in globalThis) Object.defineProperty(globalThis, name, { value: name === 'fetch' ? async () => deny(name, no)() : undefined, writable: false, configurable: false });
  }
}
const shut = [];
for (const [name, need] of refused) {
  try {
    shut.push([name, require(name), need]); // all of them first: they take from each other when they are loaded
  } catch { /* of another version, or behind a flag */ }
}
// Whoever has a class that extends one of the network has that one.
if (!permissions.network) {
  const types = [require('tty').ReadStream, require('tty').WriteStream];
  if (module_.builtinModules.includes('_stream_wrap')) types.push(require('_stream_wrap')); // up to Node 25
  for (const type of types) Object.setPrototypeOf(type, Function.prototype);
  replace(require('net').Socket.prototype, 'constructor', 'a socket', 'needs permissions.network');
}
for (const [name, exports, need] of shut) {
  for (const key of Reflect.ownKeys(exports)) {
    if (typeof key !== 'string' || (name === 'worker_threads' && key !== 'Worker')) continue; // ports are harmless
    let value;
    try { value = exports[key]; } catch { continue; }
    if (key === 'promises' && value) for (const k of Object.keys(value)) replace(value, k, `${name}.${key}.${k}:`, need);
    if (typeof value === 'function') replace(exports, key, `${name}.${key}:`, need);
    else if (value !== null && typeof value === 'object') { try { Object.defineProperty(exports, key, { value: Object.freeze({ __proto__: null }), configurable: false, writable: false }); } catch { /* read only */ } }
  }
}

// Signals reach the host, and these files are written without a look at the permissions in some versions.
for (const name of ['kill', '_kill', '_debugProcess', '_debugEnd', '_startProfilerIdleNotifier', 'chdir', 'loadEnvFile', 'execve',
  'binding', '_linkedBinding', 'setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups', '_getActiveHandles',
  '_getActiveRequests', 'openStdin', ...(permissions.native ? [] : ['dlopen'])]) replace(process, name, `process.${name}`);
for (const name of ['setFlagsFromString', 'writeHeapSnapshot', 'setHeapSnapshotNearHeapLimit', 'takeCoverage', 'stopCoverage', 'startCpuProfile']) replace(v8, name, `v8.${name}`);
for (const name of ['enableCompileCache', 'flushCompileCache']) replace(module_, name, `module.${name}`);
replace(require('node:crypto'), 'setEngine', 'crypto.setEngine');
replace(os, 'setPriority', 'os.setPriority');
if (!permissions.native && module_._extensions) replace(module_._extensions, '.node', 'a native addon', 'needs PLUGIN_ALLOW_NATIVE');
Object.defineProperty(process, 'report', { value: undefined, configurable: false });
for (const name of ['exit', 'reallyExit', 'abort']) Object.defineProperty(process, name, { value: () => die(), writable: false, configurable: false });

// write writes all of some bytes; where nobody takes them for long, it gives up.
const idle = new Int32Array(new SharedArrayBuffer(4));
const pause = Atomics.wait.bind(undefined, idle, 0, 0);
function write(fd, bytes) {
  for (let at = 0, waited = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
      waited = 0;
    } catch (e) {
      if (e.code !== 'EAGAIN' || ++waited > 5000) throw e;
      pause(2);
    }
  }
}

// The streams of a process have handles, whose classes open sockets.
function output(fd) {
  const s = new stream.Writable({
    decodeStrings: true,
    write(chunk, _, done) {
      try { write(fd, chunk); } catch { /* nobody reads it */ }
      done();
    },
  });
  s.fd = fd;
  return s;
}
Object.defineProperty(process, 'stdout', { value: output(1), configurable: false, enumerable: true });
Object.defineProperty(process, 'stderr', { value: output(2), configurable: false, enumerable: true });
Object.defineProperty(process, 'stdin', { value: stream.Readable.from([]), configurable: false, enumerable: true });
process.argv = [process.argv[0], path.join(root, entry)];
module_.syncBuiltinESMExports();

// -- messages

function send(text) {
  try {
    write(3, Buffer.from(`${text}\n`));
  } catch {
    die();
  }
}

const { deliver } = require('./runtime.cjs').makeRuntime(send);
const load = () => import(pathToFileURL(path.join(root, entry)).href);

const chunk = Buffer.alloc(1 << 16);
let held = [];
let size = 0;
function next() {
  read(3, chunk, 0, chunk.length, null, (e, n) => {
    if (e?.code === 'EAGAIN') return void setTimeout(next, 5);
    if (e || n === 0) die(); // the host is gone
    let from = 0;
    for (let i = chunk.indexOf(10); i >= 0 && i < n; i = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...held, chunk.subarray(from, i)]).toString();
      [held, size, from] = [[], 0, i + 1];
      deliver(line, load);
      if (from >= n) break;
    }
    if (from < n) {
      held.push(Buffer.from(chunk.subarray(from, n)));
      if ((size += n - from) > messageBytes * 4) die();
    }
    next();
  });
}
next();

// An error that nobody catches ends a program; here it is said, and the calls go on.
const tell = (e) => { try { write(2, Buffer.from(`${e?.stack ?? e}\n`)); } catch { /* nobody reads it */ } };
process.on('uncaughtException', tell);
process.on('unhandledRejection', tell);
