// Uses of the package's types; compiled by test/package.test.js.
import { IntegrityError, PluginError, PluginHost, rulesOf, type Manifest, type Session, type Summary, type Tier } from '../index.js';

const server = { registerTool(name: string, config: object, handler: (args: object) => Promise<object>) { return { name, config, handler }; } };

export async function use(manifest: Manifest): Promise<string[]> {
  const host = new PluginHost({
    flags: { REQUIRE_SIGNATURES: true }, strict: true, allowlist: 'allow.json', sdk: 'sdk', hallmark: 'hallmark', env: process(),
    tier: (plugin): Tier => (plugin.trusted && !plugin.rules.network ? 1 : 3), limits: { heapBytes: 1 }, warn: (message) => message.trim(),
  });
  const summary: Summary = await host.load(['a', 'b.zip'], server);
  await host.load('a');
  for (const { error } of summary.failed) {
    const failed: PluginError = error;
    if (failed instanceof IntegrityError || failed.name === 'policyError') failed.findings.map((f) => f.evidence.subject);
  }
  const session: Session | undefined = host.session('a');
  const answer = await session?.callTool('t', {});
  const revalidated: string = (await host.revalidate('plugins'))[0].version;
  const n: number = session?.captured.length ?? 0;
  await host.close();
  // @ts-expect-error: not a tier
  new PluginHost({ tier: 4 });
  // @ts-expect-error: not an option
  new PluginHost({ strictness: true });
  // @ts-expect-error: not a flag
  rulesOf(manifest, { STRICT: true });
  return [revalidated, String(n + summary.timings.totalMs + summary.stats.toolsRegistered), String(answer)];
}

declare function process(): Record<string, string | undefined>;
