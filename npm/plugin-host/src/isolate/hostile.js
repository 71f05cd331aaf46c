// What comes from a plugin of tier 3 is text of somebody else: read within limits, and
// rebuilt before anybody uses it.

const maxDepth = 64;

/** quote makes text of a plugin fit for a message: one line, in quotes, not too long. What is no string is none. */
export function quote(text, longest = 1000) {
  const s = typeof text === 'string' ? text : '';
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
  try {
    return JSON.parse(text, (key, value) => {
      if (key === '__proto__') throw new Error('a member named __proto__');
      return value;
    });
  } catch (e) {
    throw e instanceof SyntaxError ? new Error('a message that is no JSON') : e; // which would repeat the text
  }
}

const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);

function fail(what) {
  throw new Error(what);
}

const texts = { __proto__: null, name: 256, title: 1024, description: 1 << 16, uri: 4096, uriTemplate: 4096, mimeType: 256 };

// Names and addresses get into messages, lists and logs: they have no characters that are obeyed or not shown.
const plain = new Set(['name', 'uri', 'uriTemplate', 'mimeType']);
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const optional = (from, name) => (Object.hasOwn(from, name) ? from[name] ?? undefined : undefined);

// members takes the members of from that are known: texts within limits, and objects.
function members(from, kind, names, objects = []) {
  if (!isObject(from)) fail(`a ${kind} that is no object`);
  const out = {};
  for (const name of names) {
    const value = optional(from, name);
    if (value === undefined) continue;
    if (typeof value !== 'string') fail(`a ${kind} whose ${name} is no text`);
    if (value.length > texts[name]) fail(`a ${kind} whose ${name} is longer than ${texts[name]}`);
    if (plain.has(name) && obeyed.test(value)) fail(`a ${kind} whose ${name} has characters that are not shown`);
    out[name] = value;
  }
  for (const name of ['_meta', ...objects]) {
    const value = optional(from, name);
    if (value === undefined) continue;
    if (!isObject(value)) fail(`a ${kind} whose ${name} is no object`);
    out[name] = value;
  }
  const icons = optional(from, 'icons');
  if (icons !== undefined) out.icons = iconsOf(icons, kind);
  if (!out.name) fail(`a ${kind} without a name`);
  return out;
}

const areTexts = (list) => Array.isArray(list) && list.every((x) => typeof x === 'string');

function iconsOf(icons, kind) {
  const isIcon = ({ src, mimeType = '', sizes = [] }) => areTexts([src, mimeType]) && areTexts(sizes);
  if (!Array.isArray(icons) || icons.length > 100 || !icons.every((i) => isObject(i) && isIcon(i))) fail(`a ${kind} whose icons are no list of icons`);
  return icons.map(({ src, mimeType, sizes }) => ({ src, mimeType, sizes }));
}

// annotationsOf are the hints of MCP about a tool.
function annotationsOf(from) {
  const out = {};
  for (const [name, type] of Object.entries({ title: 'string', readOnlyHint: 'boolean', destructiveHint: 'boolean', idempotentHint: 'boolean', openWorldHint: 'boolean' })) {
    const value = optional(from, name);
    if (value === undefined) continue;
    if (typeof value !== type) fail(`a tool whose annotation ${name} is no ${type}`);
    out[name] = value;
  }
  return out;
}

// schemaOf checks what a client demands of the schema of a tool, as one that fails it loses the whole list.
function schemaOf(schema, name) {
  const { properties, required } = schema;
  if (schema.type !== 'object') fail(`a tool whose ${name} is not of type object`);
  if (properties !== undefined && !(isObject(properties) && Object.values(properties).every((p) => isObject(p)))) fail(`a tool whose ${name} has properties that are no schemas`);
  if (required !== undefined && !areTexts(required)) fail(`a tool whose ${name} requires what is no list of names`);
  return schema;
}

// isCompiled reports whether each client compiles a schema, as some do with that of a tool's results: it has the words
// of this list only, each with the value that belongs there.
const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const isNumber = (x) => typeof x === 'number' && x >= 0;
const areSchemas = (x) => Array.isArray(x) && x.length > 0 && x.every(isCompiled);
const words = {
  __proto__: null,
  $schema: (x) => /^https?:\/\/json-schema\.org\/(draft-07|draft\/2020-12)\/schema#?$/.test(x),
  type: (x) => types.has(x) || (Array.isArray(x) && x.length > 0 && new Set(x).size === x.length && x.every((t) => types.has(t))),
  properties: (x) => isObject(x) && Object.values(x).every(isCompiled), required: (x) => areTexts(x) && new Set(x).size === x.length,
  additionalProperties: (x) => typeof x === 'boolean' || isCompiled(x), items: (x) => isCompiled(x),
  anyOf: areSchemas, allOf: areSchemas, oneOf: areSchemas, enum: (x) => Array.isArray(x) && x.length > 0, const: () => true,
  title: (x) => typeof x === 'string', description: (x) => typeof x === 'string', default: () => true,
  minimum: Number.isFinite, maximum: Number.isFinite, exclusiveMinimum: Number.isFinite, exclusiveMaximum: Number.isFinite,
  minLength: isNumber, maxLength: isNumber, minItems: isNumber, maxItems: isNumber,
};
function isCompiled(schema) {
  return isObject(schema) && Object.entries(schema).every(([word, value]) => words[word]?.(value) === true);
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
      out.inputSchema = schemaOf(out.inputSchema ?? { type: 'object', properties: {} }, 'inputSchema');
      if (out.annotations !== undefined) out.annotations = annotationsOf(out.annotations);
      if (out.outputSchema !== undefined) schemaOf(out.outputSchema, 'outputSchema');
      if (out.outputSchema !== undefined && !isCompiled(out.outputSchema)) delete out.outputSchema; // results need none
      return out;
    }),
    resources: listOf(from, 'resources', (r) => {
      const out = members(r, 'resource', ['name', 'uri', 'uriTemplate', 'title', 'description', 'mimeType']);
      if ((out.uri === undefined) === (out.uriTemplate === undefined)) fail('a resource without a URI');
      if (!/^[a-z][a-z0-9+.-]*:/i.test(out.uri ?? out.uriTemplate)) fail('a resource whose URI has no scheme');
      return out;
    }),
    prompts: listOf(from, 'prompts', (p) => {
      const out = members(p, 'prompt', ['name', 'title', 'description']);
      if (p.arguments !== undefined && p.arguments !== null) {
        out.arguments = listOf(p, 'arguments', (a) => {
          const one = members(a, 'argument', ['name', 'description']);
          delete one.icons;
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
  if (!isObject(result)) fail(`a result that is no object`);
  const parts = { tool: 'content', resource: 'contents', prompt: 'messages' }[kind];
  const list = Object.hasOwn(result, parts) ? result[parts] : undefined;
  if (list === undefined && kind === 'tool') return result;
  if (!Array.isArray(list) || !list.every(isObject)) fail(`a result whose ${parts} are no list of objects`);
  return result;
}
