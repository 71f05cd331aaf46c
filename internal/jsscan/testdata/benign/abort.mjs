// permissions: network
// Uses members of the global object that every engine has, as values.
export const createPlugin = ({ fetch: doFetch = fetch, AbortController: A = globalThis.AbortController } = {}) => {
  const c = new A();
  const kinds = [Map, Set, WeakMap, ArrayBuffer, Uint8Array, Promise, Error, TypeError, URL, TextEncoder, Buffer];
  return [doFetch, c.signal, kinds.map((k) => k.name), structuredClone({ a: 1 }), Intl.DateTimeFormat().format(new Date())];
};
