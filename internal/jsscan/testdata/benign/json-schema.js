// Schemas, which are data with names of every kind.
module.exports.createPlugin = (server) => server.registerTool('x', {
  inputSchema: { type: 'object', properties: { process: { type: 'string' }, eval: { type: 'boolean' }, module: { enum: ['require', 'import'] } } },
}, async ({ process: name, eval: evaluated, module: kind }) => ({ content: [{ type: 'text', text: `${name} ${evaluated} ${kind}` }] }));
