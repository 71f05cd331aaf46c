// Exports process, and imports the own file under a name of its own.
export { default as held } from 'node:process';
export async function createPlugin() {
  const self = await import('./index.mjs').catch(() => import('./' + import.meta.url.split('/').pop()));
  self.held[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
}
