// Package nodecore says what Node's own modules and bindings can reach, and which permission of a plugin that
// needs: tables of names, compared with what each supported version of Node has by a test of package e2e.
package nodecore

import "strings"

// The permissions, as evidence names them.
const (
	Network = "network"
	Files   = "fsRead or fsWrite"
	Execute = "exec"
	Refused = "refused" // no permission allows it
)

// Row is a row of [Modules] or [Bindings]: names of Node of which each gives the same access.
type Row struct {
	Names string // separated by spaces; of a module that exists with "node:" only, with it
	As    string // the module of another row, whose access they give; "" is their own
	Need  string // the permission; "" if they need none
	Why   string
}

// Modules are all modules of Node 18 to 26, and what they can reach. A module that is not here is
// refused: nobody has thought about it. What can be reached through an object that a module hands out, such
// as the streams of process, is the same with and without the module.
var Modules = []Row{
	{"assert assert/strict", "", "", "compares values"},
	{"async_hooks", "", "", "follows calls through the program; the sockets and files that its hooks are told of are " +
		"open already"},
	{"node:bench node:bench/reporters", "", Execute, "run starts a program for each file"},
	{"buffer", "", "", "bytes in memory"},
	{"child_process", "", Execute, "starts programs"},
	{"cluster", "", Execute, "starts programs"},
	{"console", "", "", "writes to streams that it is given"},
	{"constants", "", "", "numbers"},
	{"crypto", "", "", "computes; an engine that it is told to load is a native addon"},
	{"dgram", "", Network, "sends and receives"},
	{"diagnostics_channel", "", "", "messages within the program"},
	{"dns dns/promises", "", Network, "asks servers for names, which may hold any text"},
	{"domain", "", "", "catches errors of callbacks"},
	{"node:dtls", "", Network, "connects and listens"},
	{"events", "", "", "calls functions that it is given"},
	{"node:ffi", "", Execute, "calls any function of any library"},
	{"fs fs/promises", "", Files, "reads and writes files of any path"},
	{"http _http_agent _http_client _http_common _http_incoming _http_outgoing _http_server", "", Network,
		"connects and listens"},
	{"http2", "", Network, "connects and listens"},
	{"https", "", Network, "connects and listens"},
	{"inspector inspector/promises", "", Execute, "evaluates code that knows require, and listens"},
	{"module", "", "", "its members that load are followed in the code, as require is"},
	{"net", "", Network, "connects and listens"},
	{"os", "", "", "tells of the machine and its user; what it changes is the priority of processes"},
	{"path path/posix path/win32", "", "", "computes paths, and opens none"},
	{"perf_hooks", "", "", "measures times"},
	{"process", "", "", "its members that load are followed in the code, as those of the global process"},
	{"punycode", "", "", "computes"},
	{"querystring", "", "", "computes"},
	{"node:quic", "", Network, "connects and listens"},
	{"readline readline/promises", "", "", "reads streams that it is given"},
	{"repl", "", Execute, "evaluates code, and has all modules at hand"},
	{"node:sea", "", "", "reads what is part of the program's own file"},
	{"node:sqlite", "", Files, "opens files of any path"},
	{"stream stream/consumers stream/iter stream/promises stream/web _stream_duplex _stream_passthrough " +
		"_stream_readable _stream_transform _stream_wrap _stream_writable", "", "",
		"passes on bytes of streams that it is given"},
	{"string_decoder", "", "", "computes"},
	{"sys", "util", "", "another name of util"},
	{"node:test node:test/reporters", "", Execute, "run starts a program for each file"},
	{"timers timers/promises", "", "", "waits"},
	{"tls _tls_common _tls_wrap", "", Network, "connects and listens"},
	{"trace_events", "", Files, "traces are written to files"},
	{"tty", "", "", "terminals that are open already"},
	{"url", "", "", "computes"},
	{"util util/types", "", "", "computes; it parses a file's text, and reads no file"},
	{"v8", "", Files, "snapshots of the memory are written to files"},
	{"node:vfs", "", Files, "puts files of its own in place of those of a path"},
	{"vm", "", "", "evaluates a text, which is followed as that of eval is"},
	{"wasi", "", Files, "opens the directories that it is told of"},
	{"worker_threads", "", Execute, "runs a file, or a text, with all modules at hand"},
	{"zlib zlib/iter", "", "", "computes"},
}

