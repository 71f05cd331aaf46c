// What a plugin may reach. Hallmark decides whether a plugin is loaded; this is what it may do once it is.

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

// needs maps modules of Node to the permission that they need.
const needs = {
  __proto__: null,
  net: 'network', tls: 'network', http: 'network', https: 'network', http2: 'network', dns: 'network',
  dgram: 'network', dtls: 'network', quic: 'network', _tls_common: 'network', _tls_wrap: 'network', _http_agent: 'network',
  _http_client: 'network', _http_common: 'network', _http_incoming: 'network', _http_outgoing: 'network',
  _http_server: 'network',
  fs: 'files', vfs: 'files', sqlite: 'files', wasi: 'files', trace_events: 'files', v8: 'files',
  child_process: 'exec', worker_threads: 'exec', cluster: 'exec', bench: 'exec', ffi: 'exec', test: 'exec', repl: 'exec',
  inspector: 'exec',
};

/** restricted are the modules that need a permission. */
export const restricted = Object.keys(needs);

// free are the modules that need nothing. A module in neither list is one of a
// Node that is newer than this package: it is refused, as nobody has said what it reaches.
const free = new Set([
  'assert', 'async_hooks', 'buffer', 'console', 'constants', 'crypto', 'diagnostics_channel', 'domain', 'events',
  'module', 'os', 'path', 'perf_hooks', 'process', 'punycode', 'querystring', 'readline', 'sea', 'stream',
  'string_decoder', 'sys', 'timers', 'tty', 'url', 'util', 'vm', 'zlib', '_stream_duplex',
  '_stream_passthrough', '_stream_readable', '_stream_transform', '_stream_wrap', '_stream_writable',
]);

// given reports whether rules give a permission; files is any of the two.
const given = (rules, need) => (need === 'files' ? rules.fsRead || rules.fsWrite : rules[need]);

/** refuseModule says why rules forbid a module of Node, named without 'node:', or ''. */
export function refuseModule(rules, name) {
  const [module] = name.split('/');
  const need = needs[module];
  if (need === undefined) return free.has(module) ? '' : `node:${module} is not known to this host`;
  if (given(rules, need)) return '';
  return `node:${module} needs a permission that the manifest does not declare: ${need === 'files' ? 'permissions.fsRead or permissions.fsWrite' : `permissions.${need}`}`;
}
