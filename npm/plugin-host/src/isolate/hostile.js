// What comes from a plugin of tier 3 is text of somebody else: read within limits, and
// rebuilt before anybody uses it.

const maxDepth = 64;

/** quote makes text of a plugin fit to stand in a message: one line, in quotes, not too long. */
export function quote(text, longest = 1000) {
  const s = String(text);
  const cut = s.length > longest ? `${s.slice(0, longest)}…` : s;
  return JSON.stringify(cut).replace(/[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** depthOf is how deep the brackets of a text of JSON are nested. */
function depthOf(text) {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // a string: to its end
        for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
        break;
      case 0x5b: case 0x7b:
        if (++depth > deepest) deepest = depth;
        break;
      case 0x5d: case 0x7d:
        depth--;
    }
  }
  return deepest;
}

/** read parses a plugin's text. It throws where the text is too long, too deep or no JSON. */
export function read(text, longest) {
  if (typeof text !== 'string') throw new Error('a message that is no text');
  if (text.length > longest) throw new Error(`a message of more than ${longest} characters`);
  if (depthOf(text) > maxDepth) throw new Error(`a message nested deeper than ${maxDepth}`);
  return JSON.parse(text, (key, value) => {
    if (key === '__proto__') throw new Error('a member named __proto__');
    return value;
  });
}

const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);

function fail(what) {
  throw new Error(what);
}

const texts = { __proto__: null, name: 256, title: 1024, description: 1 << 16, uri: 4096, uriTemplate: 4096, mimeType: 256 };

// members takes the members of from that are known: texts within limits, and objects.
function members(from, kind, names, objects = []) {
  if (!isObject(from)) fail(`a ${kind} that is no object`);
  const out = {};
  for (const name of names) {
    const value = Object.hasOwn(from, name) ? from[name] : undefined;
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') fail(`a ${kind} whose ${name} is no text`);
    if (value.length > texts[name]) fail(`a ${kind} whose ${name} is longer than ${texts[name]}`);
    out[name] = value;
  }
  for (const name of ['_meta', ...objects]) {
    const value = Object.hasOwn(from, name) ? from[name] : undefined;
    if (value === undefined || value === null) continue;
    if (!isObject(value)) fail(`a ${kind} whose ${name} is no object`);
    out[name] = value;
  }
  const icons = Object.hasOwn(from, 'icons') ? from.icons ?? undefined : undefined;
  if (icons !== undefined) {
    if (!Array.isArray(icons) || icons.length > 100 || !icons.every(isObject)) fail(`a ${kind} whose icons are no list of objects`);
    out.icons = icons;
  }
  if (!out.name) fail(`a ${kind} without a name`);
  return out;
}

function listOf(from, name, one, most = 1000) {
  const all = isObject(from) && Object.hasOwn(from, name) ? from[name] : [];
  if (!Array.isArray(all)) fail(`${name} that are no list`);
  if (all.length > most) fail(`more than ${most} ${name}`);
  const out = all.map(one);
  const seen = new Set();
  for (const x of out) {
    const key = x.uri ?? x.uriTemplate ?? x.name;
    if (seen.has(key)) fail(`two ${name} with one name`);
    seen.add(key);
  }
  return out;
}

/** registered rebuilds what a plugin says that it registered. */
export function registered(from) {
  return {
    tools: listOf(from, 'tools', (t) => {
      const out = members(t, 'tool', ['name', 'title', 'description'], ['inputSchema', 'outputSchema', 'annotations']);
      out.inputSchema ??= { type: 'object', properties: {} };
      return out;
    }),
    resources: listOf(from, 'resources', (r) => {
      const out = members(r, 'resource', ['name', 'uri', 'uriTemplate', 'title', 'description', 'mimeType']);
      if ((out.uri === undefined) === (out.uriTemplate === undefined)) fail('a resource without a URI');
      return out;
    }),
    prompts: listOf(from, 'prompts', (p) => {
      const out = members(p, 'prompt', ['name', 'title', 'description']);
      if (p.arguments !== undefined && p.arguments !== null) {
        out.arguments = listOf(p, 'arguments', (a) => {
          const one = members(a, 'argument', ['name', 'description']);
          if (typeof a.required === 'boolean') one.required = a.required;
          return one;
        }, 100);
      }
      return out;
    }),
  };
}

/** resultOf checks what a plugin's handler gave for a call of a kind. */
export function resultOf(kind, result) {
  if (kind === 'matches') return result === true;
  if (!isObject(result)) fail(`a result that is no object`);
  const parts = { tool: 'content', resource: 'contents', prompt: 'messages' }[kind];
  const list = Object.hasOwn(result, parts) ? result[parts] : undefined;
  if (list === undefined && kind === 'tool') return result;
  if (!Array.isArray(list) || !list.every(isObject)) fail(`a result whose ${parts} are no list of objects`);
  return result;
}
