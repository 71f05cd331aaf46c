package plugin

import "strings"

// SDK is the package that hosts provide.
const SDK = "@modelcontextprotocol/sdk"

// coreModules are the modules of Node that are imported by name, with or without
// "node:".
var coreModules = wordSet(`assert async_hooks buffer child_process cluster console constants crypto dgram
	diagnostics_channel dns domain events fs http http2 https inspector module net os path perf_hooks
	process punycode querystring readline repl stream string_decoder sys timers tls trace_events tty
	url util v8 vm wasi worker_threads zlib`)

// coreSubpaths are the subpaths of core modules. Others are of packages of the same
// name, such as process/browser.
var coreSubpaths = wordSet(`assert/strict dns/promises fs/promises inspector/promises path/posix path/win32
	readline/promises stream/consumers stream/promises stream/web timers/promises util/types`)

// nodeOnly are the modules of Node that exist with "node:" only.
var nodeOnly = wordSet("sea sqlite test ffi quic")

// undocumentedModules maps modules of Node without documentation to the documented ones that
// give the same access.
var undocumentedModules = map[string]string{
	"_http_agent": "http", "_http_client": "http", "_http_common": "http", "_http_incoming": "http",
	"_http_outgoing": "http", "_http_server": "http", "_tls_common": "tls", "_tls_wrap": "tls",
	"_stream_duplex": "stream", "_stream_passthrough": "stream", "_stream_readable": "stream",
	"_stream_transform": "stream", "_stream_wrap": "stream", "_stream_writable": "stream",
}

// bindings maps names that process.binding knows, and that are no modules, to the module that
// gives the same access.
var bindings = map[string]string{
	"cares_wrap": "dns", "contextify": "vm", "fs_event_wrap": "fs", "http_parser": "http", "pipe_wrap": "net",
	"process_wrap": "child_process", "spawn_sync": "child_process", "stream_wrap": "stream", "tcp_wrap": "net",
	"tls_wrap": "tls", "tty_wrap": "tty", "udp_wrap": "dgram",
}

// neededPermission maps a core module to the permission that it needs.
var neededPermission = map[string]string{
	"net": network, "tls": network, "http": network, "https": network, "http2": network, "dns": network,
	"dgram": network, "quic": network,
	"fs": files, "sqlite": files, "wasi": files, // the latter two open files of any path
	"child_process": execute, "worker_threads": execute, "cluster": execute, "ffi": execute,
	"test": execute, "repl": execute, // run starts a process for each file; a repl has all modules at hand
	"v8": files, "trace_events": files, // snapshots and traces are written to files
	"inspector": execute, // evaluates code that knows require, and listens
}

// The permissions, as evidence names them.
const (
	network = "network"
	files   = "fsRead or fsWrite"
	execute = "exec"
)

func (p Permissions) has(need string) bool {
	switch need {
	case network:
		return p.Network
	case files:
		return p.FSRead || p.FSWrite
	case execute:
		return p.Exec
	}
	return need == ""
}

// spellPermission is how a manifest declares a permission.
func spellPermission(need string) string {
	var out []string
	for name := range strings.SplitSeq(need, " or ") {
		out = append(out, `"permissions": {"`+name+`": true}`)
	}
	return strings.Join(out, " or ")
}

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// coreModule returns the module of Node that a specifier names.
func coreModule(specifier string) (module string, ok bool) {
	name, prefixed := strings.CutPrefix(specifier, "node:")
	module, _, _ = strings.Cut(name, "/")
	if other, ok := undocumentedModules[module]; ok {
		return other, true
	}
	if coreModules[module] {
		return module, prefixed || name == module || coreSubpaths[name]
	}
	return module, prefixed && nodeOnly[module]
}

// IsCore reports whether a specifier names a module of Node, which is looked for nowhere else.
func IsCore(specifier string) bool {
	_, ok := coreModule(specifier)
	return ok
}

// packageOf is the package that a bare specifier names: its first segment, or two of them
// if it has a scope.
func packageOf(specifier string) string {
	parts := strings.SplitN(specifier, "/", 3)
	if strings.HasPrefix(specifier, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
