// Loads plugins into an MCP server: each is checked by hallmark, loaded from a private copy of what was
// checked, held against what it declares, and only then offered.
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OperationError, PluginError, ValidationError } from './errors.js';
import { findExternals, findSDK } from './externals.js';
import { forward } from './forward.js';
import { Gate, readFlags } from './gate.js';
import { limitsOf } from './isolate/peer.js';
import { rulesOf } from './rules.js';
import { reconcile } from './session.js';
import * as tier1 from './tier1.js';
import * as tier3 from './tier3.js';

export { IntegrityError, OperationError, PluginError, PolicyError, SignatureError, ValidationError } from './errors.js';
export { rulesOf };

const known = ['hallmark', 'flags', 'strict', 'allowlist', 'sdk', 'tier', 'limits', 'env', 'warn', 'readable', 'writable', 'variables'];

const tiers = { 1: tier1, 3: tier3 };

// flagsIn are the flags under which a plugin of a tier is checked: a sandbox, and a process that a native addon may
// have for itself, are what tier 3 gives.
const flagsIn = (tier, flags) => ({ ...flags, SANDBOX_AVAILABLE: tier === 3, PLUGIN_ALLOW_NATIVE: flags.PLUGIN_ALLOW_NATIVE && tier === 3 });

// byTrust is the tier of a plugin where its host says nothing: the host's own process is for those that a trusted key
// signed, with all that runs.
const byTrust = ({ manifest, trusted }) => (trusted && manifest.dependenciesPolicy !== 'sandbox-required' ? 1 : 3);

// makeRoom makes the directory of the private copies, with one for each tier. Node looks for the nearest package.json above
// a script; in tier 3 older ones fail at the first that they may not read, so that one is there.
async function makeRoom() {
  const room = await realpath(await mkdtemp(join(tmpdir(), 'hallmark-plugins-')));
  for (const tier of Object.keys(tiers)) await mkdir(join(room, tier));
  await writeFile(join(room, '3', 'package.json'), '{}');
  return room;
}

// Node before 20.19 and 22.7 reads a .js as CommonJS unless a package.json says otherwise.
const notModule = /Cannot use import statement outside a module|Unexpected token 'export'/;
const moduleHint = 'its author writes {"type": "module"} into dist/package.json, or calls the files .mjs; Node 20.19, 22.7 and newer load it as it is';

const isTier = (tier) => [1, 2, 3].includes(tier);

export class PluginHost {
  #gate;
  #gates = new Map(); // by tier
  #options;
  #plugins = new Map(); // by name: what is loaded
  #room;
  #rooms = 0;
  #closed = false;

  constructor(options = {}) {
    const [major, minor] = process.versions.node.split('.').map(Number);
    if (major < 20 || (major === 20 && minor < 10)) throw new OperationError(`Node 20.10 or newer is needed, and this is ${process.version}`);
    for (const name of Object.keys(options)) {
      if (!known.includes(name)) throw new ValidationError(`unknown option ${name}; known are ${known.join(', ')}`);
    }
    const { hallmark, strict, allowlist, env, tier = byTrust } = options;
    if (typeof tier !== 'function' && !isTier(tier)) throw new ValidationError(`tier is ${tier}, and not 1, 2 or 3`);
    this.#options = { warn: (message) => process.emitWarning(message), ...options, tier, limits: limitsOf(options.limits) };
    const flags = readFlags(options.flags, env);
    this.#gate = new Gate({ hallmark, strict, allowlist, env, flags });
    for (const t of [1, 3]) this.#gates.set(t, new Gate({ hallmark, strict, allowlist, env, flags: flagsIn(t, flags) }));
  }

