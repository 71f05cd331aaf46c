#!/usr/bin/env node
// npx hallmark-plugin-host validate-plugin|quality-gate-packaging …
const scripts = ['validate-plugin', 'quality-gate-packaging'];
const help = `Usage: hallmark-plugin-host ${scripts.join('|')} [arguments]

'hallmark-plugin-host SCRIPT --help' says more.`;
const [script] = process.argv.splice(2, 1);
if (scripts.includes(script)) {
  await import(`./${script}.js`);
} else if (script === '--help' || script === '-h') {
  console.log(help);
} else {
  console.error(help);
  process.exitCode = 2;
}
