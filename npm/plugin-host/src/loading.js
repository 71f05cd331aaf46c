// The ways in which code is loaded: require, import, and what Node has beside them. A plugin gets
// modules of Node by its rules, its own files, the host's SDK, and its external packages from where they
// lie at the declared versions; the latter run under its rules too.
import Module, { syncBuiltinESMExports } from 'node:module';
import * as nodeModule from 'node:module';
import { pathToFileURL } from 'node:url';
import { behind, calledBy } from './frames.js';
import { asker, frameOwner, inside, ownerOf, refusal, runAs, runAsHost, unknown, watching } from './guard.js';
import { home, isBuiltin, owns, pathOf, refuse } from './judge.js';
import { apply, constant, defineProperty, getOwnPropertyDescriptor, ownKeys, startsWith, weakMapGet, weakMapSet } from './safe.js';

const loaderCode = 'node:internal/modules/';
// From there an import of a CommonJS module is loaded, once it was resolved and judged as an import.
const translators = 'node:internal/modules/esm/translators';
const { _load: loadWas, _resolveFilename: resolveWas, createRequire: createRequireWas } = Module;
const { load: moduleLoadWas, _compile: compileWas } = Module.prototype;
const createRequire = createRequireWas;

/** absent makes the error that Node has for a package that is not there. */
function absent(why) {
  const e = new Error(why);
  e.code = 'MODULE_NOT_FOUND';
  return e;
}

/** resolve returns what a plugin's specifier stands for. */
function resolve(who, request, parent, isMain, options) {
  const at = parent !== null && typeof parent === 'object' && typeof parent.filename === 'string' ? parent.filename : '';
  const from = home(who, request, at);
  if (from?.refused !== undefined) throw refusal(who, from.refused);
  if (from?.absent !== undefined) throw absent(from.absent);
  if (from === undefined) return apply(resolveWas, Module, [request, parent, isMain, options]);
  const near = createRequire(from.from);
  return near.resolve(request);
}

// askerOfLoad tells whose require it is. The file that requires says so, unless a plugin forged it.
function askerOfLoad(parent) {
  const file = parent !== null && typeof parent === 'object' ? parent.filename : undefined;
  const owner = typeof file === 'string' ? ownerOf(file) : undefined;
  const context = inside();
  if (context === undefined) {
    if (owner !== undefined) return owner;
    const near = frameOwner();
    // Without a frame it is Node's own loader, which loads what an import was resolved to, for no file; or
    // it is a plugin, which had this function called for it.
    return near === unknown && file === undefined && behind(translators) ? undefined : near;
  }
  if (owner === context) return context;
  if (owner !== undefined) return frameOwner() === owner ? owner : context;
  if (file === undefined) return behind(translators) ? undefined : context;
  return context;
}

function load(request, parent, isMain) {
  if (!watching() || typeof request !== 'string') return apply(loadWas, Module, [request, parent, isMain]);
  const who = askerOfLoad(parent);
  if (who === undefined) {
    expected = request; // an import that was judged, or the host's
    return apply(loadWas, Module, [request, parent, isMain]);
  }
  if (who === unknown) throw refusal(who, `${request} is not to be loaded so`);
  // A package of the host that loads late what it needs: a file of it, as the plugin was given the
  // package; a module of Node by the plugin's rules.
  const file = parent !== null && typeof parent === 'object' ? parent.filename : undefined;
  if (typeof file === 'string' && ownerOf(file) === undefined && !isBuiltin(request) && frameOwner() === undefined) {
    expected = apply(resolveWas, Module, [request, parent, isMain]);
    return apply(loadWas, Module, [request, parent, isMain]);
  }
  const resolved = isBuiltin(request) ? request : resolve(who, request, parent, isMain);
  const why = refuse(who, request, resolved, typeof file === 'string' ? file : '');
  if (why !== '') throw refusal(who, why);
  expected = resolved;
  return apply(loadWas, Module, [resolved, parent, isMain]);
}

function resolveFilename(request, parent, isMain, options) {
  if (watching() && typeof request === 'string' && parent !== null && typeof parent === 'object' && typeof parent.filename === 'string') {
    const who = ownerOf(parent.filename);
    if (who !== undefined) return resolve(who, request, parent, isMain, options);
  }
  return apply(resolveWas, this, [request, parent, isMain, options]);
}

