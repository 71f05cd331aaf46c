// The same loader with its steps replaced: loadPlugin(rootDir, server) → {captured}, as before.
import { PluginHost } from 'hallmark-plugin-host';

const host = new PluginHost();
process.once('beforeExit', () => host.close());

export async function loadPlugin(rootDir, server) {
  const { loaded, skipped, failed } = await host.load(rootDir, server);
  if (failed.length > 0) throw failed[0].error;
  if (skipped.length > 0) throw new Error(`${skipped[0].name}: ${skipped[0].reason}`);
  const { captured } = host.session(loaded[0].name);
  return { captured: captured.map(({ method, name, args }) => ({ method, name, args })) };
}
