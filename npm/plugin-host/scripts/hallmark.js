// What the scripts share: the program hallmark, found outside of the checkout, and run in their place.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as system } from 'node:os';
import { delimiter, isAbsolute, join, sep } from 'node:path';

// NOTHING_DECIDED, USAGE are exit codes of hallmark.
export const NOTHING_DECIDED = 1;
export const USAGE = 2;

/**
 * Returns the path of hallmark: $HALLMARK, or the first in PATH; undefined if there is none. A relative entry
 * of PATH, or node_modules/.bin, which npm puts there, is part of the checkout that is being checked.
 */
export function findHallmark(env = process.env) {
  if (env.HALLMARK) return env.HALLMARK;
  const names = process.platform === 'win32' ? ['hallmark.exe'] : ['hallmark'];
  for (const dir of (env.PATH ?? env.Path ?? '').split(delimiter)) {
    if (!isAbsolute(dir) || dir.split(sep).includes('node_modules')) continue;
    for (const name of names) {
      const path = join(dir, name);
      try {
        accessSync(path, constants.X_OK);
        if (statSync(path).isFile()) return path;
      } catch {
        // the next one
      }
    }
  }
  return undefined;
}

/** Runs hallmark with args and this process's terminal, and returns its exit code. */
export function runHallmark(script, args, { quiet = false } = {}) {
  const program = findHallmark();
  const missing = (why) => {
    console.error(`${script}: ${why}
  Install it with 'go install github.com/hallmark-mcp/hallmark/cmd/hallmark@VERSION', put it in PATH, or let the
  environment variable HALLMARK name its file. Nothing was checked.`);
    return NOTHING_DECIDED;
  };
  if (program === undefined) return missing('the program hallmark is not in PATH');
  const ended = spawnSync(program, args, { stdio: ['inherit', quiet ? 'ignore' : 'inherit', 'inherit'], windowsHide: true });
  if (ended.error) return missing(`hallmark cannot be started: ${ended.error.message}`);
  return ended.status ?? 128 + (system.signals[ended.signal] ?? 0);
}

/** Returns the arguments that are no flags, nor values of the flags that take one. */
export function positionals(args, takeValues) {
  const found = [];
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--') return [...found, ...args.slice(i + 1)];
    if (takeValues.includes(args[i])) i++;
    else if (!args[i].startsWith('-')) found.push(args[i]);
  }
  return found;
}

/** Reports whether help is asked for. */
export const asksHelp = (args) => args.includes('--help') || args.includes('-h');
