// Keeps the plugins of this process to their rules while they run: tier 1. It is no sandbox,
// as plugins share the realm with their host; it closes the ways in that are known.
//
// Whose code asks is told by the file that imports; else by the asynchronous context, as everything of a
// plugin runs in one; else by the nearest frame of the stack.
import { AsyncLocalStorage } from 'node:async_hooks';
import { PolicyError } from './errors.js';
import { nearest, none, tampered } from './frames.js';
import { apply, includes } from './safe.js';
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

/** unknown: there are plugins, and nobody can say whether one of them asks. */
export const unknown = { __proto__: null };
const hosts = { __proto__: null };

export const watching = () => subjects.length > 0;

export function add(subject) {
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
  return store === hosts ? undefined : store;
}

/** runAs runs a function as a plugin's, and all that follows from it. */
export function runAs(subject, f, self, args) {
  return apply(run, contexts, [subject, () => apply(f, self, args)]);
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

/**
 * demand throws unless the code that asks has a permission. With strict it also does where nobody
 * can say who asks; without it that is the host, whose callbacks have no frames.
 */
export function demand(need, what, strict) {
  const who = asker();
  if (who === undefined || (who === unknown ? !strict : may(who.rules, need))) return;
  throw refusal(who, need === 'never' ? `${what} is not a plugin's to use`
    : `${what} needs a permission that the manifest does not declare: ${nameOf(need)}`);
}

