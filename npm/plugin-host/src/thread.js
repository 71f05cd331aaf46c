// The hooks of imports for versions of Node that have no synchronous ones. They run in a thread of their own, which is
// told of each plugin.
import { judge, owns, pathOf } from './judge.js';

const subjects = new Map();

export function initialize({ port }) {
  port.on('message', ({ subject, answer }) => {
    subjects.set(subject.root, subject);
    answer.postMessage('told');
    answer.close();
  });
  port.unref();
}

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const path = pathOf(context.parentURL);
  const owner = path === '' ? undefined : [...subjects.values()].find((s) => owns(s, path));
  if (owner !== undefined) judge(owner, specifier, found.url, path);
  return found;
}
