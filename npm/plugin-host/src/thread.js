// Hooks of imports for versions of Node that have no synchronous ones. They run in a thread of their
// own, which is told of each plugin, and judge by the file that imports.
import { pathToFileURL } from 'node:url';
import { home, owns, pathOf, refuse } from './judge.js';

const subjects = [];

export function initialize({ port }) {
  port.on('message', ({ subject, done }) => {
    const at = subjects.findIndex((s) => s.root === subject.root);
    subjects.splice(at < 0 ? subjects.length : at, 1, subject);
    done.postMessage('done');
    done.close();
  });
  port.unref();
}

function fail(who, why) {
  return Object.assign(new Error(why), { name: 'policyError', exitCode: 4, plugin: who.name });
}

export async function resolve(specifier, context, next) {
  const parent = context.parentURL?.startsWith('file:') ? pathOf(context.parentURL) : '';
  const who = parent === '' ? undefined : subjects.find((s) => owns(s, parent));
  if (who === undefined) return next(specifier, context);
  const from = home(who, specifier, parent);
  if (from?.refused !== undefined) throw fail(who, from.refused);
  if (from?.absent !== undefined) throw Object.assign(new Error(from.absent), { code: 'ERR_MODULE_NOT_FOUND' });
  const found = await next(specifier, from === undefined ? context : { ...context, parentURL: pathToFileURL(from.from).href });
  const why = refuse(who, specifier, found.url, parent);
  if (why !== '') throw fail(who, why);
  return found;
}
