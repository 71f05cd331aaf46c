// Tries plugins that others published in each tier: they are loaded, a client lists what they offer and calls each tool
// without arguments, and they are unloaded and loaded again. Usage: node field.js DIR (with HALLMARK and PLUGIN_HOST_SDK)
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PluginHost } from '../src/index.js';

const dir = resolve(process.argv[2]);
const sdk = process.env.PLUGIN_HOST_SDK;
const plugins = readdirSync(dir).map((name) => join(dir, name));
const from = (path) => import(`${sdk}/dist/esm/${path}`);
const { McpServer } = await from('server/mcp.js');
const { Client } = await from('client/index.js');
const { InMemoryTransport } = await from('inMemory.js');

// answered says how a tool answers a call without arguments: with a result, or with what is wrong with the arguments.
async function answered(client, name) {
  const result = await client.callTool({ name, arguments: {} }, undefined, { timeout: 60_000 }).catch((e) => ({ failed: e.message }));
  const text = result.failed ?? result.content?.map((c) => c.text).join(' ') ?? '';
  if (result.failed !== undefined || /was ended|gave a result|no tool/.test(text)) throw new Error(`${name}: ${text}`);
  return result.isError === true ? 'refused' : 'answered';
}

let wrong = 0;
for (const tier of [1, 3]) {
  const host = new PluginHost({ tier, sdk, warn: () => {}, readable: [dir], writable: [] });
  const server = new McpServer({ name: 'field', version: '1' }), client = new Client({ name: 'field', version: '1' });
  for (const round of ['first', 'again']) {
    const { loaded, failed, skipped, stats } = await host.load(plugins, server);
    for (const f of [...failed, ...skipped]) console.error(`tier ${tier}: ${f.name}: ${f.error?.message ?? f.reason}`);
    wrong += failed.length + skipped.length;
    if (round === 'first') {
      const [a, b] = InMemoryTransport.createLinkedPair();
      await Promise.all([server.connect(a), client.connect(b)]);
    }
    const tools = stats.toolsRegistered ? (await client.listTools()).tools : [];
    const prompts = stats.promptsRegistered ? (await client.listPrompts()).prompts : [];
    if (tools.length !== stats.toolsRegistered || prompts.length !== stats.promptsRegistered) throw new Error('not all that was registered is listed');
    const counts = { answered: 0, refused: 0 };
    for (const { name } of tools) counts[await answered(client, name)]++;
    console.log(`Node ${process.versions.node}, tier ${tier}, ${round}: ${loaded.length} of ${plugins.length} plugins, ${tools.length} tools (${counts.answered} answered, ${counts.refused} refused their arguments or failed), ${prompts.length} prompts`);
    for (const { name } of loaded.reverse()) await host.unload(name);
    if (stats.toolsRegistered && (await client.listTools()).tools.length > 0) throw new Error('tools are listed that were unloaded');
  }
  await client.close();
  await host.close();
}
process.exitCode = wrong > 0 ? 1 : 0;
