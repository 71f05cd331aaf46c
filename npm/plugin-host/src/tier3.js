// Tier 3: a plugin runs in a process of its own under Node's permission model, with quotas for
// memory, time and messages.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationError, PolicyError } from './errors.js';
import { linkPackages } from './externals.js';
import { quote } from './isolate/hostile.js';
import { limitsOf, Peer } from './isolate/peer.js';
import { Family, killGroup, usageOf } from './isolate/processes.js';
import { refuseModule, restricted } from './rules.js';
import { sessionOf } from './session.js';

const isolate = fileURLToPath(new URL('./isolate/', import.meta.url));

/** permissionFlag is how this version of Node is told to use its permission model. */
function permissionFlag() {
  const known = process.allowedNodeEnvironmentFlags;
  return ['--permission', '--experimental-permission'].find((f) => known.has(f));
}

const hasFlag = (name) => process.allowedNodeEnvironmentFlags.has(name);

// modulesRoot is the outermost directory of packages that a package's own dependencies are looked for in.
function modulesRoot(dir) {
  const parts = dir.split(sep);
  const at = parts.lastIndexOf('node_modules');
  return at > 0 ? parts.slice(0, at + 1).join(sep) : dir;
}

function nodeArguments(plugin, limits, readable, flag) {
  const { rules } = plugin;
  const args = [flag];
  const within = (dir) => join(dir, '*');
  for (const dir of new Set([plugin.root, realpathSync(plugin.root), isolate, ...readable])) args.push(`--allow-fs-read=${within(dir)}`);
  if (rules.fsRead) for (const dir of plugin.readable ?? []) args.push(`--allow-fs-read=${within(dir)}`);
  if (rules.fsWrite) for (const dir of plugin.writable ?? []) args.push(`--allow-fs-write=${within(dir)}`);
  if (rules.exec) {
    args.push('--allow-child-process', '--allow-worker');
  }
  if (rules.network && hasFlag('--allow-net')) args.push('--allow-net');
  if (rules.native) args.push(...(hasFlag('--allow-addons') ? ['--allow-addons'] : []));
  else args.push('--no-addons');
  if (plugin.frozen) args.push('--frozen-intrinsics');
  if (hasFlag('--disable-sigusr1')) args.push('--disable-sigusr1');
  args.push('--no-warnings', `--max-old-space-size=${Math.max(32, Math.ceil(limits.heapBytes / (1 << 20)))}`, '--no-global-search-paths', join(isolate, 'child.cjs'));
  const refused = [];
  for (const name of new Set([...builtinModules, ...restricted.map((name) => `node:${name}`)])) {
    if (/^(node:)?fs(\/|$)/.test(name)) continue; // the permission model's
    const why = refuseModule(rules, name.replace(/^node:/, ''));
    if (why) refused.push([name, why]);
  }
  // What opens files that the permission model does not ask about. Who may start programs needs none of these.
  if (!rules.exec) for (const name of ['node:sqlite', 'trace_events', 'wasi']) refused.push([name, `${name} is refused in tier 3: Node's permission model does not hold what it opens`]);
  const permissions = { network: rules.network, native: rules.native };
  args.push(JSON.stringify({ root: plugin.root, entry: plugin.entry, permissions, refused, messageBytes: limits.messageBytes }));
  return args;
}

// variablesOf are the environment of a plugin: what the host gives, and with exec what programs are found by.
function variablesOf({ rules, variables }) {
  const names = process.platform === 'win32' ? ['Path', 'PATHEXT', 'SystemRoot', 'ComSpec'] : ['PATH'];
  const found = rules.exec ? names.filter((name) => process.env[name] !== undefined).map((name) => [name, process.env[name]]) : [];
  return { ...Object.fromEntries(found), ...variables };
}

// lead makes the system end the process with ours, where there is a program for that.
const setpriv = ['/usr/bin/setpriv', '--no-new-privs', '--pdeathsig', 'KILL', '--'];
let leads;
function lead(args) {
  leads ??= process.platform === 'linux' && existsSync(setpriv[0]) &&
    spawnSync(setpriv[0], [...setpriv.slice(1), process.execPath, '--version'], { env: {}, timeout: 5000 }).status === 0;
  return leads ? [setpriv[0], [...setpriv.slice(1), process.execPath, ...args]] : [process.execPath, args];
}

const running = new Set();
process.on('exit', () => { for (const kill of running) kill(); });

/** lines calls each with the lines of a stream, of which none may be longer than limit. */
function lines(stream, limit, each, tooLong) {
  let held = [];
  let size = 0;
  stream.on('data', (data) => {
    let from = 0;
    for (let i = data.indexOf(10); i >= 0; i = data.indexOf(10, from)) {
      const line = Buffer.concat([...held, data.subarray(from, i)]);
      [held, size, from] = [[], 0, i + 1];
      if (line.length > limit) return tooLong();
      each(line.toString());
    }
    if (from === data.length) return;
    held.push(data.subarray(from));
    if ((size += data.length - from) > limit) {
      [held, size] = [[], 0];
      tooLong();
    }
  });
  stream.on('error', () => {});
}

