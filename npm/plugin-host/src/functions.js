// The functions of Node that need a permission, wherever a plugin has them from: each asks whose code
// calls before it does what it did. What modules may be imported at all is judged in loading.js.
//
// The wrappers are functions and not proxies: util.inspect hands the target of a proxy to code of others.
import async_hooks from 'node:async_hooks';
import child_process from 'node:child_process';
import crypto from 'node:crypto';
import diagnostics_channel from 'node:diagnostics_channel';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { devNull } from 'node:os';
import v8 from 'node:v8';
import vm from 'node:vm';
import worker_threads from 'node:worker_threads';
import { calledBy } from './frames.js';
import { asker, byNodeItself, demand, refusal, unknown } from './guard.js';
import { may, refuseModule } from './rules.js';
import { apply, construct, defineProperty, getOwnPropertyDescriptor, includes, ownKeys, reject, slice, startsWith } from './safe.js';

// dress gives a wrapper what the function had, without handing out the function itself.
function dress(wrapper, was) {
  const keys = ownKeys(was);
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] === 'prototype' || keys[i] === 'arguments' || keys[i] === 'caller') continue;
    defineProperty(wrapper, keys[i], getOwnPropertyDescriptor(was, keys[i]));
  }
  return wrapper;
}

function around(was, check, promise) {
  return dress({
    f(...args) {
      try {
        check(args, this);
      } catch (e) {
        if (promise) return reject(e);
        throw e;
      }
      return apply(was, this, args);
    },
  }.f, was);
}

function aroundClass(was, check) {
  const wrapper = dress(function (...args) {
    check(args, this);
    if (new.target === undefined) return apply(was, this, args);
    return construct(was, args, new.target === wrapper ? was : new.target);
  }, was);
  wrapper.prototype = was.prototype;
  return wrapper;
}

function replace(object, name, make) {
  const before = object === undefined || object === null ? undefined : getOwnPropertyDescriptor(object, name);
  if (before === undefined || typeof before.value !== 'function' || before.configurable === false && before.writable === false) return;
  const after = make(before.value);
  const type = getOwnPropertyDescriptor(before.value, 'prototype')?.value;
  const maker = type && getOwnPropertyDescriptor(type, 'constructor');
  const isClass = after.prototype !== undefined && after.prototype === type && maker?.configurable;
  if (isClass) defineProperty(type, 'constructor', { ...maker, value: after });
  defineProperty(object, name, { ...before, value: after });
}

// table names functions: what they need, and where they are.
function need(permission, object, label, names, { promise = false, strict = false } = {}) {
  for (const name of names.trim().split(/\s+/)) {
    replace(object, name, (was) => around(was, () => demand(permission, `${label}.${name}`, strict), promise));
  }
}

function classNeeds(permission, object, label, name) {
  replace(object, name, (was) => aroundClass(was, () => demand(permission, `${label}.${name}`, true)));
}

// File system: functions that take paths. Node's loader calls some of them in the context of a plugin, for
// what the plugin may load, and fs calls its own, which were asked for already. Streams of files open them
// for whoever has one, and process.stdin.constructor is one.
const byNode = () => calledBy('node:internal/modules/') || calledBy('node:internal/source_map/') ||
  (calledBy('node:internal/process/') && !calledBy('node:internal/process/task_queues')) ||
  calledBy('node:fs') || (calledBy('node:internal/fs/') && !calledBy('node:internal/fs/streams'));

const readers = `access exists lstat opendir readFile readdir readlink realpath stat statfs watch watchFile glob openAsBlob`;
const writers = `appendFile chmod chown cp copyFile fchmod fchown futimes lchmod lchown link lutimes mkdir mkdtemp mkdtempDisposable rename rm rmdir
  symlink truncate unlink utimes writeFile`;

function readsOnly(flags) {
  return flags === undefined || flags === null || flags === 'r' || flags === 'rs' || flags === 'sr' || flags === fs.constants.O_RDONLY;
}

