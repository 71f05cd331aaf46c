// The server that a plugin registers with. It keeps what is registered; nothing reaches the real
// server before all of a plugin was checked.
import { OperationError } from './errors.js';

const methods = {
  registerTool: 'tool', tool: 'tool',
  registerResource: 'resource', resource: 'resource',
  registerPrompt: 'prompt', prompt: 'prompt',
};

/** capture makes such a server; wrap makes functions run as the plugin's. */
export function capture(wrap) {
  const registrations = [];
  let open = true;
  const server = {};
  for (const [method, kind] of Object.entries(methods)) {
    server[method] = (name, ...rest) => {
      if (!open) throw new OperationError(`${method} after createPlugin: a plugin registers all that it offers before it returns`);
      if (typeof name !== 'string') throw new TypeError(`${method}: the name is not a string`);
      const args = rest.map((a) => (typeof a === 'function' ? wrap(a) : a));
      const registration = { kind, method, name, args, enabled: true };
      registrations.push(registration);
      return handle(registrations, registration);
    };
  }
  for (const method of ['sendToolListChanged', 'sendResourceListChanged', 'sendPromptListChanged']) server[method] = () => {};
  server.isConnected = () => false;
  return { server, registrations, end: () => { open = false; } };
}

// handle is what McpServer returns of a registration: until createPlugin ends it can be taken back.
function handle(registrations, registration) {
  return {
    get enabled() { return registration.enabled; },
    enable() { registration.enabled = true; },
    disable() { registration.enabled = false; },
    remove() {
      const at = registrations.indexOf(registration);
      if (at >= 0) registrations.splice(at, 1);
    },
    update() { throw new OperationError('registrations are not updated before the plugin is loaded: register once'); },
  };
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