/** open starts a plugin in tier 3. */
export async function open(plugin) {
  const limits = limitsOf(plugin.limits);
  const flag = permissionFlag();
  if (!flag) throw new PolicyError(`tier 3 needs the permission model of Node, which ${process.version} does not have`, { plugin: plugin.name });
  if (plugin.rules.native && !hasFlag('--allow-addons')) {
    throw new PolicyError(`tier 3 can give native addons from Node 20.12, and this is ${process.version}`, { plugin: plugin.name });
  }
  const packages = await linkPackages(plugin);
  const readable = packages.flatMap((dir) => [dir, modulesRoot(realpathSync(dir))]);
  const mark = `HALLMARK_PLUGIN=${randomUUID()}`;
  const [program, args] = lead(nodeArguments(plugin, limits, readable, flag));
  const child = spawn(program, args, {
    cwd: plugin.root, env: { ...variablesOf(plugin), [mark.split('=')[0]]: mark.split('=')[1] }, stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: process.platform !== 'win32', windowsHide: true,
  });
  await new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (e) => reject(new OperationError(`plugin ${plugin.name}: ${e.message}`, { plugin: plugin.name })));
  });
  const { pid } = child;
  const channel = child.stdio[3];
  const family = new Family(pid, mark);
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
  const killNow = () => { if (plugin.rules.exec) family.killAll(); else killGroup(pid); };
  running.add(killNow);

  let watch;
  let said = '';
  const peer = new Peer(plugin, limits, {
    send: (text) => {
      if (channel.writableLength > 4 * limits.messageBytes) peer.end('it does not read its messages', PolicyError);
      else channel.write(`${text}\n`);
    },
    kill: async () => {
      clearInterval(watch);
      family.killAll();
      for (const s of [channel, child.stdout, child.stderr]) s.destroy();
      let patience;
      await Promise.race([exited, new Promise((resolve) => { patience = setTimeout(resolve, 5000); })]);
      clearTimeout(patience);
      family.killAll();
      running.delete(killNow);
    },
    warn: plugin.warn,
  });
  channel.on('close', () => peer.end('it closed its channel'));
  exited.then((how) => peer.end(`its process ended (${how})${said ? `, saying ${quote(said.slice(-500))}` : ''}`));
  lines(channel, limits.messageBytes, (line) => peer.receive(line), () => peer.end('message', PolicyError));

  // Its output is read and bounded as its messages are.
  let budget = 0;
  const refill = () => { budget = limits.messageBytes; };
  refill();
  for (const s of [child.stdout, child.stderr]) {
    s.on('data', (data) => {
      if ((budget -= data.length) < 0) return void peer.end('it printed without an end', PolicyError);
      said = (said + data.toString()).slice(-2000);
      plugin.warn?.(`plugin ${plugin.name}: ${quote(data.toString().trimEnd(), 2000)}`);
    });
    s.on('error', () => {});
    s.unref?.();
  }
  child.unref();
  channel.unref?.();

  // Samples: memory always, and the processor's time: of a call, and of what nobody called, which may have a tenth of it.
  let used = { rssBytes: 0, cpuMillis: 0 };
  let begin = 0;
  let idle = limits.callMillis;
  let [answered, asked] = [0, 0];
  let ticks = 0;
  const most = limits.heapBytes + (160 << 20); // Node itself, and the young generation
  watch = setInterval(async () => {
    if (++ticks % 10 === 0) refill();
    if (peer.pending === 0 && ticks % 10 !== 0) { begin = undefined; return; }
    const now = plugin.rules.exec && process.platform === 'linux' ? family.sample() : await usageOf(pid);
    if (!now || peer.ended) return;
    const spent = now.cpuMillis - used.cpuMillis;
    used = now;
    if (now.rssBytes > most) return void peer.end('heap', PolicyError);
    if (peer.pending > 0) {
      if (begin === undefined || peer.answered !== answered) [begin, answered] = [now.cpuMillis, peer.answered];
      else if (now.cpuMillis - begin > Math.max(limits.callMillis, limits.startMillis * (answered === 0))) peer.end('cpu', PolicyError);
    } else {
      if (peer.asked === asked) idle = Math.min(limits.callMillis, idle + 100) - spent;
      if (idle < 0) peer.end('idle', PolicyError);
    }
    asked = peer.pending > 0 ? -1 : peer.asked;
  }, 100);
  watch.unref();

  const list = await peer.start();
  return sessionOf(plugin.name, list, (kind, params) => peer.ask(kind, params), {
    usage: async () => ({ ...used, ...(await usageOf(pid)), pendingCalls: peer.pending }),
    close: async () => { await peer.end('the host closed it'); },
  });
}
