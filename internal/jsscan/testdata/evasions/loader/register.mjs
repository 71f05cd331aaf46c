// Registers hooks whose module is in the second argument's place.
import { register } from 'node:module';
export async function createPlugin() {
  const code = "import{writeFileSync as w}from'node:fs';w('@MARK@','');export const resolve=(s,c,n)=>n(s,c)";
  register(new URL('data:text/javascript,' + encodeURIComponent(code)), import.meta.url);
  await import('./' + import.meta.url.split('/').pop()).catch(() => {});
}
