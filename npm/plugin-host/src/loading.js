// Judges what files of plugins require and import (tier 1), by the file that does.
import Module, { isBuiltin } from 'node:module';
import { judge, owns, pathOf } from './judge.js';

const subjects = new Map(); // by root: see judge.js

const ownerOf = (path) => [...subjects.values()].find((s) => owns(s, path));

// judged resolves with next, and judges for the file at from, which may be one of the host's.
function judged(specifier, from, next, resolvedOf) {
  const path = pathOf(from);
  const owner = path === '' ? undefined : ownerOf(path);
  const found = next();
  if (owner !== undefined) judge(owner, specifier, resolvedOf(found), path);
  return found;
}

// hookOlder hooks what Node has no synchronous hooks for: require here, and imports in a thread, which tells gives each plugin.
let tell = async () => {};
function hookOlder() {
  const { _load: load } = Module;
  Module._load = function (request, parent, isMain) {
    judged(request, parent?.filename, () => request, () => (isBuiltin(request) ? request : Module._resolveFilename(request, parent, isMain)));
    return load.call(this, request, parent, isMain);
  };
  const { port1, port2 } = new MessageChannel();
  Module.register('./thread.js', import.meta.url, { data: { port: port2 }, transferList: [port2] });
  port1.unref();
  tell = async (subject) => {
    const { port1: done, port2: answer } = new MessageChannel();
    const told = new Promise((resolve) => done.once('message', resolve));
    port1.postMessage({ subject, answer }, [answer]);
    await told;
    done.close();
  };
}

let hooked = false;

/** judgeImports judges from now on what files of a plugin require and import. */
export async function judgeImports(subject) {
  if (!hooked) {
    hooked = true;
    if (typeof Module.registerHooks !== 'function') hookOlder(); // Node 20, and 22 before 22.15
    else Module.registerHooks({ resolve: (specifier, context, next) => judged(specifier, context.parentURL, () => next(specifier, context), (found) => found.url) });
  }
  subjects.set(subject.root, subject);
  await tell(subject);
}