// expected is the file of the host that a plugin was just given, such as one of the SDK; compiled is
// the one that is about to be compiled. Nothing else outside of it is loaded for a plugin: it could name any
// file, and have Node's own code call, as a setter of its module.
let expected, compiled;

function moduleLoad(filename) {
  if (!watching() || typeof filename !== 'string') return apply(moduleLoadWas, this, [filename]);
  const owner = ownerOf(filename);
  if (owner !== undefined) return runAs(owner, moduleLoadWas, this, [filename]);
  const who = asker();
  const given = expected === filename;
  expected = undefined;
  if (who !== undefined && !given && (who !== unknown || !behind(loaderCode))) throw refusal(who, 'module.load is not a plugin\'s to use');
  compiled = filename;
  return runAsHost(() => apply(moduleLoadWas, this, [filename]));
}

function compile(...args) {
  if (watching()) {
    const filename = args[1];
    const who = asker();
    const given = compiled === filename;
    compiled = undefined;
    if (who !== undefined && !given && !(typeof filename === 'string' && ownerOf(filename) !== undefined && (who === unknown || owns(who, filename))) &&
      (who !== unknown || !behind(loaderCode))) {
      throw refusal(who, 'module._compile is not a plugin\'s to use');
    }
  }
  return apply(compileWas, this, args);
}

// create is createRequire: a plugin may have it for places of its own.
function create(place) {
  const who = watching() ? asker() : undefined;
  if (who === undefined) return createRequireWas(place);
  const text = `${typeof place === 'object' && place !== null ? place.href : place}`;
  if (who === unknown || !owns(who, pathOf(text))) throw refusal(who, `createRequire of ${text}, which is not the plugin's`);
  return createRequireWas(pathOf(text));
}

/** notForPlugins makes a function that plugins must not call. */
function notForPlugins(was, label) {
  const f = function (...args) {
    const who = watching() ? asker() : undefined;
    if (who !== undefined) throw refusal(who, `${label} is not a plugin's to use`);
    return apply(was, this, args);
  };
  defineProperty(f, 'name', { __proto__: null, value: was.name, configurable: true });
  return f;
}

// keep puts a value in place of a property, and lets only the host replace it from then on. It cannot
// be taken back: without plugins it is as it was.
function keep(object, name, value) {
  const was = getOwnPropertyDescriptor(object, name);
  if (was === undefined || was.configurable === false) return;
  let held = value ?? (was.get ? apply(was.get, object, []) : was.value);
  defineProperty(object, name, {
    __proto__: null, configurable: false, enumerable: was.enumerable,
    get: () => held,
    set(next) {
      if (this !== object) return void defineProperty(this, name, constant(next));
      const who = watching() ? asker() : undefined;
      if (who !== undefined) throw refusal(who, `Module.${name} is not a plugin's to replace`);
      held = next;
    },
  });
}

// shield lets a plugin change nothing in a table of Node's loader. see(who, key, value) says what it reads.
function shield(table, label, see) {
  const reader = () => {
    if (!watching()) return undefined;
    const who = asker();
    return who === undefined || calledBy(loaderCode) || behind('node:internal/modules/esm/') ? undefined : who;
  };
  const refused = (key) => {
    const who = reader();
    if (who === undefined || see(who, key, undefined) === mine) return;
    throw refusal(who, `${label} is not a plugin's to change`);
  };
  return new Proxy(table, {
    __proto__: null,
    get(target, key) {
      const who = reader();
      return who === undefined ? target[key] : see(who, key, target[key]);
    },
    getOwnPropertyDescriptor(target, key) {
      const found = getOwnPropertyDescriptor(target, key);
      const who = reader();
      if (who === undefined || found === undefined) return found;
      const value = see(who, key, found.value);
      return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
    },
    has(target, key) {
      const who = reader();
      return key in target && (who === undefined || see(who, key, target[key]) !== undefined);
    },
    ownKeys(target) {
      const keys = ownKeys(target);
      const who = reader();
      if (who === undefined) return keys;
      const seen = [];
      for (let i = 0; i < keys.length; i++) {
        if (see(who, keys[i], target[keys[i]]) !== undefined) defineProperty(seen, seen.length, constant(keys[i]));
      }
      return seen;
    },
    set(target, key, value) {
      refused(key);
      target[key] = value;
      return true;
    },
    defineProperty(target, key, descriptor) {
      refused(key);
      return defineProperty(target, key, descriptor);
    },
    deleteProperty(target, key) {
      refused(key);
      return delete target[key];
    },
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  });
}

