// Whether a plugin may load what a specifier was resolved to. No state and no I/O: the same
// code judges in the plugin's thread and in that of asynchronous loader hooks.
import { builtinModules } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { may, nameOf, refuseModule, sdkName } from './rules.js';
import { endsWith, includes, indexOf, ownKeys, setHas, slice, startsWith } from './safe.js';

const builtins = new Set(builtinModules);

/** isBuiltin reports whether a specifier names a module of Node. */
export function isBuiltin(specifier) {
  return startsWith(specifier, 'node:') || setHas(builtins, specifier);
}

/**
 * A subject is what is judged by: {name, root, modules, sdk, externals, rules}. Directories end in a
 * separator; modules, where the plugin's external packages lie, and sdk may be ''. Externals
 * map names to {dir} or {problem}.
 */
export function owns(subject, path) {
  return startsWith(path, subject.root) || (subject.modules !== '' && startsWith(path, subject.modules));
}

const inModules = (subject, path) => subject.modules !== '' && startsWith(path, subject.modules);

// declared reports whether a file lies in an external package that the plugin has.
function declared(subject, path) {
  const names = ownKeys(subject.externals);
  for (let i = 0; i < names.length; i++) {
    const { dir } = subject.externals[names[i]];
    if (dir !== undefined && startsWith(path, dir)) return true;
  }
  return false;
}

/** pathOf returns the file that a file: URL or a path names, or '' if it is neither. */
export function pathOf(place) {
  if (startsWith(place, 'file:')) {
    try {
      return fileURLToPath(place);
    } catch {
      return '';
    }
  }
  return place;
}

/** packageOf is the package that a bare specifier names, or '' where it is none. */
export function packageOf(specifier) {
  if (specifier === '' || specifier[0] === '.' || specifier[0] === '/' || specifier[0] === '#' || specifier[0] === '\\' ||
      includes(specifier, ':') || isBuiltin(specifier)) {
    return '';
  }
  let end = indexOf(specifier, '/');
  if (specifier[0] === '@' && end >= 0) end = indexOf(specifier, '/', end + 1);
  return end < 0 ? specifier : slice(specifier, 0, end);
}

/**
 * home returns the file from which a package of the host, or of the plugin's externals, is resolved
 * ({from}), why it must not be ({refused}), or why it is not there ({absent}); nothing if the specifier
 * is resolved as usual.
 */
export function home(subject, specifier, parent) {
  const name = packageOf(specifier);
  if (name === '') return undefined;
  // Inside of external packages their own dependencies go first, as Node has it.
  if (parent === '' || (startsWith(parent, subject.root) && !inModules(subject, parent))) {
    if (name === sdkName) {
      return subject.sdk !== '' ? { __proto__: null, from: subject.sdk + 'package.json' }
        : { __proto__: null, absent: `this host has no ${sdkName}: it is told with the option sdk` };
    }
    const external = subject.externals[name];
    if (external === undefined) return undefined;
    if (external.dir !== undefined) return { __proto__: null, from: external.dir + 'package.json' };
    return external.absent === true ? { __proto__: null, absent: external.problem } : { __proto__: null, refused: external.problem };
  }
  return undefined;
}

// sdkNeeds is the permission for a file of the SDK: its clients start programs and open connections.
function sdkNeeds(path) {
  if (includes(path, `${sep}client${sep}stdio`)) return 'exec';
  for (let i = 0, clients = ['sse', 'streamableHttp', 'websocket', 'auth']; i < clients.length; i++) {
    if (includes(path, `${sep}client${sep}${clients[i]}`)) return 'network';
  }
  return '';
}

/** refuse says why a plugin must not load what a specifier in a file, parent, was resolved to, or ''. */
export function refuse(subject, specifier, resolved, parent) {
  if (isBuiltin(resolved)) {
    return refuseModule(subject.rules, startsWith(resolved, 'node:') ? slice(resolved, 5) : resolved);
  }
  const path = pathOf(resolved);
  if (endsWith(path, '.node') && !subject.rules.native) {
    return `${specifier} is a native addon, which this host does not permit: PLUGIN_ALLOW_NATIVE with SANDBOX_AVAILABLE does`;
  }
  // What lies beside an external package is there for that package.
  if (inModules(subject, path) && !inModules(subject, parent) && !declared(subject, path)) return `${specifier} is not a package that the manifest declares`;
  if (owns(subject, path)) return '';
  if (subject.sdk !== '' && startsWith(path, subject.sdk)) {
    const need = sdkNeeds(slice(path, subject.sdk.length - 1));
    return may(subject.rules, need) ? '' : `${specifier} needs a permission that the manifest does not declare: ${nameOf(need)}`;
  }
  return `${specifier} is not part of the plugin`;
}
