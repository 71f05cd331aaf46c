// Registers with the real server what a plugin offers: all of it, or nothing.
import { OperationError } from './errors.js';
import { inputFor, isJSONSchema, promptArguments } from './schema.js';

/** forward registers a session's tools, resources and prompts. What was registered is taken back if one cannot be. */
export async function forward(server, session, sdk) {
  const done = [];
  try {
    if (session.captured !== undefined) {
      for (const { method, name, args, enabled } of session.captured) {
        if (!enabled) continue;
        const [config, ...rest] = args;
        const given = method === 'registerTool' && isJSONSchema(config?.inputSchema)
          ? [{ ...config, inputSchema: inputFor(config.inputSchema, sdk) }, ...rest] : args;
        done.push(call(server, method, name, given));
      }
      return;
    }
    for (const t of session.tools) {
      const config = { title: t.title, description: t.description, inputSchema: inputFor(t.inputSchema, sdk), annotations: t.annotations };
      done.push(call(server, 'registerTool', t.name, [config, (args) => session.callTool(t.name, args)]));
    }
    for (const r of session.resources) {
      if (r.uri === undefined) throw new OperationError(`resource ${r.name} has a template of a URI, which only tier 1 forwards`);
      const config = { title: r.title, description: r.description, mimeType: r.mimeType };
      done.push(call(server, 'registerResource', r.name, [r.uri, config, (uri) => session.readResource(String(uri))]));
    }
    for (const p of session.prompts) {
      const argsSchema = promptArguments(p.arguments, sdk);
      const config = { title: p.title, description: p.description, ...(argsSchema && { argsSchema }) };
      done.push(call(server, 'registerPrompt', p.name, [config, (args) => session.getPrompt(p.name, argsSchema ? args : {})]));
    }
  } catch (e) {
    for (const handle of done.reverse()) handle?.remove?.();
    throw e;
  }
}

// call uses the method that a plugin used, or where the server has only the older or the newer one, that.
function call(server, method, name, args) {
  if (typeof server[method] === 'function') return server[method](name, ...args);
  const kind = method.replace('register', '').toLowerCase();
  if (method !== kind && typeof server[kind] === 'function') {
    const [first, ...rest] = args;
    if (kind === 'resource') return server.resource(name, ...args);
    const config = first ?? {};
    const schema = kind === 'tool' ? config.inputSchema : config.argsSchema;
    return server[kind](name, ...(config.description === undefined ? [] : [config.description]), ...(schema === undefined ? [] : [schema]), ...rest);
  }
  throw new OperationError(`the server has no method ${method}`);
}
