// Which code is running: the frames of the call stack, read such that no plugin can shape them.
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { apply, constant, defineProperty, deleteProperty, getOwnPropertyDescriptor, setHas, slice, startsWith } from './safe.js';

const { captureStackTrace } = Error;
const OwnError = Error;
const self = dirname(fileURLToPath(import.meta.url)) + sep;
// Files of this package that do something on their own account, as the host. The others stand between a
// plugin and what it calls.
const acting = new Set(['index.js', 'gate.js', 'externals.js', 'schema.js', 'tier2.js', 'tier3.js', `isolate${sep}peer.js`, `isolate${sep}processes.js`]);
const toPath = fileURLToPath;
const { setPrototypeOf } = Reflect;

let sites;
function take(_, list) {
  sites = list;
  return '';
}

function put(name, was) {
  if (was === undefined) deleteProperty(OwnError, name);
  else {
    setPrototypeOf(was, null);
    defineProperty(OwnError, name, was);
  }
}

// capture returns up to limit call sites, or undefined if somebody sees to it that there are none.
function capture(limit) {
  const limitWas = getOwnPropertyDescriptor(OwnError, 'stackTraceLimit');
  const prepareWas = getOwnPropertyDescriptor(OwnError, 'prepareStackTrace');
  sites = undefined;
  try {
    if (!defineProperty(OwnError, 'stackTraceLimit', constant(limit))) return undefined;
    if (defineProperty(OwnError, 'prepareStackTrace', constant(take))) {
      const holder = { __proto__: null };
      captureStackTrace(holder, capture);
      void holder.stack;
    }
  } catch {
    sites = undefined;
  } finally {
    put('stackTraceLimit', limitWas);
    put('prepareStackTrace', prepareWas);
  }
  return sites;
}

// The methods of call sites, from one of ours: plugins can get at their prototype.
const site = Object.getPrototypeOf(capture(1)[0]);
const { getFileName, isEval, getEvalOrigin, isAsync } = site;

/** none: there is no frame of anybody's file. tampered: frames could not be had. */
export const none = Symbol('no frame');
export const tampered = Symbol('no stack');

// look calls visit(file, evalOrigin) for each frame that is not one of these others, nearest first, until
// visit returns something else than undefined. Frames of Node have files that begin with 'node:'.
function look(limit, visit) {
  const list = capture(limit);
  if (list === undefined) return tampered;
  let seen = 0;
  for (; seen < list.length; seen++) {
    // Who waits for what runs did not call it, and a plugin can have anybody wait.
    if (apply(isAsync, list[seen], [])) return none;
    const file = apply(getFileName, list[seen], []);
    let found;
    if (typeof file === 'string') {
      const path = startsWith(file, 'file:') ? toPath(file) : file;
      if (startsWith(path, self) && !setHas(acting, slice(path, self.length))) continue;
      found = visit(path, undefined);
    } else {
      found = visit(undefined, apply(isEval, list[seen], []) ? apply(getEvalOrigin, list[seen], []) : undefined);
    }
    if (found !== undefined) return found;
  }
  return seen < limit ? none : undefined;
}

/** nearest returns the first {file, origin} that is not Node's; none or tampered if there is none. */
export function nearest() {
  const visit = (file, origin) => {
    if (file === undefined ? origin === undefined : startsWith(file, 'node:')) return undefined;
    return { __proto__: null, file, origin };
  };
  return look(12, visit) ?? look(200, visit) ?? tampered;
}

/** calledBy reports whether Node's own code in a directory of its sources called, and nothing else between. */
export function calledBy(place) {
  return look(12, (file) => {
    if (file === undefined || !startsWith(file, 'node:')) return false;
    return startsWith(file, place) ? true : startsWith(file, 'node:diagnostics_channel') ? undefined : false;
  }) === true;
}

/** behind reports whether Node's code in a directory of its sources is among the frames of Node that called. */
export function behind(place) {
  return look(40, (file) => {
    if (file === undefined || !startsWith(file, 'node:')) return false;
    return startsWith(file, place) ? true : undefined;
  }) === true;
}
