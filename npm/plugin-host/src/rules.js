// What a plugin may reach. Hallmark decides whether a plugin is loaded; here stands what it
// may do once it is.

/** sdkName is the package that every host provides. */
export const sdkName = '@modelcontextprotocol/sdk';

/**
 * rulesOf is what the plugin with a manifest may reach under a host's flags. Packages are
 * the external ones: declared, and permitted by the host.
 */
export function rulesOf(manifest, flags = {}) {
  const p = manifest.permissions ?? {};
  const externals = manifest.externalDependencies ?? [];
  const external = flags.PLUGIN_ALLOW_RUNTIME_DEPS === true && (manifest.dependenciesPolicy ?? 'bundled-only') !== 'bundled-only';
  return {
    network: p.network === true,
    fsRead: p.fsRead === true,
    fsWrite: p.fsWrite === true,
    exec: p.exec === true,
    native: flags.PLUGIN_ALLOW_NATIVE === true && flags.SANDBOX_AVAILABLE === true,
    packages: external ? externals.map((e) => e.name) : [],
  };
}

// needs maps modules of Node to the permission that they need. What is not named here needs
// none; functions that need one although their module does not are listed in guard.js.
const needs = {
  __proto__: null,
  net: 'network', tls: 'network', http: 'network', https: 'network', http2: 'network', dns: 'network',
  dgram: 'network', quic: 'network', _tls_common: 'network', _tls_wrap: 'network', _http_agent: 'network',
  _http_client: 'network', _http_common: 'network', _http_incoming: 'network', _http_outgoing: 'network',
  _http_server: 'network',
  fs: 'files', sqlite: 'files', wasi: 'files', trace_events: 'files', v8: 'files',
  child_process: 'exec', worker_threads: 'exec', cluster: 'exec', ffi: 'exec', test: 'exec', repl: 'exec',
  inspector: 'exec',
};

// free are the modules that need nothing. A module that stands in neither list is one of a
// Node that is newer than this package: it is refused, as nobody has said what it reaches.
const free = new Set([
  'assert', 'async_hooks', 'buffer', 'console', 'constants', 'crypto', 'diagnostics_channel', 'domain', 'events',
  'module', 'os', 'path', 'perf_hooks', 'process', 'punycode', 'querystring', 'readline', 'sea', 'stream',
  'string_decoder', 'sys', 'timers', 'tty', 'url', 'util', 'vm', 'zlib', '_stream_duplex',
  '_stream_passthrough', '_stream_readable', '_stream_transform', '_stream_wrap', '_stream_writable',
]);
const hasFree = Set.prototype.has.bind(free);

/** may reports whether rules give a permission; 'files' is any of the two. */
export function may(rules, need) {
  switch (need) {
    case 'network': return rules.network;
    case 'fsRead': return rules.fsRead;
    case 'fsWrite': return rules.fsWrite;
    case 'files': return rules.fsRead || rules.fsWrite;
    case 'exec': return rules.exec;
    case 'native': return rules.native;
  }
  return need === '';
}

/** nameOf says what to write into a manifest for a permission. */
export function nameOf(need) {
  return need === 'files' ? 'permissions.fsRead or permissions.fsWrite' : `permissions.${need}`;
}

/**
 * refuseModule says why rules forbid a module of Node, named without 'node:', or ''.
 * It runs in the plugin's realm: it uses no method that a plugin could replace.
 */
export function refuseModule(rules, name) {
  let module = '';
  for (let i = 0; i < name.length && name[i] !== '/'; i++) module += name[i];
  const need = needs[module];
  if (need === undefined) {
    return hasFree(module) ? '' : `node:${module} is not known to this host`;
  }
  return may(rules, need) ? '' : `node:${module} needs a permission that the manifest does not declare: ${nameOf(need)}`;
}