function fileCheck(permission, label) {
  return (args) => {
    const who = asker();
    if (who === undefined) return;
    if (who === unknown) {
      if (byNodeItself() || byNode()) return;
      throw refusal(who, `${label} is not to be called so`);
    }
    let wanted = permission;
    if (wanted === 'open') {
      // open(path, callback) and open(path) read. Flags that are no plain value could change after this.
      const flags = typeof args[1] === 'function' ? undefined : args[1];
      wanted = readsOnly(flags) ? 'fsRead' : 'fsWrite';
    }
    // fsWrite includes reading, as the check before loading has it: fs is one module.
    if (wanted === 'fsRead' ? may(who.rules, 'files') : may(who.rules, wanted)) return;
    if (wanted === 'fsRead' && byNode()) return;
    throw refusal(who, `${label} needs a permission that the manifest does not declare: permissions.${wanted}`);
  };
}

function files() {
  const all = [];
  for (const name of readers.split(/\s+/)) all.push([name, 'fsRead']);
  for (const name of writers.split(/\s+/)) all.push([name, 'fsWrite']);
  all.push(['open', 'open']);
  for (const [name, permission] of all) {
    const check = fileCheck(permission, `fs.${name}`);
    replace(fs, name, (was) => around(was, check, false));
    replace(fs, `${name}Sync`, (was) => around(was, check, false));
    replace(fs.promises, name, (was) => around(was, check, true));
  }
  for (const name of ['createReadStream', 'createWriteStream']) {
    const check = fileCheck(name === 'createReadStream' ? 'fsRead' : 'fsWrite', `fs.${name}`);
    replace(fs, name, (was) => around(was, check, false));
  }
  // What they open they open later, for nobody whom a frame would show.
  for (const name of ['ReadStream', 'WriteStream']) {
    const type = fs[name].prototype;
    defineProperty(type, 'constructor', {
      __proto__: null, writable: true, configurable: true, value: aroundClass(fs[name], () => demand('files', `fs.${name}`, true)),
    });
  }
  for (const f of [fs.realpath, fs.realpathSync]) {
    replace(f, 'native', (was) => around(was, fileCheck('fsRead', 'fs.realpath.native'), false));
  }
}

function processes() {
  need('exec', process, 'process', 'binding _linkedBinding execve kill _kill _debugProcess _debugEnd _getActiveHandles _getActiveRequests initgroups setuid seteuid setgid setegid setgroups',
    { strict: true });
  need('native', process, 'process', 'dlopen', { strict: true });
  need('files', process, 'process', 'loadEnvFile chdir');
  // It gives what import gives, and so needs what import needs.
  replace(process, 'getBuiltinModule', (was) => around(was, (args) => {
    const who = asker();
    if (who === undefined) return;
    const id = args[0];
    if (who === unknown) throw refusal(who, 'process.getBuiltinModule is not to be called so');
    if (typeof id !== 'string') return;
    const why = refuseModule(who.rules, startsWith(id, 'node:') ? slice(id, 5) : id);
    if (why !== '') throw refusal(who, why);
  }, false));
  // A report shows the environment, and is written to any file, also later when the process ends. A plugin
  // without files gets one that does neither, so that walking over process goes on working.
  const report = getOwnPropertyDescriptor(process, 'report');
  if (report?.configurable) {
    const refused = () => demand('files', 'process.report', true);
    const nothing = Object.freeze({ __proto__: null, getReport: refused, writeReport: refused });
    defineProperty(process, 'report', {
      __proto__: null, configurable: true, enumerable: report.enumerable,
      get() {
        const who = asker();
        if (who !== undefined && (who === unknown || !may(who.rules, 'files'))) return nothing;
        return report.get ? apply(report.get, process, []) : report.value;
      },
    });
  }
}

// The handles below net, child_process and stdio, which process.stdout._handle.constructor gives too.
function handles() {
  const binding = (name) => {
    try {
      return process.binding(name);
    } catch {
      return {};
    }
  };
  const pipes = binding('pipe_wrap'), tcp = binding('tcp_wrap'), udp = binding('udp_wrap'), programs = binding('process_wrap');
  need('network', pipes.Pipe?.prototype, 'Pipe', 'bind connect listen fchmod');
  need('network', tcp.TCP?.prototype, 'TCP', 'bind bind6 connect connect6 listen');
  need('network', udp.UDP?.prototype, 'UDP', 'bind bind6 connect connect6 send send6');
  need('exec', programs.Process?.prototype, 'Process', 'spawn');
}