const mine = Symbol('a plugin\'s own');

// A plugin sees of require.cache its own modules, and may change these.
function seeCache(who, key, value) {
  if (typeof key !== 'string' || who === unknown || !owns(who, key)) return undefined;
  return value === undefined ? mine : value;
}

// Of require.extensions it gets functions that load its own files.
const extensions = new WeakMap();
function seeExtension(who, key, value) {
  if (typeof value !== 'function') return undefined;
  let wrapper = weakMapGet(extensions, value);
  if (wrapper === undefined) {
    wrapper = (module, filename) => {
      const who = asker();
      if (who !== undefined) {
        if (who === unknown || typeof filename !== 'string' || refuse(who, filename, filename, filename) !== '') {
          throw refusal(who, `${filename} is not part of the plugin`);
        }
      }
      return value(module, filename);
    };
    weakMapSet(extensions, value, wrapper);
  }
  return wrapper;
}

/** resolveHook judges imports: with synchronous hooks the context is known, beside the importing file. */
function resolveHook(specifier, context, next) {
  if (!watching()) return next(specifier, context);
  const parent = typeof context.parentURL === 'string' ? pathOf(context.parentURL) : '';
  let who = parent !== '' ? ownerOf(parent) : undefined;
  if (who === undefined) {
    const around = inside();
    // A file of the host imports; or no file does, which is the entry of a plugin, or code of one.
    if (around !== undefined && !startsWith(context.parentURL ?? '', 'file:') && !behind(translators)) who = around;
  }
  if (who === undefined) return next(specifier, context);
  return judged(who, specifier, context, parent, next);
}

function judged(who, specifier, context, parent, next) {
  const from = home(who, specifier, parent);
  if (from?.refused !== undefined) throw refusal(who, from.refused);
  if (from?.absent !== undefined) throw absent(from.absent);
  const found = next(specifier, from === undefined ? context : { ...context, parentURL: pathToFileURL(from.from).href });
  const why = refuse(who, specifier, found.url, parent);
  if (why !== '') throw refusal(who, why);
  return found;
}

// The thread of asynchronous hooks, where Node has no synchronous ones.
let thread;

async function tellThread(message) {
  if (thread === undefined) return;
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise((done) => port1.once('message', done));
  thread.postMessage({ ...message, done: port2 }, [port2]);
  await answer;
  port1.close();
}

let installed = false;

/** install hooks every way of loading code. What it hooks stays so, and lets pass what no plugin asks for. */
export function install() {
  if (installed) return;
  installed = true;
  const hooksWere = nodeModule.registerHooks, registerWas = nodeModule.register;
  keep(Module, '_load', load);
  keep(Module, '_resolveFilename', resolveFilename);
  keep(Module, 'createRequire', create);
  keep(Module, '_extensions', shield(Module._extensions, 'require.extensions', seeExtension));
  keep(Module, '_cache', shield(Module._cache, 'require.cache', seeCache));
  keep(Module, '_pathCache', shield(Module._pathCache, 'Module._pathCache', () => undefined));
  keep(Module.prototype, 'load', moduleLoad);
  keep(Module.prototype, '_compile', compile);
  keep(Module.prototype, 'require');
  for (const name of ['register', 'registerHooks', 'syncBuiltinESMExports', 'enableCompileCache', 'flushCompileCache', 'runMain',
    '_initPaths', '_preloadModules', 'setSourceMapsSupport']) {
    if (typeof Module[name] === 'function') keep(Module, name, notForPlugins(Module[name], `Module.${name}`));
  }
  for (const name of ['_findPath', '_resolveLookupPaths', '_nodeModulePaths', '_readPackage', '_stat', 'wrap', 'wrapper', 'globalPaths', 'Module',
    'isBuiltin', 'builtinModules', 'findPackageJSON', 'findSourceMap']) {
    if (Module[name] !== undefined) keep(Module, name);
  }
  if (typeof hooksWere === 'function') {
    hooksWere({ resolve: resolveHook });
  } else {
    const { port1, port2 } = new MessageChannel();
    registerWas('./thread.js', import.meta.url, { data: { port: port2 }, transferList: [port2] });
    thread = port1;
    thread.unref();
  }
  syncBuiltinESMExports();
}

/** admit tells all hooks of a plugin, or of its rules as they are now. */
export async function admit(subject) {
  await tellThread({ subject });
}
