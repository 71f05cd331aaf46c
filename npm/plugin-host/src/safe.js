// Functions of the language as they were before any plugin ran. Plugins share this realm and
// may replace what stands on prototypes: whatever decides about a plugin calls these, uses no
// iterator (no for-of, no spread, no destructuring of lists), and keeps its tables in objects
// without a prototype.
export const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;

export const { freeze } = Object;

const uncurry = (method) => (self, a, b) => apply(method, self, [a, b]);

export const startsWith = uncurry(String.prototype.startsWith);
export const endsWith = uncurry(String.prototype.endsWith);
export const includes = uncurry(String.prototype.includes);
export const indexOf = uncurry(String.prototype.indexOf);
export const slice = uncurry(String.prototype.slice);
export const setHas = uncurry(Set.prototype.has);
export const weakMapGet = uncurry(WeakMap.prototype.get);
export const weakMapSet = uncurry(WeakMap.prototype.set);
const rejectPromise = Promise.reject;
const SafePromise = Promise;
export const reject = (error) => apply(rejectPromise, SafePromise, [error]);

/** constant is the descriptor of an ordinary property. */
export const constant = (value) => ({ __proto__: null, value, writable: true, enumerable: true, configurable: true });
