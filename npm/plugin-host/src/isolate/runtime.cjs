// What runs beside a plugin: the server that it registers with, what it lists of that, and the calls of its handlers.
// It uses no API of Node. In tier 3 it belongs to the plugin's side: whatever it sends, the host checks.
'use strict';

/** makeRuntime makes it for one plugin. send takes the text of an answer to deliver. */
exports.makeRuntime = function makeRuntime(send) {
  const tools = new Map();
  const resources = new Map();
  const prompts = new Map();
  let open = true; // while createPlugin runs

  // -- schemas

  const isObject = (v) => typeof v === 'object' && v !== null;
  const isZod = (v) => (isObject(v) || typeof v === 'function') && (isObject(v._zod) || isObject(v._def)) &&
    (typeof v.safeParse === 'function' || isObject(v['~standard']) || isObject(v._zod));
  const isShape = (v) => isObject(v) && !isZod(v) && !Array.isArray(v) &&
    Object.keys(v).length > 0 && Object.keys(v).every((key) => isZod(v[key]));
  const isSchema = (v) => isObject(v) && !Array.isArray(v) && !isZod(v) && !isShape(v) &&
    (typeof v.type === 'string' || isObject(v.properties) || typeof v.$schema === 'string' ||
      Array.isArray(v.anyOf) || Array.isArray(v.oneOf) || Array.isArray(v.allOf));
  const isConfigSchema = (v) => isZod(v) || isShape(v) || isSchema(v) || (isObject(v) && Object.keys(v).length === 0);

  // optional reports whether a member may be left out of what a caller sends.
  function optional(z) {
    if (isObject(z._zod)) return z._zod.optin === 'optional' || z._zod.optin === 'defaulted' || z._zod.def.type === 'undefined';
    switch (z._def.typeName) {
      case 'ZodOptional': case 'ZodDefault': case 'ZodUndefined': case 'ZodCatch': case 'ZodAny': case 'ZodUnknown': return true;
      case 'ZodNullable': case 'ZodReadonly': return optional(z._def.innerType);
      case 'ZodEffects': return optional(z._def.schema);
      case 'ZodBranded': return optional(z._def.type);
      case 'ZodUnion': return z._def.options.some(optional);
    }
    return false;
  }

  function objectOf(shape, depth, extra) {
    const properties = {};
    const required = [];
    for (const key of Object.keys(shape)) {
      Object.defineProperty(properties, key,
        { value: convert(shape[key], depth), enumerable: true, writable: true, configurable: true });
      if (!optional(shape[key])) required.push(key);
    }
    return { type: 'object', properties, ...(required.length ? { required } : {}), ...extra };
  }

  const ofValues = (values) => values.length === 1 ? { const: values[0] } : { enum: values };

  function convert(z, depth) {
    if (!isZod(z) || depth > 32) return {};
    const out = isObject(z._zod) ? convertFour(z, depth + 1) : convertThree(z._def, depth + 1);
    const description = isObject(z._zod) ? z.description : z._def.description;
    if (typeof description === 'string') out.description = description;
    return out;
  }

  function convertThree(def, depth) {
    const out = {};
    switch (def.typeName) {
      case 'ZodString':
        out.type = 'string';
        for (const c of def.checks ?? []) {
          if (c.kind === 'min') out.minLength = c.value;
          else if (c.kind === 'max') out.maxLength = c.value;
          else if (c.kind === 'length') out.minLength = out.maxLength = c.value;
          else if (c.kind === 'regex') out.pattern = c.regex.source;
          else if (c.kind === 'url') out.format = 'uri';
          else if (c.kind === 'datetime') out.format = 'date-time';
          else if (['email', 'uuid', 'date', 'time', 'duration'].includes(c.kind)) out.format = c.kind;
        }
        return out;
      case 'ZodNumber':
        out.type = 'number';
        for (const c of def.checks ?? []) {
          if (c.kind === 'int') out.type = 'integer';
          else if (c.kind === 'min') out[c.inclusive ? 'minimum' : 'exclusiveMinimum'] = c.value;
          else if (c.kind === 'max') out[c.inclusive ? 'maximum' : 'exclusiveMaximum'] = c.value;
          else if (c.kind === 'multipleOf') out.multipleOf = c.value;
        }
        return out;
      case 'ZodBigInt': return { type: 'integer', format: 'int64' };
      case 'ZodBoolean': return { type: 'boolean' };
      case 'ZodNull': return { type: 'null' };
      case 'ZodDate': return { type: 'string', format: 'date-time' };
      case 'ZodNever': return { not: {} };
      case 'ZodLiteral': return { const: def.value };
      case 'ZodEnum': return { type: 'string', enum: [...def.values] };
      case 'ZodNativeEnum': return { enum: enumValues(def.values) };
      case 'ZodArray':
        out.type = 'array';
        out.items = convert(def.type, depth);
        if (def.minLength) out.minItems = def.minLength.value;
        if (def.maxLength) out.maxItems = def.maxLength.value;
        if (def.exactLength) out.minItems = out.maxItems = def.exactLength.value;
        return out;
      case 'ZodSet': return { type: 'array', uniqueItems: true, items: convert(def.valueType, depth) };
      case 'ZodTuple':
        return { type: 'array', items: def.items.map((i) => convert(i, depth)), minItems: def.items.length,
          ...(def.rest ? { additionalItems: convert(def.rest, depth) } : { maxItems: def.items.length }) };
      case 'ZodObject': {
        const closed = def.unknownKeys === 'strict' || def.unknownKeys === 'strip';
        return objectOf(def.shape(), depth, def.unknownKeys === 'passthrough' ? {} : closed ? { additionalProperties: false } : {});
      }
      case 'ZodRecord': return { type: 'object', additionalProperties: convert(def.valueType, depth) };
      case 'ZodUnion': case 'ZodDiscriminatedUnion':
        return { anyOf: [...(def.options.values?.() ?? def.options)].map((o) => convert(o, depth)) };
      case 'ZodIntersection': return { allOf: [convert(def.left, depth), convert(def.right, depth)] };
      case 'ZodNullable': return { anyOf: [convert(def.innerType, depth), { type: 'null' }] };
      case 'ZodDefault': return { ...convert(def.innerType, depth), default: def.defaultValue() };
      case 'ZodOptional': case 'ZodReadonly': case 'ZodCatch': case 'ZodPromise': return convert(def.innerType ?? def.type, depth);
      case 'ZodEffects': return convert(def.schema, depth);
      case 'ZodBranded': return convert(def.type, depth);
      case 'ZodPipeline': return convert(def.in, depth);
      case 'ZodLazy': return convert(def.getter(), depth);
    }
    return out;
  }

  const enumValues = (entries) =>
    Object.keys(entries).filter((key) => typeof entries[entries[key]] !== 'number').map((key) => entries[key]);

  // own is what a schema says of itself, where its library can.
  function own(z) {
    if (typeof z.toJSONSchema !== 'function') return undefined;
    try {
      const { $schema, '~standard': standard, ...said } = z.toJSONSchema({ io: 'input', target: 'draft-7', unrepresentable: 'any' });
      return JSON.parse(JSON.stringify(said));
    } catch {
      return undefined;
    }
  }

  // bounds are what the checks of a schema of zod 4 say, which some of its versions gather in bag.
  function bounds(z) {
    const bag = { ...z._zod.bag };
    if (typeof z._zod.def.format === 'string') bag.format = z._zod.def.format;
    for (const check of z._zod.def.checks ?? []) {
      const c = check._zod?.def ?? {};
      if (c.check === 'greater_than') bag[c.inclusive ? 'minimum' : 'exclusiveMinimum'] = c.value;
      else if (c.check === 'less_than') bag[c.inclusive ? 'maximum' : 'exclusiveMaximum'] = c.value;
      else if (c.check === 'multiple_of') bag.multipleOf = c.value;
      else if (c.check === 'min_length') bag.minimum = c.minimum;
      else if (c.check === 'max_length') bag.maximum = c.maximum;
      else if (c.check === 'length_equals') bag.minimum = bag.maximum = c.length;
      else if (c.format) bag.format = c.format;
    }
    return bag;
  }

  function convertFour(z, depth) {
    const said = own(z);
    if (said !== undefined) return said;
    const def = z._zod.def;
    const bag = bounds(z);
    const out = {};
    switch (def.type) {
      case 'string':
        out.type = 'string';
        if (typeof bag.minimum === 'number') out.minLength = bag.minimum;
        if (typeof bag.maximum === 'number') out.maxLength = bag.maximum;
        if (typeof bag.format === 'string') {
          const format = { url: 'uri', datetime: 'date-time', guid: 'uuid', regex: '' }[bag.format] ?? bag.format;
          if (format) out.format = format;
          if (bag.format === 'regex' && bag.patterns) for (const p of bag.patterns) out.pattern = p.source;
        }
        return out;
      case 'number': case 'int':
        out.type = typeof bag.format === 'string' && bag.format.includes('int') ? 'integer' : 'number';
        for (const key of ['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minimum', 'maximum']) {
          const value = bag[key];
          if (typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < Number.MAX_SAFE_INTEGER) out[key] = value;
        }
        return out;
      case 'bigint': return { type: 'integer', format: 'int64' };
      case 'boolean': return { type: 'boolean' };
      case 'null': return { type: 'null' };
      case 'date': return { type: 'string', format: 'date-time' };
      case 'never': return { not: {} };
      case 'literal': return ofValues([...def.values]);
      case 'enum': {
        const values = enumValues(def.entries);
        return { ...(values.every((v) => typeof v === 'string') ? { type: 'string' } : {}), enum: values };
      }
      case 'array':
        out.type = 'array';
        out.items = convert(def.element, depth);
        if (typeof bag.minimum === 'number') out.minItems = bag.minimum;
        if (typeof bag.maximum === 'number') out.maxItems = bag.maximum;
        return out;
      case 'set': return { type: 'array', uniqueItems: true, items: convert(def.valueType, depth) };
      case 'tuple':
        return { type: 'array', items: def.items.map((i) => convert(i, depth)), minItems: def.items.length,
          ...(def.rest ? { additionalItems: convert(def.rest, depth) } : { maxItems: def.items.length }) };
      case 'object': {
        const rest = def.catchall?._zod?.def?.type;
        return objectOf(def.shape, depth, rest === 'unknown' || rest === 'any' ? {} : { additionalProperties: false });
      }
      case 'record': return { type: 'object', additionalProperties: convert(def.valueType, depth) };
      case 'union': return { anyOf: def.options.map((o) => convert(o, depth)) };
      case 'intersection': return { allOf: [convert(def.left, depth), convert(def.right, depth)] };
      case 'nullable': return { anyOf: [convert(def.innerType, depth), { type: 'null' }] };
      case 'default': case 'prefault': return { ...convert(def.innerType, depth), default: def.defaultValue };
      case 'optional': case 'nonoptional': case 'readonly': case 'catch': case 'success': case 'promise':
        return convert(def.innerType, depth);
      case 'pipe': return convert(def.in._zod.def.type === 'transform' ? def.out : def.in, depth);
      case 'lazy': return convert(def.getter(), depth);
    }
    return out;
  }

  const dialect = 'http://json-schema.org/draft-07/schema#';

  // listed is the JSON Schema of what a plugin registered with a tool.
  function listed(schema) {
    if (schema === undefined || schema === null) return { type: 'object', properties: {} };
    if (isZod(schema)) return { $schema: dialect, type: 'object', ...convert(schema, 0) };
    if (isShape(schema)) return { $schema: dialect, ...objectOf(schema, 0, { additionalProperties: false }) };
    if (Object.keys(schema).length === 0) return { type: 'object', properties: {} };
    return { type: 'object', ...schema };
  }

  async function parseOne(z, value) {
    const r = typeof z.safeParseAsync === 'function' ? await z.safeParseAsync(value)
      : typeof z.safeParse === 'function' ? z.safeParse(value) : await z['~standard'].validate(value);
    if (r.success === true || (r.success === undefined && r.issues === undefined)) {
      return { value: 'data' in r ? r.data : r.value, issues: [] };
    }
    const issues = r.error?.issues ?? r.issues ?? [{ message: 'invalid' }];
    return { issues: [...issues].map((i) => ({ path: [...(i.path ?? [])].map(String), message: String(i.message) })) };
  }

  // parse is what a handler gets for what a caller sent: the plugin's own schema decides.
  async function parse(schema, args) {
    if (isZod(schema)) return parseOne(schema, args);
    if (!isShape(schema)) return { value: args, issues: [] };
    if (!isObject(args) || Array.isArray(args)) return { issues: [{ path: [], message: 'Expected object' }] };
    const value = {};
    const issues = [];
    for (const key of Object.keys(schema)) {
      const own = Object.hasOwn(args, key);
      const r = await parseOne(schema[key], own ? args[key] : undefined);
      for (const i of r.issues) issues.push({ path: [key, ...i.path], message: i.message });
      if (r.issues.length === 0 && (own || r.value !== undefined)) {
        Object.defineProperty(value, key, { value: r.value, enumerable: true, writable: true, configurable: true });
      }
    }
    return { value, issues };
  }

  // -- registration

  class PluginUsage extends Error {}

  function add(kind, map, key, entry, method, args) {
    if (!open) throw new PluginUsage(`${kind} ${String(key)} is registered after createPlugin has ended`);
    if (typeof key !== 'string' || key === '') throw new PluginUsage(`a ${kind} needs a name`);
    if (typeof entry.handler !== 'function') throw new PluginUsage(`${kind} ${key} needs a function`);
    if (map.has(key)) throw new PluginUsage(`${kind} ${key} is already registered`);
    entry.made = { kind, method, name: entry.name, args };
    const put = () => { if (open) map.set(key, entry); };
    const drop = () => { if (open) map.delete(key); };
    put();
    return { get enabled() { return map.get(key) === entry; }, enable: put, disable: drop, remove: drop,
      update() { throw new PluginUsage('registrations are not changed: register once'); } };
  }

  const uriOf = (uri) => isObject(uri) && isObject(uri.uriTemplate)
    ? { template: uri.uriTemplate, uriTemplate: String(uri.uriTemplate.template ?? uri.uriTemplate) } : { uri: String(uri) };

  const server = {
    registerTool(name, config, handler) {
      const c = config ?? {};
      return add('tool', tools, name, { name, ...pick(c), schema: c.inputSchema, outputSchema: c.outputSchema,
        annotations: c.annotations, handler }, 'registerTool', [config, handler]);
    },
    tool(name, ...rest) {
      const args = [...rest];
      const handler = rest.pop();
      const entry = { name, handler };
      if (typeof rest[0] === 'string') entry.description = rest.shift();
      if (rest.length > 1 || (rest.length === 1 && isConfigSchema(rest[0]))) entry.schema = rest.shift();
      if (rest.length > 0) entry.annotations = rest.shift();
      return add('tool', tools, name, entry, 'tool', args);
    },
    registerResource(name, uri, config, handler) {
      const u = uriOf(uri);
      return add('resource', resources, u.uri ?? u.uriTemplate, { name, ...u, ...pick(config), handler }, 'registerResource', [uri, config, handler]);
    },
    resource(name, uri, ...rest) {
      const args = [uri, ...rest];
      const handler = rest.pop();
      const u = uriOf(uri);
      return add('resource', resources, u.uri ?? u.uriTemplate, { name, ...u, ...pick(rest[0]), handler }, 'resource', args);
    },
    registerPrompt(name, config, handler) {
      const c = config ?? {};
      return add('prompt', prompts, name,
        { name, ...pick(c), schema: c.argsSchema ?? c.arguments, handler }, 'registerPrompt', [config, handler]);
    },
    prompt(name, ...rest) {
      const args = [...rest];
      const handler = rest.pop();
      const entry = { name, handler };
      if (typeof rest[0] === 'string') entry.description = rest.shift();
      if (rest.length > 0) entry.schema = rest.shift();
      return add('prompt', prompts, name, entry, 'prompt', args);
    },
    sendToolListChanged() {}, sendResourceListChanged() {}, sendPromptListChanged() {},
    isConnected() { return false; },
    async sendLoggingMessage() {},
  };
  server.server = server;
  Object.freeze(server);

  const pick = (config) => isObject(config)
    ? { title: config.title, description: config.description, mimeType: config.mimeType, icons: config.icons, _meta: config._meta } : {};

  function promptArguments(schema) {
    if (Array.isArray(schema)) return schema;
    if (!isShape(schema)) return undefined;
    return Object.keys(schema).map((name) => {
      const description = schema[name].description ?? schema[name]._def?.description;
      return { name, ...(typeof description === 'string' ? { description } : {}), required: !optional(schema[name]) };
    });
  }

  function list() {
    return {
      tools: [...tools.values()].map((t) => ({ name: t.name, ...pick(t), inputSchema: listed(t.schema),
        outputSchema: t.outputSchema === undefined ? undefined : listed(t.outputSchema), annotations: t.annotations })),
      resources: [...resources.values()].map((r) => ({ name: r.name, uri: r.uri, uriTemplate: r.uriTemplate, ...pick(r) })),
      prompts: [...prompts.values()].map((p) => ({ name: p.name, ...pick(p), arguments: promptArguments(p.schema) })),
    };
  }

  // -- calls

  // extra is what a handler gets beside its arguments where no client of the host's stands behind the call.
  const extra = (id) => ({
    requestId: id, _meta: {}, sessionId: undefined,
    signal: { aborted: false, reason: undefined, onabort: null, addEventListener() {}, removeEventListener() {}, throwIfAborted() {} },
    async sendNotification() {},
    async sendRequest() { throw new PluginUsage('a plugin in tier 3 cannot ask the client'); },
  });

  async function invoke(kind, entry, args, given) {
    if (entry.schema === undefined || entry.schema === null) return entry.handler(given);
    const r = await parse(entry.schema, args ?? {});
    if (r.issues.length > 0) {
      const said = r.issues.slice(0, 10).map((i) => `${i.path.join('.')}: ${i.message}`.replace(/^: /, '')).join('; ');
      const e = new PluginUsage(`invalid arguments of ${kind} ${entry.name}: ${said}`);
      e.name = 'validationError';
      throw e;
    }
    return entry.handler(r.value, given);
  }

  const matchOf = (resource, uri) => (typeof resource.template?.match === 'function' ? resource.template.match(uri) : undefined);

  const methods = {
    __proto__: null,
    tool({ name, args }, given) {
      const t = tools.get(name);
      if (!t) throw new PluginUsage(`no tool ${name}`);
      return invoke('tool', t, args, given);
    },
    resource({ uri }, given) {
      const exact = resources.get(uri);
      if (exact && exact.template === undefined) return exact.handler(new URL(uri), given);
      for (const r of resources.values()) {
        const found = matchOf(r, uri);
        if (found) return r.handler(new URL(uri), found, given);
      }
      throw new PluginUsage(`no resource ${uri}`);
    },
    prompt({ name, args }, given) {
      const p = prompts.get(name);
      if (!p) throw new PluginUsage(`no prompt ${name}`);
      return Array.isArray(p.schema) ? p.handler(args ?? {}, given) : invoke('prompt', p, args, given);
    },
  };

  // start has a plugin register. load gives what its entry exports.
  async function start(load) {
    const m = await load();
    const exported = [m, m.default, m.default?.default]; // the last is of a module that was compiled to CommonJS
    const isFunction = (f) => typeof f === 'function';
    const createPlugin = exported.map((e) => e?.createPlugin).find(isFunction) ?? exported.find(isFunction);
    if (createPlugin === undefined) throw new PluginUsage('the entry exports no createPlugin, and no function as default');
    const given = await createPlugin(server);
    if (given && isObject(given) && Array.isArray(given.tools) && tools.size === 0) {
      for (const t of given.tools) if (isObject(t)) server.registerTool(t.name, t, t.handler ?? t.execute);
    }
    open = false;
    return list();
  }

  // textOf is what is said of anything that was thrown.
  function textOf(e) {
    try {
      if (!isObject(e) && typeof e !== 'function') return { name: 'Error', message: String(e).slice(0, 4000) };
      const message = String(e.message ?? e);
      const [permission, option] = { FileSystemRead: ['fsRead', 'readable'], FileSystemWrite: ['fsWrite', 'writable'] }[e.code === 'ERR_ACCESS_DENIED' ? e.permission : ''] ?? [];
      return { name: String(e.name ?? 'Error').slice(0, 100), message: (option === undefined ? message
        : `no access to ${e.resource}: the manifest has to declare ${permission}, and the host to list its directory in the option ${option}`).slice(0, 4000) };
    } catch {
      return { name: 'Error', message: 'an error that cannot be read' };
    }
  }

  async function answer(m, load) {
    let result;
    try {
      const method = { __proto__: null, ping: () => ({}), start: () => start(load), ...methods }[m.method];
      if (method === undefined) throw new PluginUsage(`no method ${m.method}`);
      result = JSON.stringify({ id: m.id, result: (await method(m.params ?? {}, extra(m.id))) ?? null });
    } catch (e) {
      result = JSON.stringify({ id: m.id, error: textOf(e) });
    }
    send(result);
  }

  return {
    start,
    /** registrations are {kind, method, name, args}, as the plugin made them. */
    registrations: () => [tools, resources, prompts].flatMap((map) => [...map.values()].map((entry) => entry.made)),
    /** call asks a handler of a kind: tool, resource, prompt. given is what it gets of the request. */
    call: async (kind, params, given) => methods[kind](params, given ?? extra(0)),
    /** deliver takes the text of one message, and sends the answer. load is as for start. */
    deliver: (text, load) => void answer(JSON.parse(text), load),
  };
};
