// Tier 3: a plugin runs in a process of its own under Node's permission model, with quotas for
// memory, time and messages.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationError, PolicyError } from './errors.js';
import { dependenciesOf, linkPackages } from './externals.js';
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

// inherited are what a process gets for the descriptors of ours that it would inherit, beside those of the list: nothing. Node
// closes its own ones, and not those that it was started with.
function inherited(own) {
  const dir = process.platform === 'linux' ? '/proc/self/fd' : process.platform === 'win32' ? '' : '/dev/fd';
  if (dir === '') return own;
  const kept = (fd) => {
    try {
      if (process.platform !== 'linux') return true;
      return (parseInt(/^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))[1], 8) & 0o2000000) === 0;
    } catch {
      return false; // the one by which the directory was read
    }
  };
  const last = Math.max(own.length - 1, ...readdirSync(dir).map(Number).filter((fd) => fd >= own.length && kept(fd)));
  if (last > 4096) throw new OperationError(`the host was started with the descriptor ${last}, which a plugin must not inherit; start it without that`);
  return [...own, ...new Array(last + 1 - own.length).fill('ignore')];
}

function nodeArguments(plugin, limits, readable, flag) {
  const { rules } = plugin;
  const args = [flag, `--allow-fs-read=${join(dirname(realpathSync(plugin.root)), 'package.json')}`];
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
  if (!rules.exec) {
    for (const name of ['node:sqlite', 'trace_events', 'wasi']) refused.push([name, `${name} is refused in tier 3 without the permission exec: Node's permission model does not hold what it opens`]);
    refused.push(['vm', 'vm is refused in tier 3 without the permission exec: V8 runs whatever its cached code says']); // which is out of each check
  }
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
  let room = Buffer.alloc(1 << 12); // which holds the begin of a line, however it comes
  let size = 0;
  const hold = (data) => {
    if (size + data.length > room.length) room = Buffer.concat([room], Math.max(2 * room.length, size + data.length));
    size += data.copy(room, size);
  };
  stream.on('data', (data) => {
    let from = 0;
    for (let i = data.indexOf(10); i >= 0; i = data.indexOf(10, from)) {
      hold(data.subarray(from, i));
      const line = room.toString('utf8', 0, size);
      if (size > limit) return tooLong();
      [size, from] = [0, i + 1];
      each(line);
    }
    hold(data.subarray(from));
    if (size > limit) tooLong();
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
  await linkPackages(plugin);
  const readable = plugin.sdk ? await dependenciesOf(plugin.sdk) : [];
  for (const [name, dir] of plugin.externals) readable.push(...await dependenciesOf(dir, dir.slice(0, dir.length - name.length)));
  const mark = `HALLMARK_PLUGIN=${randomUUID()}`;
  const [program, args] = lead(nodeArguments(plugin, limits, readable, flag));
  const child = spawn(program, args, {
    cwd: plugin.root, env: { ...variablesOf(plugin), [mark.split('=')[0]]: mark.split('=')[1] }, stdio: inherited(['ignore', 'pipe', 'pipe', 'pipe']),
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
      tell();
      family.killAll();
      for (const s of [channel, child.stdout, child.stderr]) s.destroy();
      let patience;
      await Promise.race([exited, new Promise((resolve) => { patience = setTimeout(resolve, 5000); })]);
      clearTimeout(patience);
      family.killAll();
      running.delete(killNow);
    },
  });
  channel.on('close', () => peer.end('it closed its channel'));
  exited.then((how) => peer.end(`its process ended (${how})${said ? `, saying ${quote(said.slice(-500))}` : ''}`));
  lines(channel, limits.messageBytes, (line) => peer.receive(line), () => peer.end('message', PolicyError));

  // Its output is bounded as its messages are, and told once a second.
  let printed = '';
  let budget = limits.messageBytes;
  for (const s of [child.stdout, child.stderr]) {
    s.on('data', (data) => {
      if ((budget -= data.length) < 0) return void peer.end('it printed without an end', PolicyError);
      printed = (printed + data.toString()).slice(-4000);
      said = printed.slice(-500);
    });
    s.on('error', () => {});
    s.unref?.();
  }
  const tell = () => {
    if (printed !== '') plugin.warn?.(`plugin ${plugin.name}: ${quote(printed.trimEnd(), 2000)}`);
    [printed, budget] = ['', limits.messageBytes];
  };
  child.unref();
  channel.unref?.();

  // Samples: memory, and the processor's time, of a call and of what nobody called. Of that it may use a tenth. What it used
  // while calls were pending is theirs, as far as its threads can have used it.
  let used = { rssBytes: 0, cpuMillis: 0 };
  let begin = 0;
  let idle = limits.callMillis;
  let [answered, at, pendingMillis, ticks] = [0, performance.now(), 0, 0];
  const most = limits.heapBytes + (160 << 20); // Node itself, and the young generation
  const threads = Math.min(4, availableParallelism());
  watch = setInterval(async () => {
    if (++ticks % 10 === 0) tell();
    if (peer.pending === 0) begin = undefined;
    if (peer.pending === 0 && ticks % 10 !== 0) return;
    const now = plugin.rules.exec && process.platform === 'linux' ? family.sample() : await usageOf(pid);
    if (!now || peer.ended) return;
    const [spent, passed, called] = [now.cpuMillis - used.cpuMillis, performance.now() - at, peer.pendingMillis - pendingMillis];
    [used, at, pendingMillis] = [now, performance.now(), peer.pendingMillis];
    if (now.rssBytes > most) return void peer.end('heap', PolicyError);
    idle = Math.min(limits.callMillis, idle + passed / 10) - Math.max(0, spent - called * threads);
    if (idle < 0) return void peer.end('idle', PolicyError);
    if (peer.pending === 0) return;
    if (begin === undefined || peer.answered !== answered) [begin, answered] = [now.cpuMillis, peer.answered];
    else if (now.cpuMillis - begin > Math.max(limits.callMillis, limits.startMillis * (answered === 0))) peer.end('cpu', PolicyError);
  }, 100);
  watch.unref();

  const list = await peer.start();
  return sessionOf(plugin.name, list, (kind, params) => peer.ask(kind, params), {
    usage: async () => ({ ...used, ...(await usageOf(pid)), pendingCalls: peer.pending }),
    close: async () => { await peer.end('the host closed it'); },
  });
}
