// Keeps what a plugin requires and imports at run time to what its manifest declares:
// tier 1. It runs in the plugin's own process and is no sandbox: code that is determined
// to get out of it can.
import Module, { builtinModules, register } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const needs = {
  network: ['net', 'tls', 'http', 'https', 'http2', 'dns', 'dgram', 'quic'],
  fs: ['fs', 'sqlite', 'wasi'],
  exec: ['child_process', 'worker_threads', 'cluster', 'ffi', 'inspector'],
};

// refusal says why a plugin must not reach what a specifier resolves to, or nothing.
export function refusal({ root, forbidden, packages }, specifier, resolved) {
  if (resolved.startsWith('node:') || builtinModules.includes(resolved)) {
    // _http_client, _tls_wrap and their like are http and tls under other names.
    const name = resolved.replace(/^node:/, '').split('/')[0].replace(/^_(http|tls)_.*/, '$1');
    return forbidden.includes(name) ? `node:${name} needs a permission that the manifest does not declare` : '';
  }
  const path = resolved.startsWith('file:') ? fileURLToPath(resolved) : resolved;
  if (path.startsWith(root + sep)) return '';
  const name = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  if (name === '@modelcontextprotocol/sdk' || packages.includes(name)) return '';
  return `${specifier} is not part of the plugin`;
}

// guard begins to watch the plugin in root.
export function guard(root, permissions, packages) {
  const forbidden = [
    ...(permissions.network ? [] : needs.network),
    ...(permissions.fsRead || permissions.fsWrite ? [] : needs.fs),
    ...(permissions.exec ? [] : needs.exec),
  ];
  const rules = { root, forbidden, packages };
  const load = Module._load;
  Module._load = function (request, parent, ...rest) {
    if (parent?.filename?.startsWith(root + sep)) {
      const why = refusal(rules, request, Module._resolveFilename(request, parent));
      if (why) throw Object.assign(new Error(why), { name: 'policyError', exitCode: 4 });
    }
    return load.call(this, request, parent, ...rest);
  };
  register('./resolve.mjs', import.meta.url, { data: { ...rules, rootURL: pathToFileURL(root + sep).href } });
}
