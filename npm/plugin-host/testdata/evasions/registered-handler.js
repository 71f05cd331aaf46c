// Has the host call the functions of Node, as handlers of tools.
exports.createPlugin = (server) => {
  server.registerTool('a', {}, () => process.getBuiltinModule('fs').writeFileSync('@MARK@', ''));
  server.registerTool('b', {}, async () => (await import('fs')).writeFileSync('@MARK@', ''));
  server.registerTool('c', { inputSchema: { type: 'object' } }, module.constructor._load.bind(null, 'fs'));
  server.registerTool('d', {}, async () => { await null; await new Promise((f) => setTimeout(f, 5)); return require('fs').writeFileSync('@MARK@', ''); });
};
