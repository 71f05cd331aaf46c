// Tier 1: a plugin in the host's own process. What it imports is held to its manifest; what was loaded can do what
// the host can.
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OperationError, PluginError, PolicyError, ValidationError } from './errors.js';
import { linkPackages } from './externals.js';
import { registered } from './isolate/hostile.js';
import { limitsOf } from './isolate/peer.js';
import runtimes from './isolate/runtime.cjs';
import { judgeImports } from './loading.js';
import { sessionOf } from './session.js';

// subjectOf is what imports are judged by; see judge.js.
function subjectOf(plugin) {
  const declared = [];
  let modules = '';
  for (const [name, dir] of plugin.externals) {
    declared.push(dir + sep);
    modules = dir.slice(0, dir.length - name.length);
  }
  return { name: plugin.name, root: plugin.root + sep, modules, declared, sdk: plugin.sdk ? plugin.sdk + sep : '', rules: plugin.rules };
}

/** open loads a plugin and has it register what it offers. */
export async function open(plugin) {
  await linkPackages(plugin);
  await judgeImports(subjectOf(plugin));
  const runtime = runtimes.makeRuntime();
  const call = (...request) => runtime.call(...request).catch((e) => { throw typed(plugin, e); });
  const load = () => import(pathToFileURL(join(plugin.root, plugin.entry)).href);
  try {
    const list = await within(limitsOf(plugin.limits).startMillis, runtime.start(load));
    return sessionOf(plugin.name, registered(JSON.parse(JSON.stringify(list))), call, {
      captured: runtime.registrations(), usage: () => ({ heapBytes: process.memoryUsage().heapUsed }), close: () => {},
    });
  } catch (e) {
    throw typed(plugin, e);
  }
}

// within rejects if a plugin does not start in time. Nothing can end what it does then.
async function within(millis, started) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new OperationError(`it did not start within ${millis} ms`)), millis);
  });
  try {
    return await Promise.race([started, late]);
  } finally {
    clearTimeout(timer);
  }
}

const kinds = { policyError: PolicyError, validationError: ValidationError };

function typed(plugin, e) {
  if (e instanceof PluginError) {
    e.plugin ??= plugin.name;
    return e;
  }
  const message = typeof e?.message === 'string' ? e.message : String(e);
  return new (kinds[e?.name] ?? OperationError)(message, { plugin: plugin.name, cause: e });
}
