// What a host calls of a plugin that registered, in whichever tier it runs.
import { OperationError } from './errors.js';
import { quote } from './isolate/hostile.js';

/**
 * sessionOf makes a session of what a plugin registered. ask calls one of its handlers: (kind, params, extra) → what the
 * handler gave, where kind is tool, resource or prompt.
 */
export function sessionOf(name, { tools, resources, prompts }, ask, more) {
  const demand = (list, member, what) => {
    if (!list.some((x) => x.name === member)) throw new OperationError(`plugin ${name} has no ${what} ${quote(member, 100)}`, { plugin: name });
  };
  const session = {
    tools, resources, prompts,
    callTool: async (tool, args = {}, extra) => { demand(tools, tool, 'tool'); return ask('tool', { name: tool, args }, extra); },
    readResource: async (uri, extra) => ask('resource', { uri: String(uri) }, extra),
    getPrompt: async (prompt, args = {}, extra) => { demand(prompts, prompt, 'prompt'); return ask('prompt', { name: prompt, args }, extra); },
    ...more,
  };
  session.captured ??= capturedOf(session);
  return session;
}

// capturedOf lists what a plugin elsewhere registered as calls of a server's methods.
function capturedOf(session) {
  const all = [];
  for (const { name, ...config } of session.tools) {
    all.push({ kind: 'tool', method: 'registerTool', name, args: [config, (args, extra) => session.callTool(name, args, extra)] });
  }
  for (const { name, uri, uriTemplate, ...config } of session.resources) {
    all.push({ kind: 'resource', method: 'registerResource', name, args: [uri ?? uriTemplate, config, (at, extra) => session.readResource(at, extra)] });
  }
  for (const { name, ...config } of session.prompts) {
    all.push({ kind: 'prompt', method: 'registerPrompt', name, args: [config, (args, extra) => session.getPrompt(name, args, extra)] });
  }
  return all;
}

/** reconcile compares what a manifest declares with what was registered, and says what differs. */
export function reconcile(manifest, session) {
  const differences = [];
  for (const [member, kind] of [['tools', 'tool'], ['resources', 'resource'], ['prompts', 'prompt']]) {
    const declared = (manifest.capabilities?.[member] ?? []).map((c) => (typeof c === 'string' ? c : c?.name));
    const registered = session[member].map((r) => r.name);
    for (const name of declared) {
      if (!registered.includes(name)) differences.push(`${kind} ${name} is declared, and was not registered`);
    }
    for (const name of registered) {
      if (!declared.includes(name)) differences.push(`${kind} ${name} was registered, and is not declared`);
    }
  }
  return differences;
}
