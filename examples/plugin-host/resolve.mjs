// The hook for ES modules. Node runs it in a thread of its own.
import { refusal } from './guard.mjs';

let rules;
export function initialize(data) {
  rules = data;
}

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  if (context.parentURL?.startsWith(rules.rootURL)) {
    const why = refusal(rules, specifier, found.url);
    if (why) throw Object.assign(new Error(why), { name: 'policyError', exitCode: 4 });
  }
  return found;
}
