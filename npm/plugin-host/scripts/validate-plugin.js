#!/usr/bin/env node
// Computes and verifies a plugin's dist.hash: 'hallmark plugin validate', and with --write 'hallmark plugin hash
// --write' first. The guide's readers look for it under this name.
import { asksHelp, positionals, runHallmark, USAGE } from './hallmark.js';

const script = 'validate-plugin';
const help = `Usage: ${script} DIR|ZIP [--write] [--profile NAME] [--json]

Compute dist.hash of a plugin, print it, and compare it with the manifest's.

  --write         write hash, counts and checksums into mcp-plugin.json first ('hallmark plugin hash --write')
  --profile NAME  with --write: hash under this profile
  --json          print the result as JSON

Without --write it runs 'hallmark plugin validate', to which other flags are passed on. Exit code: 0, or that of
hallmark: 3 integrityError, 2 validationError, 1 nothing was decided.`;

function main(args) {
  if (asksHelp(args)) {
    console.log(help);
    return 0;
  }
  const [plugin, ...more] = positionals(args, ['--profile']);
  if (plugin === undefined || more.length > 0) {
    console.error(`${script}: name one plugin\n\n${help}`);
    return USAGE;
  }
  if (!args.includes('--write')) return runHallmark(script, ['plugin', 'validate', ...args]);
  const code = runHallmark(script, ['plugin', 'hash', ...args]);
  return code !== 0 ? code : runHallmark(script, ['plugin', 'validate', '--', plugin], { quiet: true });
}

process.exitCode = main(process.argv.slice(2));
