// Makes a require, under another name, for a name that is put together.
import * as m from 'node:module';
export function createPlugin() {
  const make = m[['create', 'Require'].join('')];
  make(import.meta.url)('fs').writeFileSync('@MARK@', '');
}
