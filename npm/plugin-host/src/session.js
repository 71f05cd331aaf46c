// What a plugin of tier 1 offers, as MCP lists it, and calls of it.
import { OperationError, ValidationError } from './errors.js';
import { argumentsOf, parse, schemaOf } from './schema.js';

const isSchema = (x) => x !== null && typeof x === 'object' && ('_def' in x || '_zod' in x);
const isShape = (x) => x !== null && typeof x === 'object' && (Object.keys(x).length === 0 || Object.values(x).some(isSchema));

// describe brings the older and the newer way of registering to one form.
function describe({ kind, method, name, args }) {
  const handler = args[args.length - 1];
  if (typeof handler !== 'function') throw new ValidationError(`${kind} ${name} was registered without a function`);
  if (kind === 'resource') {
    const config = args.length > 2 ? args[1] : {};
    return { name, config, handler, at: args[0] };
  }
  if (method.startsWith('register')) return { name, config: args[0] ?? {}, handler };
  const rest = args.slice(0, -1);
  const config = {};
  if (typeof rest[0] === 'string') config.description = rest.shift();
  if (kind === 'prompt') {
    if (rest.length > 0) config.argsSchema = rest.shift();
  } else {
    if (rest.length > 0 && (isSchema(rest[0]) || isShape(rest[0]))) config.inputSchema = rest.shift();
    if (rest.length > 0) config.annotations = rest.shift();
  }
  return { name, config, handler };
}

const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** sessionOf gives what was registered as lists, with the calls. Reading the plugin's values is done by wrap. */
export function sessionOf(registrations, sdk, wrap) {
  const of = (kind) => registrations.filter((r) => r.kind === kind && r.enabled).map(wrap(describe));
  const tools = of('tool'), resources = of('resource'), prompts = of('prompt');
  const find = (list, name, kind) => list.find((r) => r.name === name) ?? fail(`no ${kind} ${name}`);
  return {
    tools: tools.map(wrap(({ name, config }) => plain({
      name, title: config.title, description: config.description, inputSchema: schemaOf(config.inputSchema, sdk), annotations: config.annotations,
      ...(config.outputSchema && { outputSchema: schemaOf(config.outputSchema, sdk) }), _meta: config._meta, icons: config.icons,
    }))),
    resources: resources.map(wrap(({ name, config, at }) => plain({
      name, ...(typeof at === 'string' ? { uri: at } : { uriTemplate: String(at?.uriTemplate) }),
      title: config.title, description: config.description, mimeType: config.mimeType,
    }))),
    prompts: prompts.map(wrap(({ name, config }) => plain({
      name, title: config.title, description: config.description, arguments: argumentsOf(config.argsSchema),
    }))),
    async callTool(name, args = {}, extra = {}) {
      const { config, handler } = find(tools, name, 'tool');
      return config.inputSchema === undefined ? handler(extra) : handler(await wrap(parse)(config.inputSchema, args), extra);
    },
    /** matches reports whether a template is for a URI. */
    matches: (uri) => resources.some(({ at }) => typeof at !== 'string' && wrap(() => at?.uriTemplate?.match?.(uri))()),
    async readResource(uri, extra = {}) {
      const fixed = resources.find((r) => r.at === uri);
      if (fixed) return fixed.handler(new URL(uri), extra);
      for (const { at, handler } of resources) {
        const variables = typeof at === 'string' ? null : wrap(() => at?.uriTemplate?.match?.(uri))();
        if (variables) return handler(new URL(uri), variables, extra);
      }
      return fail(`no resource ${uri}`);
    },
    async getPrompt(name, args = {}, extra = {}) {
      const { config, handler } = find(prompts, name, 'prompt');
      return config.argsSchema === undefined ? handler(extra) : handler(await wrap(parse)(config.argsSchema, args), extra);
    },
  };
}

function fail(why) {
  throw new OperationError(why);
}
