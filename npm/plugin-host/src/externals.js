// Packages that a plugin does not bundle: the host's SDK, and external ones at their declared versions.
import { readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PolicyError, ValidationError } from './errors.js';
import { visible } from './gate.js';
import { sdkName } from './rules.js';

async function versionIn(dir) {
  try {
    return JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

/** findSDK returns the directory of the SDK: the one that was named, or what the main script of the process would get. */
export async function findSDK(named) {
  if (named !== undefined) {
    if (await versionIn(named) === undefined) throw new ValidationError(`${named} is no ${sdkName}: it has no package.json`);
    return realpath(named);
  }
  for (const start of [process.argv[1] && dirname(process.argv[1]), process.cwd()]) {
    if (!start) continue;
    let from = await realpath(start).catch(() => start);
    for (let up = ''; from !== up; up = from, from = dirname(from)) {
      const dir = join(from, 'node_modules', ...sdkName.split('/'));
      if (await versionIn(dir) !== undefined) return realpath(dir);
    }
  }
  return undefined;
}

/**
 * findExternals returns where a plugin's external packages lie, what is wrong with optional ones, and a warning
 * where there is one. The private copy at root has node_modules where the plugin's lock says what lies
 * there; otherwise they come from node_modules beside the plugin, for which nobody vouches.
 */
export async function findExternals(path, root, manifest, rules) {
  const externals = new Map(), problems = new Map();
  const copied = await realpath(join(root, 'node_modules')).catch(() => undefined);
  const modules = copied ?? join(path, 'node_modules');
  const install = `hallmark plugin install ${JSON.stringify(path)} --allow-runtime-deps`;
  for (const { name, version, optional } of manifest.externalDependencies ?? []) {
    if (!rules.packages.includes(name)) continue;
    const found = await versionIn(join(modules, ...name.split('/')));
    if (found === version) {
      externals.set(name, join(await realpath(modules), ...name.split('/')));
      continue;
    }
    const problem = visible(found === undefined ? `the external package ${name}@${version} is not installed: run '${install}'`
      : `the external package ${name}@${version} is declared, and ${found} is installed: run '${install}'`);
    if (!optional) throw new PolicyError(problem, { plugin: manifest.name, hint: install });
    problems.set(name, { problem, absent: found === undefined });
  }
  const warning = copied === undefined && externals.size > 0
    ? visible(`external packages are loaded from ${modules}, of which no lock says what lies there: run '${install}', and load what it installed`) : undefined;
  return { externals, problems, warning };
}
