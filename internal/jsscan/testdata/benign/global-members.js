// Uses members of the global object by name.
exports.createPlugin = () => {
  const { setTimeout: later, URL: Url } = globalThis;
  globalThis.myPlugin = globalThis.myPlugin || { count: 0 };
  globalThis.myPlugin.count++;
  if ('fetch' in globalThis && typeof globalThis.fetch === 'function') later(() => {}, 1);
  return new Url('https://example.com/').href + (globalThis.crypto?.randomUUID?.() ?? '');
};