function network() {
  need('network', net.Socket.prototype, 'net.Socket', 'connect');
  need('network', net.Server.prototype, 'net.Server', 'listen');
  need('network', globalThis, 'globalThis', 'fetch', { promise: true });
  for (const name of ['WebSocket', 'EventSource']) {
    const before = getOwnPropertyDescriptor(globalThis, name);
    if (before?.configurable !== true) continue;
    let seen, wrapper;
    const wrap = (value) => {
      if (typeof value !== 'function' || value === wrapper) return value;
      if (value !== seen) {
        seen = value;
        wrapper = aroundClass(value, () => demand('network', name, false));
        defineProperty(value.prototype, 'constructor', { __proto__: null, value: wrapper, writable: true, configurable: true });
      }
      return wrapper;
    };
    let held = before.value;
    const put = () => defineProperty(globalThis, name, {
      __proto__: null, configurable: true, enumerable: before.enumerable,
      get() {
        if (held === undefined && before.get) {
          held = apply(before.get, globalThis, []);
          put(); // the getter put the class in its own place
        }
        return wrap(held);
      },
      set(value) {
        held = value;
      },
    });
    put();
  }
}

function programs() {
  need('exec', child_process, 'child_process', 'exec execFile execFileSync execSync fork spawn spawnSync');
  need('exec', child_process.ChildProcess.prototype, 'ChildProcess', 'spawn');
  classNeeds('exec', worker_threads, 'worker_threads', 'Worker');
}

// What runs text as code under the name of any file, or looks into others' memory and contexts.
function insides() {
  // Node itself makes one empty context, whenever it needs one first.
  replace(vm, 'runInNewContext', (was) => around(was, (args) => {
    if (args[0] === 'this' && args[1] === undefined && calledBy('node:internal/util')) return;
    demand('exec', 'vm.runInNewContext', true);
  }, false));
  need('exec', vm, 'vm', 'runInThisContext runInContext compileFunction createScript measureMemory', { strict: true });
  classNeeds('exec', vm, 'vm', 'Script');
  if (vm.SourceTextModule) classNeeds('exec', vm, 'vm', 'SourceTextModule');
  need('exec', v8, 'v8', 'setFlagsFromString queryObjects startCpuProfile', { strict: true });
  need('files', v8, 'v8', 'writeHeapSnapshot getHeapSnapshot setHeapSnapshotNearHeapLimit takeCoverage stopCoverage', { strict: true });
  need('exec', async_hooks, 'async_hooks', 'executionAsyncResource createHook', { strict: true });
  need('native', crypto, 'crypto', 'setEngine', { strict: true });
  const topics = ['module.', 'child_process', 'http', 'net.', 'udp.', 'undici', 'worker_threads', 'process'];
  // Node publishes there what the host imports, and whom it talks to.
  const channel = (args) => {
    if (calledBy('node:') || (typeof args[0] !== 'string' && typeof args[0] !== 'object')) return;
    if (typeof args[0] === 'object') return demand('never', 'diagnostics_channel with channels', true);
    for (let i = 0; i < topics.length; i++) {
      if (includes(args[0], topics[i])) demand('exec', `the diagnostics channel ${args[0]}`, true);
    }
  };
  for (const name of ['channel', 'subscribe', 'tracingChannel', 'hasSubscribers']) {
    replace(diagnostics_channel, name, (was) => around(was, channel, false));
  }
}

let installing;

/** install wraps the functions: from then on they ask whose code calls. */
export function install() {
  return installing ??= wrapAll();
}

async function wrapAll() {
  const handle = await fs.promises.open(devNull);
  need('fsWrite', Object.getPrototypeOf(handle), 'FileHandle', 'chmod chown utimes truncate');
  await handle.close();
  // Handles first: what the next ones wrap is used for it.
  handles();
  processes();
  files();
  network();
  programs();
  insides();
  syncBuiltinESMExports();
}
