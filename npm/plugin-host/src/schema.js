// Schemas of plugins: JSON Schema, or what zod makes, in whichever of its versions the plugin bundles.
// The SDK knows them all, so that its own functions are used.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ValidationError } from './errors.js';
import { runAsHost } from './guard.js';
import { sdkName } from './rules.js';

const isZod = (x) => x !== null && typeof x === 'object' && ('_def' in x || '_zod' in x);

const isFour = (x) => '_zod' in x || !isZod(x) && Object.values(x).every((field) => isZod(field) && '_zod' in field);

// The guard hooks createRequire later. It is the host that loads the SDK's functions, in whosever context.
const requireFrom = createRequire;

function fromSDK(sdk, path) {
  try {
    return sdk === undefined ? undefined : runAsHost(() => requireFrom(join(sdk, 'package.json'))(path));
  } catch {
    return undefined;
  }
}

/**
 * schemaOf returns the JSON Schema of what a tool takes. It is undefined where nothing can tell, which
 * STRICT_TOOLS refuses.
 */
export function schemaOf(schema, sdk) {
  if (schema === undefined || schema === null) return { type: 'object', properties: {} };
  if (!isZod(schema) && typeof schema.type === 'string') return schema;
  if (!isZod(schema) && Object.keys(schema).length === 0) return { type: 'object', properties: {} };
  const compat = fromSDK(sdk, `${sdkName}/server/zod-compat.js`);
  const convert = fromSDK(sdk, `${sdkName}/server/zod-json-schema-compat.js`);
  if (compat && convert) {
    const object = compat.normalizeObjectSchema(schema) ?? schema;
    return convert.toJsonSchemaCompat(object, { strictUnions: true, pipeStrategy: 'input' });
  }
  const four = fromSDK(sdk, 'zod/v4'); // which SDKs up to 1.22 bring, and do not understand
  if (four && isFour(schema)) return four.toJSONSchema(isZod(schema) ? schema : four.object(schema), { io: 'input' });
  const older = fromSDK(sdk, 'zod-to-json-schema'), zod = fromSDK(sdk, 'zod');
  if (older && zod) return older.zodToJsonSchema(isZod(schema) ? schema : zod.object(schema), { strictUnions: true });
  return undefined;
}

/** parse checks arguments by the schema that was registered, as McpServer does. */
export async function parse(schema, args) {
  if (isZod(schema)) return checked(await parseOne(schema, args), '');
  if (typeof schema.type === 'string') return args; // JSON Schema: the plugin checks
  const out = {};
  for (const [name, field] of Object.entries(schema)) {
    const value = checked(await parseOne(field, args?.[name]), name);
    if (value !== undefined) out[name] = value;
  }
  return out;
}

const parseOne = (schema, value) => (schema.safeParseAsync ?? schema.safeParse).call(schema, value);

function checked(result, name) {
  if (result.success) return result.data;
  throw new ValidationError(`arguments${name && ` (${name})`}: ${result.error?.message ?? 'they do not match the schema'}`);
}

/** argumentsOf lists the arguments of a prompt. */
export function argumentsOf(shape) {
  if (shape === undefined || shape === null) return undefined;
  const fields = typeof shape.shape === 'function' ? shape.shape() : shape.shape ?? shape;
  return Object.entries(fields).map(([name, field]) => ({
    name, description: field?.description, required: !(field?.isOptional?.() ?? false),
  }));
}
