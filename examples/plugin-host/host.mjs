// A host that offers plugins to its client, over standard input and output.
//
//   node host.mjs PLUGIN...
//
// Each plugin is checked by hallmark and loaded from a private copy of what was checked: in this process if a key that
// you trust signed it, else in a process of its own. Without a plugin that fails the others are offered; without any, nothing.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { PluginHost } from 'hallmark-plugin-host';

const host = new PluginHost({ warn: console.error }); // flags come from the environment
const server = new McpServer({ name: 'plugin-host-example', version: '1.0.0' });
const { loaded, skipped, failed, timings } = await host.load(process.argv.slice(2), server);

for (const p of loaded) console.error(`loaded ${p.name}@${p.version}: ${[...p.tools, ...p.resources, ...p.prompts].join(' ')} (tier ${p.tier})`);
for (const p of skipped) console.error(`skipped ${p.name}: ${p.reason}`);
for (const { name, error } of failed) {
  console.error(`${name}: ${error.name}: ${error.message}`);
  if (error.hint) console.error(`  ${error.hint}`);
  process.exitCode = error.exitCode;
}
console.error(`in ${timings.totalMs} ms`);

process.once('beforeExit', () => host.close()); // when the client is gone, and each call is answered
if (loaded.length > 0) await server.connect(new StdioServerTransport());
