// Imports what is known, when it is needed.
exports.createPlugin = async () => {
  const { default: os } = await import('node:os');
  const [{ join }, url] = await Promise.all([import('node:path'), import('url')]);
  return import('./dynamic-import.js').then((m) => [m, join(os.tmpdir(), 'x'), url.URL]);
};
