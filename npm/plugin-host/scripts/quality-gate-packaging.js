#!/usr/bin/env node
// Scans plugins for imports that are not bundled, and all else that a host refuses: 'hallmark plugin gate'. The
// guide's readers look for it under this name.
import { asksHelp, positionals, runHallmark } from './hallmark.js';

const script = 'quality-gate-packaging';
const help = `Usage: ${script} [DIR|ZIP...] [flags of 'hallmark plugin gate']

Check plugins, or all plugins and zips below directories, for imports that are not bundled and for all else that a
host refuses. Without a directory: plugins.

  --json          print all results as JSON
  --sarif         print what was refused or warned about as SARIF 2.1.0
  --strict        accept only what is unambiguous and signed
  --allowlist F   allowed external packages
  --registered F  what the plugins registered

Exit code: 0, or that of hallmark: 3 integrityError, 5 signatureError, 4 policyError, 2 validationError, 1 nothing was
decided.`;

function main(args) {
  if (asksHelp(args)) {
    console.log(help);
    return 0;
  }
  const named = positionals(args, ['--allowlist', '--registered']);
  return runHallmark(script, ['plugin', 'gate', ...args, ...(named.length > 0 ? [] : ['plugins'])]);
}

process.exitCode = main(process.argv.slice(2));
