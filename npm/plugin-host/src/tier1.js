// Tier 1: a plugin in the host's own process, kept to its rules.
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { capture } from './capture.js';
import { OperationError, PluginError, PolicyError, ValidationError } from './errors.js';
import { install as guardFunctions } from './functions.js';
import { add, runAs } from './guard.js';
import { admit, install as guardLoading } from './loading.js';
import { sessionOf } from './session.js';

// subjectOf is what the guard judges a plugin by; see judge.js.
function subjectOf(plugin) {
  const externals = { __proto__: null };
  let modules = '';
  for (const [name, dir] of plugin.externals) {
    externals[name] = { dir: dir + sep };
    modules = dir.slice(0, dir.length - name.length);
  }
  for (const [name, problem] of plugin.externalProblems ?? []) externals[name] = problem;
  return { name: plugin.name, root: plugin.root + sep, modules, sdk: plugin.sdk ? plugin.sdk + sep : '', externals, rules: plugin.rules };
}

/** open loads a plugin and has it register what it offers. */
export async function open(plugin) {
  guardLoading();
  await guardFunctions();
  const subject = subjectOf(plugin);
  add(subject);
  await admit(subject);
  const inPlugin = (f) => (...args) => runAs(subject, f, undefined, args);
  const close = async () => {
    subject.rules = { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: [] };
    await admit(subject);
  };
  const captured = capture(inPlugin);
  try {
    const result = await within(plugin, inPlugin(async () => {
      const loaded = await import(pathToFileURL(join(plugin.root, plugin.entry)).href);
      const createPlugin = loaded.createPlugin ?? loaded.default?.createPlugin;
      if (typeof createPlugin !== 'function') throw new ValidationError(`${plugin.entry} exports no function createPlugin`);
      return createPlugin(captured.server);
    }));
    captured.end();
    return { ...sessionOf(captured.registrations, plugin.sdk, inPlugin), captured: captured.registrations, result, usage: () => ({ heapBytes: process.memoryUsage().heapUsed }), close };
  } catch (e) {
    captured.end();
    await close();
    throw typed(plugin, e);
  }
}

// within rejects if a plugin does not start in time. Tier 1 cannot end what it does then.
async function within(plugin, start) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new OperationError(`it did not start within ${plugin.limits.startMillis} ms`)), plugin.limits.startMillis);
  });
  try {
    return await Promise.race([start(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function typed(plugin, e) {
  if (e instanceof PluginError) {
    e.plugin ??= plugin.name;
    return e;
  }
  const message = typeof e?.message === 'string' ? e.message : String(e);
  const type = e?.name === 'policyError' ? PolicyError : OperationError;
  return new type(message, { plugin: plugin.name, cause: e });
}
