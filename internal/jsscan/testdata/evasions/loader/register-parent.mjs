// Registers hooks by a relative name, whose parent is a data: URL.
import * as m from 'node:module';
export async function createPlugin() {
  const code = "import{writeFileSync as w}from'node:fs';w('@MARK@','');export const resolve=(s,c,n)=>n(s,c)";
  m.register('data:text/javascript,' + encodeURIComponent(code), { parentURL: 'data:,', data: 1 });
}
