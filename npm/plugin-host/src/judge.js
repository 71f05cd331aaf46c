// Whether a file of a plugin may import what a specifier was resolved to: the guide's allowlist of imports. No
// state and no I/O, as hooks in a thread judge by it too.
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { PolicyError } from './errors.js';
import { refuseModule } from './rules.js';

/**
 * A subject is what is judged by: {name, root, modules, declared, sdk, rules}. Directories end in a separator: modules,
 * where the plugin's external packages are, and sdk may be ''; declared are the packages among the former that the plugin has.
 */
export function owns(subject, path) {
  return path.startsWith(subject.root) || inModules(subject, path);
}

const inModules = (subject, path) => subject.modules !== '' && path.startsWith(subject.modules);

/** pathOf returns the file that a file: URL or a path names, or '' if it is neither. */
export function pathOf(place) {
  if (typeof place !== 'string') return '';
  if (!place.startsWith('file:')) return place;
  try {
    return fileURLToPath(place);
  } catch {
    return '';
  }
}

// refuse says why a file of a plugin, parent, must not load what a specifier was resolved to, or ''.
function refuse(subject, specifier, resolved, parent) {
  if (isBuiltin(resolved)) return refuseModule(subject.rules, resolved.replace(/^node:/, ''));
  const path = pathOf(resolved);
  if (path.endsWith('.node')) return `${specifier} is a native addon: it needs tier 3 and PLUGIN_ALLOW_NATIVE`;
  // What is beside an external package is there for that package.
  if (inModules(subject, path) && !inModules(subject, parent) && !subject.declared.some((dir) => path.startsWith(dir))) {
    return `${specifier} is not a package that the manifest declares`;
  }
  if (owns(subject, path) || (subject.sdk !== '' && path.startsWith(subject.sdk))) return '';
  return `${specifier} is not part of the plugin`;
}

/** judge throws unless a file of a plugin, parent, may load what a specifier was resolved to: a path, a URL or a module of Node. */
export function judge(subject, specifier, resolved, parent) {
  const why = refuse(subject, specifier, resolved, parent);
  if (why !== '') throw new PolicyError(why, { plugin: subject.name });
}
