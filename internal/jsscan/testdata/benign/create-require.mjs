// Requires JSON of its own.
import { createRequire, builtinModules, isBuiltin } from 'node:module';
const require = createRequire(import.meta.url);
export const createPlugin = () => [require('./create-require.mjs'), builtinModules.length, isBuiltin('fs'), require.resolve('./create-require.mjs')];