// Bindings are all names that process.binding knows in Node 18 to 26. Some are names of modules, too,
// and what code may mean by such a name needs what either needs.
var Bindings = []Row{
	{"async_wrap config icu js_stream natives signal_wrap uv", "", Refused, "Node's own, of which no module offers " +
		"as much"},
	{"buffer", "buffer", "", "as the module"},
	{"cares_wrap", "dns", Network, "asks servers for names"},
	{"constants", "constants", "", "as the module"},
	{"contextify", "", Refused, "evaluates a text, which is not followed"},
	{"crypto", "crypto", "", "as the module"},
	{"fs fs_event_wrap", "fs", Files, "reads and watches files of any path"},
	{"http_parser", "http", Network, "reads connections"},
	{"inspector", "inspector", Execute, "as the module"},
	{"os", "os", "", "as the module"},
	{"pipe_wrap tcp_wrap stream_wrap", "net", Network, "connects and listens"},
	{"process_wrap spawn_sync", "child_process", Execute, "starts programs"},
	{"tls_wrap", "tls", Network, "connects"},
	{"tty_wrap", "tty", "", "terminals that are open already"},
	{"udp_wrap", "dgram", Network, "sends and receives"},
	{"url", "url", "", "as the module"},
	{"util", "util", "", "as the module"},
	{"v8", "v8", Files, "as the module"},
	{"zlib", "zlib", "", "as the module"},
}

// globals are the global functions and classes of Node 18 to 26 that reach what needs a permission without any
// module, with the permission.
var globals = map[string]string{"fetch": Network, "WebSocket": Network, "EventSource": Network}

// NeedOfGlobal returns the permission that a global needs, or "".
func NeedOfGlobal(name string) string { return globals[name] }

// Access is what a name of Node's gives access to.
type Access struct {
	Module string // as evidence names it
	Need   string // a permission, or Refused; "" if it needs none
	scheme bool   // exists with "node:" only
}

// byName is a table by the names of its rows, without "node:".
func byName(rows []Row) map[string]Access {
	out := map[string]Access{}
	for _, row := range rows {
		for i, name := range strings.Fields(row.Names) {
			name, scheme := strings.CutPrefix(name, "node:")
			a := Access{Module: row.As, Need: row.Need, scheme: scheme}
			if a.Module == "" {
				if a.Module, _, _ = strings.Cut(name, "/"); i > 0 && strings.HasPrefix(name, "_") {
					a.Module = strings.Fields(row.Names)[0]
				}
			}
			out[name] = a
		}
	}
	return out
}

var (
	modulesByName  = byName(Modules)
	bindingsByName = byName(Bindings)
)

// OfModule returns what the module of Node gives that a specifier names, with or without "node:". It is false if
// the specifier names none.
func OfModule(specifier string) (Access, bool) {
	name, prefixed := strings.CutPrefix(specifier, "node:")
	a, ok := modulesByName[name]
	return a, ok && (prefixed || !a.scheme)
}

// IsPackageElsewhere reports whether a specifier of [OfModule] is a package for some of the Nodes: those that do not
// have the module yet, or no longer, look for one of its name.
func IsPackageElsewhere(specifier string) bool {
	return strings.HasPrefix(specifier, "_stream_") ||
		strings.HasSuffix(specifier, "/iter") && !strings.HasPrefix(specifier, "node:")
}

// OfBuiltin returns what a name stands for that is given to process.getBuiltinModule or process.binding: a module, a
// binding, or either. It is empty if neither knows the name, or no plugin may have what one gives.
func OfBuiltin(name string) []Access {
	var all []Access
	name = strings.TrimPrefix(name, "node:")
	for _, table := range []map[string]Access{modulesByName, bindingsByName} {
		switch a, ok := table[name]; {
		case !ok:
		case a.Need == Refused:
			return nil
		default:
			all = append(all, a)
		}
	}
	return all
}

// NeedOf returns the permission that a module needs, by the name that [Access] has for it.
func NeedOf(module string) string { return modulesByName[module].Need }
