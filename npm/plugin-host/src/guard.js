// Keeps the plugins of this process to their rules while they run: tier 1. It is no sandbox,
// as plugins share the realm with their host; it closes the ways in that are known.
//
// Whose code asks is told by the file that imports; else by the asynchronous context, as everything of a
// plugin runs in one; else by the nearest frame of the stack.
import { AsyncLocalStorage } from 'node:async_hooks';
import { PolicyError } from './errors.js';
import { calledBy, nearest, none, tampered } from './frames.js';
import { apply, freeze, includes, weakMapGet, weakMapSet } from './safe.js';
import { owns } from './judge.js';
import { may, nameOf } from './rules.js';

const contexts = new AsyncLocalStorage();
const { getStore, run } = contexts;
// The methods call each other by name: without ones of its own, whoever replaced a method of the
// class would be handed this object.
for (const name of Object.getOwnPropertyNames(AsyncLocalStorage.prototype)) {
  if (name !== 'constructor' && typeof contexts[name] === 'function') Object.defineProperty(contexts, name, { value: contexts[name] });
}
const current = () => apply(getStore, contexts, []);

// subjects are the plugins that were opened; see judge.js. A list without methods. A plugin that was
// closed stays: its code cannot be taken out of the process, and has no permission from then on.
const subjects = { __proto__: null, length: 0 };

// Node keeps what stands in a context on timers and promises, where plugins find it. So it is a token, which
// says nothing and cannot be changed; whose it is stands here.
const tokens = new WeakMap(), bearers = new WeakMap();

/** unknown: there are plugins, and nobody can say whether one of them asks. */
export const unknown = { __proto__: null };
const hosts = freeze({ __proto__: null });

export const watching = () => subjects.length > 0;

export function add(subject) {
  const token = freeze({ __proto__: null });
  weakMapSet(tokens, subject, token);
  weakMapSet(bearers, token, subject);
  // Node enables what is first run, and so it does not do that to a frozen one.
  apply(run, contexts, [hosts, () => {}]);
  freeze(contexts);
  subjects[subjects.length++] = subject;
}

/** ownerOf returns the plugin to which a file belongs. */
export function ownerOf(path) {
  for (let i = 0; i < subjects.length; i++) {
    if (owns(subjects[i], path)) return subjects[i];
  }
  return undefined;
}

/** inside returns the plugin in whose context this runs. */
export function inside() {
  const store = current();
  return store === undefined ? undefined : weakMapGet(bearers, store);
}

/** runAs runs a function as a plugin's, and all that follows from it. */
export function runAs(subject, f, self, args) {
  return apply(run, contexts, [weakMapGet(tokens, subject), () => apply(f, self, args)]);
}

/** runAsHost runs a function as the host's; code of a plugin that it calls is the plugin's still. */
export function runAsHost(f) {
  return apply(run, contexts, [hosts, f]);
}

/** frameOwner returns the plugin whose frame is the nearest, undefined for a file of the host, or unknown. */
export function frameOwner() {
  const frame = nearest();
  if (frame === none || frame === tampered) return unknown;
  if (frame.file !== undefined) return ownerOf(frame.file);
  for (let i = 0; i < subjects.length; i++) { // text that was evaluated belongs to whose file did it
    if (includes(frame.origin, subjects[i].root)) return subjects[i];
  }
  return unknown;
}

/** asker returns the plugin whose code asks, undefined for the host, or unknown. */
export function asker() {
  if (subjects.length === 0) return undefined;
  return inside() ?? frameOwner();
}

/** refusal makes the error for what a plugin must not do. */
export function refusal(who, why) {
  return new PolicyError(who === unknown ? `${why} (nothing tells which code asks)` : why,
    { __proto__: null, plugin: who === unknown ? undefined : who.name, findings: [] });
}

// own are Node's modules that connect, open and start what they were asked for earlier, when
// nobody's frame is left. Modules that call what they are handed, such as events, are none of them.
const own = ['fs', 'internal/fs/', 'net', 'tls', '_tls_', 'http', '_http_', 'dns', 'dgram', 'child_process', 'cluster', 'internal/dgram',
  'internal/dns/', 'internal/net', 'internal/http', 'internal/tls/', 'internal/deps/undici/', 'internal/child_process', 'internal/cluster/'];

/** byNodeItself reports whether it was such a module that called, and nothing between: a plugin can leave no frame by binding. */
export function byNodeItself() {
  for (let i = 0; i < own.length; i++) {
    if (calledBy(`node:${own[i]}`)) return true;
  }
  return false;
}

/**
 * demand throws unless the code that asks has a permission, and where nobody can say who asks: without
 * strict, Node's own modules may nevertheless do what the host asked for earlier.
 */
export function demand(need, what, strict) {
  const who = asker();
  if (who === undefined || (who === unknown ? !strict && byNodeItself() : may(who.rules, need))) return;
  throw refusal(who, need === 'never' ? `${what} is not a plugin's to use`
    : `${what} needs a permission that the manifest does not declare: ${nameOf(need)}`);
}

