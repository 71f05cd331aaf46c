// Imports a name that is put together.
export async function createPlugin() {
  const fs = await import(['node:', 'fs'].join(''));
  fs.writeFileSync('@MARK@', '');
}