  /** load checks plugins, loads them in the order of their dependencies, and registers what they offer with server. */
  async load(plugins, server) {
    if (this.#closed) throw new OperationError('the host is closed');
    const began = performance.now();
    this.#room ??= await makeRoom();
    const summary = { loaded: [], skipped: [], failed: [], warnings: [], timings: {}, stats: {} };
    const checked = await this.#check([plugins].flat(), summary);
    const verified = performance.now();
    const ordered = await this.#order(checked, summary);
    const sorted = performance.now();
    for (const one of ordered) await this.#loadOne(one, server, summary);
    const ended = performance.now();
    const ms = (from, to) => Math.round((to - from) * 100) / 100;
    summary.timings = { totalMs: ms(began, ended), verifyMs: ms(began, verified), orderMs: ms(verified, sorted), loadMs: ms(sorted, ended) };
    const count = (list) => summary.loaded.reduce((n, p) => n + p[list].length, 0);
    summary.stats = {
      plugins: [plugins].flat().length, pluginsLoaded: summary.loaded.length, pluginsSkipped: summary.skipped.length,
      pluginsFailed: summary.failed.length, toolsRegistered: count('tools'), resourcesRegistered: count('resources'),
      promptsRegistered: count('prompts'),
    };
    return summary;
  }

  // check runs the gate on each, before anything of any of them is loaded.
  async #check(paths, summary) {
    const results = new Array(paths.length);
    let next = 0;
    const worker = async () => {
      for (let i = next++; i < paths.length; i = next++) {
        const path = paths[i];
        try {
          results[i] = await this.#verify(path);
        } catch (e) {
          results[i] = { path, name: e.plugin ?? path, error: e instanceof PluginError ? e : new OperationError(e.message, { cause: e }) };
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(paths.length, availableParallelism()) }, worker));
    const good = new Map();
    for (const one of results) {
      if (!one.error && (good.has(one.name) || this.#plugins.has(one.name))) {
        one.error = new ValidationError(`a plugin ${one.name} is there already: one version of a plugin is loaded`, { plugin: one.name });
      }
      if (one.error) summary.failed.push({ name: one.name, path: one.path, error: one.error });
      else good.set(one.name, one);
    }
    return good;
  }

  // verify checks a plugin under the flags of its tier. Where a function chooses the tier it is asked with what
  // was checked for tier 3, and the plugin is checked again for tier 1.
  async #verify(path) {
    const { tier: choice, warn } = this.#options;
    const check = async (tier) => {
      const root = join(this.#room, String(tier), String(this.#rooms++));
      const answer = await this.#gates.get(tier).verify(path, root);
      return { ...answer, path, root, tier, manifest: JSON.parse(await readFile(join(root, 'mcp-plugin.json'), 'utf8')) };
    };
    let checked = await check(choice === 1 ? 1 : 3);
    const { name, version, manifest } = checked;
    const rules = rulesOf(manifest, this.#gates.get(3).flags);
    // A signature of dist.hash alone says nothing of external packages.
    const trusted = checked.manifestSignedBy !== undefined || (checked.signedBy !== undefined && rules.packages.length === 0);
    const tier = typeof choice === 'function' ? await choice({ name, version, manifest, rules, trusted }) : choice;
    if (!isTier(tier)) throw new ValidationError(`tier is ${tier}, and not 1, 2 or 3`, { plugin: name });
    if (tier < checked.tier && tier === 1) {
      checked = await check(1);
      if (JSON.stringify(checked.manifest) !== JSON.stringify(manifest)) throw new OperationError('its manifest changed while it was checked', { plugin: name });
    }
    if (tier === 2) warn(`plugin ${name}: tier 2 was asked for, and is tier 3 with the objects of the language frozen`);
    const { root, entry } = checked;
    return { path, name, version, entry, root, manifest, tier: checked.tier, frozen: tier === 2 };
  }

  // order brings plugins into the order of their dependencies. Those that lack one are skipped.
  async #order(checked, summary) {
    const left = new Map(checked);
    for (let again = true; again;) {
      again = false;
      for (const [name, one] of left) {
        const lacks = (one.manifest.dependencies ?? []).find((d) => !left.has(d) && !this.#plugins.has(d));
        if (lacks === undefined) continue;
        left.delete(name);
        again = true;
        const was = summary.failed.some((f) => f.name === lacks) ? 'was not loaded'
          : summary.skipped.some((s) => s.name === lacks) ? 'was skipped' : 'is missing';
        summary.skipped.push({ name, path: one.path, reason: `it depends on ${lacks}, which ${was}` });
      }
    }
    if (left.size === 0) return [];
    try {
      const names = await this.#gate.order([...this.#plugins.values(), ...left.values()].map((p) => p.root));
      return names.filter((n) => left.has(n)).map((n) => left.get(n));
    } catch (error) {
      for (const one of left.values()) summary.failed.push({ name: one.name, path: one.path, error });
      return [];
    }
  }

  async #loadOne(one, server, summary) {
    const { name, version, path } = one;
    const lacks = (one.manifest.dependencies ?? []).find((d) => !this.#plugins.has(d));
    if (lacks !== undefined) {
      summary.skipped.push({ name, path, reason: `it depends on ${lacks}, which was not loaded` });
      return;
    }
    let session;
    try {
      const plugin = await this.#prepare(one, summary);
      const { tier } = one;
      session = await tiers[tier].open(plugin);
      await this.#reconcile(plugin, session, tier);
      const offer = server === undefined ? undefined : await forward(server, session);
      this.#plugins.set(name, { ...one, session, offer });
      const names = (list) => list.map((r) => r.name);
      summary.loaded.push({ name, version, path, tier, tools: names(session.tools), resources: names(session.resources), prompts: names(session.prompts) });
    } catch (e) {
      await session?.close?.();
      const error = e instanceof PluginError ? e : new OperationError(String(e?.message ?? e), { plugin: name, cause: e });
      if (notModule.test(error.message)) error.hint ??= moduleHint;
      summary.failed.push({ name, path, error });
    }
  }

  // prepare is all that a tier needs to know of a plugin.
  async #prepare({ name, version, root, entry, manifest, path, tier, frozen }, summary) {
    const rules = rulesOf(manifest, this.#gates.get(tier).flags);
    const { variables } = this.#options;
    const { externals, warning } = await findExternals(resolve(path), root, manifest, rules);
    if (warning !== undefined) {
      summary.warnings.push({ name, path, message: warning });
      this.#options.warn(`plugin ${name}: ${warning}`);
    }
    return {
      name, version, root, entry, manifest, rules, externals, frozen, sdk: await findSDK(this.#options.sdk),
      limits: this.#options.limits, warn: this.#options.warn, readable: this.#options.readable, writable: this.#options.writable,
      variables: typeof variables === 'function' ? await variables({ name, version, manifest, rules }) : variables,
    };
  }

  async #reconcile(plugin, session, tier) {
    const { STRICT_CAPABILITIES, STRICT_TOOLS } = this.#gate.flags;
    if (STRICT_CAPABILITIES || STRICT_TOOLS) {
      const file = `${plugin.root}.registered.json`;
      const { tools, resources, prompts } = session;
      await writeFile(file, JSON.stringify({ tools, resources, prompts }), { mode: 0o600 });
      await this.#gates.get(tier).reverify(plugin.root, file);
    }
    if (!STRICT_CAPABILITIES) {
      for (const difference of reconcile(plugin.manifest, session)) this.#options.warn(`plugin ${plugin.name}: ${difference}`);
    }
  }

  /**
   * unload takes back what a plugin offers, ends it, and removes its private copy. It may be loaded again then, in another
   * version too. Its code stays in memory in tier 1.
   */
  async unload(name) {
    const one = this.#plugins.get(name);
    if (one === undefined) throw new ValidationError(`no plugin ${name} is loaded`, { plugin: name });
    const user = [...this.#plugins.values()].find((p) => (p.manifest.dependencies ?? []).includes(name));
    if (user !== undefined) throw new ValidationError(`${user.name} depends on ${name}: unload ${user.name} first`, { plugin: name });
    one.offer?.remove();
    this.#plugins.delete(name);
    await one.session.close?.();
    await rm(one.root, { recursive: true, force: true });
  }

  /** revalidate checks a directory of installed plugins against their locks and the host's present flags. */
  async revalidate(dir = 'plugins') {
    const plugins = await this.#gate.revalidate(dir);
    return plugins.map(({ path, name, version }) => ({ path, name, version }));
  }

  /** session returns the session of a loaded plugin. */
  session(name) {
    return this.#plugins.get(name)?.session;
  }

  /** close ends all plugins and removes their private copies. */
  async close() {
    this.#closed = true;
    for (const { session } of [...this.#plugins.values()].reverse()) await session.close?.();
    this.#plugins.clear();
    if (this.#room !== undefined) await rm(this.#room, { recursive: true, force: true });
    this.#room = undefined;
  }
}
