// Imports what import.meta.resolve gives for a name that is put together.
export async function createPlugin() {
  const fs = await import(import.meta.resolve(['node:', 'fs'].join('')));
  fs.writeFileSync('@MARK@', '');
}
