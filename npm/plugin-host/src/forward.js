// Offers with the real server what a plugin offers: all of it, or nothing.
import { OperationError } from './errors.js';
import { matchesTemplate } from './template.js';

/**
 * forward offers a session's tools, resources and prompts with a server, and returns how they are taken back. With the
 * SDK's McpServer they stand beside the server's own in its answers, as the plugin lists them: no version of the SDK has
 * to understand their schemas. Another server is given what the plugin registered, by the methods that it has.
 */
export async function forward(server, session) {
  const offer = server.server?._requestHandlers instanceof Map && typeof server.registerTool === 'function'
    ? await offerBeside(server, session) : register(server, session);
  return { remove: offer };
}

// kinds are what a server lists: by which method it is asked, and how what is in a list is known.
const kinds = {
  tools: { list: 'tools/list', set: 'setToolRequestHandlers', changed: 'sendToolListChanged', key: 'name', what: 'tool' },
  resources: { list: 'resources/list', set: 'setResourceRequestHandlers', changed: 'sendResourceListChanged', key: 'uri', what: 'resource' },
  resourceTemplates: { list: 'resources/templates/list', set: 'setResourceRequestHandlers', changed: 'sendResourceListChanged', key: 'uriTemplate', what: 'resource' },
  prompts: { list: 'prompts/list', set: 'setPromptRequestHandlers', changed: 'sendPromptListChanged', key: 'name', what: 'prompt' },
};

// offers are what plugins offer with each server: a map for each kind, of what is listed and its session.
const offers = new WeakMap();

function offersWith(server) {
  if (!offers.has(server)) offers.set(server, {});
  return offers.get(server);
}

// answer lets calls of a method be answered by ours, which may ask for the server's own answer.
function answer(server, method, ours) {
  const handlers = server.server._requestHandlers;
  const own = handlers.get(method);
  handlers.set(method, (request, extra) => ours(request.params ?? {}, extra, () => own(request, extra)));
}

// open has the server answer for a kind of which it may have nothing itself.
function open(server, all, kind) {
  if (all[kind]) return;
  const { list, set } = kinds[kind];
  server[set]();
  const mine = all[kind] = new Map();
  answer(server, list, async (params, extra, own) => {
    const listed = await own();
    return listed.nextCursor === undefined ? { ...listed, [kind]: [...listed[kind], ...[...mine.values()].map((o) => o.listed)] } : listed;
  });
  if (kind === 'tools') {
    answer(server, 'tools/call', async ({ name, arguments: args }, extra, own) => {
      const one = mine.get(name);
      if (one === undefined) return own();
      try {
        return await one.session.callTool(name, args ?? {}, extra);
      } catch (e) {
        return { content: [{ type: 'text', text: String(e?.message ?? e) }], isError: true };
      }
    });
  } else if (kind === 'prompts') {
    answer(server, 'prompts/get', ({ name, arguments: args }, extra, own) => {
      const one = mine.get(name);
      return one === undefined ? own() : one.session.getPrompt(name, args ?? {}, extra);
    });
  } else if (!all.reads) {
    all.reads = true;
    answer(server, 'resources/read', async ({ uri }, extra, own) => {
      try {
        return await own();
      } catch (e) {
        const one = isNotFound(e, uri) ? find(all, uri) : undefined;
        if (one === undefined) throw e;
        return one.session.readResource(uri, extra);
      }
    });
  }
}

// isNotFound reports whether the server itself has no such resource: an error of one that it has is the answer.
const isNotFound = (e, uri) => [uri, URL.canParse(uri) ? new URL(uri).href : uri].some((u) => String(e?.message).endsWith(`Resource ${u} not found`));

// find returns the plugin's resource for a URI: the one of that name, or the first whose template it matches.
function find(all, uri) {
  return all.resources?.get(uri) ?? [...all.resourceTemplates?.values() ?? []].find((o) => matchesTemplate(o.listed.uriTemplate, uri));
}

// exampleOf is a URI of a resource: its own, or one that its template is for.
const exampleOf = ({ uri, uriTemplate }) => uri ?? uriTemplate.replace(/\{[?&][^{}]*\}/g, '').replace(/\{[^{}]*\}/g, 'x');

// demandOwn throws if what a plugin offers is within another plugin's template, or the other way round.
function demandOwn(all, listed) {
  const within = (one, other) => other.uriTemplate !== undefined && matchesTemplate(other.uriTemplate, exampleOf(one));
  for (const { listed: other } of [...all.resources?.values() ?? [], ...all.resourceTemplates?.values() ?? []]) {
    if (within(listed, other) || within(other, listed)) {
      throw new OperationError(`resource ${listed.uri ?? listed.uriTemplate} and ${other.uri ?? other.uriTemplate} of another plugin are for the same URIs`);
    }
  }
}

async function offerBeside(server, session) {
  const all = offersWith(server);
  const wanted = [];
  for (const tool of session.tools) wanted.push(['tools', tool]);
  for (const r of session.resources) {
    wanted.push([r.uri === undefined ? 'resourceTemplates' : 'resources', r]);
  }
  for (const prompt of session.prompts) wanted.push(['prompts', prompt]);
  const names = {};
  for (const [kind, listed] of wanted) {
    open(server, all, kind);
    const { list, key, what } = kinds[kind];
    names[kind] ??= new Set((await server.server._requestHandlers.get(list)({ method: list, params: {} }, {}))[kind].map((l) => l[key]));
    if (names[kind].has(listed[key])) throw new OperationError(`${what} ${listed[key]} is already registered`);
    if (what === 'resource') demandOwn(all, listed);
    names[kind].add(listed[key]);
  }
  for (const [kind, listed] of wanted) all[kind].set(listed[kinds[kind].key], { listed, session });
  const tell = () => { for (const kind of Object.keys(names)) server[kinds[kind].changed]?.(); };
  tell();
  return () => {
    for (const [kind, listed] of wanted) all[kind].delete(listed[kinds[kind].key]);
    tell();
  };
}

// register gives a server of another kind what the plugin registered. What was is taken back if one cannot be.
function register(server, session) {
  const done = [];
  const removeAll = () => { for (const handle of done.splice(0).reverse()) handle?.remove?.(); };
  try {
    for (const { method, name, args } of session.captured) done.push(call(server, method, name, args));
    return removeAll;
  } catch (e) {
    removeAll();
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
