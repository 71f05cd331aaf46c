package plugin

import "strings"

// SDK is the package that hosts provide.
const SDK = "@modelcontextprotocol/sdk"

// The permissions, as evidence names them.
const (
	network = "network"
	files   = "fsRead or fsWrite"
	execute = "exec"
	refused = "refused" // no permission allows it
)

// coreModule is a row of [coreModules]: modules of Node of which each gives the same access.
type coreModule struct {
	names string // separated by spaces; of a module that exists with "node:" only, with it
	as    string // the module of another row, whose access they give; "" is their own
	need  string // the permission; "" if they need none
	why   string
}

// coreModules are all modules of Node 18 to 25, and what they can reach. A module that is not here is
// refused: nobody has thought about it. What can be reached through an object that a module hands out, such
// as the streams of process, is the same with and without the module.
var coreModules = []coreModule{
	{"assert assert/strict", "", "", "compares values"},
	{"async_hooks", "", "", "follows calls through the program; the sockets and files that its hooks are told of are " +
		"open already"},
	{"buffer", "", "", "bytes in memory"},
	{"child_process", "", execute, "starts programs"},
	{"cluster", "", execute, "starts programs"},
	{"console", "", "", "writes to streams that it is given"},
	{"constants", "", "", "numbers"},
	{"crypto", "", "", "computes; an engine that it is told to load is a native addon"},
	{"dgram", "", network, "sends and receives"},
	{"diagnostics_channel", "", "", "messages within the program"},
	{"dns dns/promises", "", network, "asks servers for names, which may hold any text"},
	{"domain", "", "", "catches errors of callbacks; tier 1 refuses it when it runs, unless exec is declared"},
	{"events", "", "", "calls functions that it is given"},
	{"node:ffi", "", execute, "calls any function of any library"},
	{"fs fs/promises", "", files, "reads and writes files of any path"},
	{"http _http_agent _http_client _http_common _http_incoming _http_outgoing _http_server", "", network,
		"connects and listens"},
	{"http2", "", network, "connects and listens"},
	{"https", "", network, "connects and listens"},
	{"inspector inspector/promises", "", execute, "evaluates code that knows require, and listens"},
	{"module", "", "", "its members that load are followed in the code, as require is"},
	{"net", "", network, "connects and listens"},
	{"os", "", "", "tells of the machine and its user; what it changes is the priority of processes"},
	{"path path/posix path/win32", "", "", "computes paths, and opens none"},
	{"perf_hooks", "", "", "measures times"},
	{"process", "", "", "its members that load are followed in the code, as those of the global process"},
	{"punycode", "", "", "computes"},
	{"querystring", "", "", "computes"},
	{"node:quic", "", network, "connects and listens"},
	{"readline readline/promises", "", "", "reads streams that it is given"},
	{"repl", "", execute, "evaluates code, and has all modules at hand"},
	{"node:sea", "", "", "reads what is part of the program's own file"},
	{"node:sqlite", "", files, "opens files of any path"},
	{"stream stream/consumers stream/iter stream/promises stream/web _stream_duplex _stream_passthrough " +
		"_stream_readable _stream_transform _stream_wrap _stream_writable", "", "",
		"passes on bytes of streams that it is given"},
	{"string_decoder", "", "", "computes"},
	{"sys", "util", "", "another name of util"},
	{"node:test node:test/reporters", "", execute, "run starts a program for each file"},
	{"timers timers/promises", "", "", "waits"},
	{"tls _tls_common _tls_wrap", "", network, "connects and listens"},
	{"trace_events", "", files, "traces are written to files"},
	{"tty", "", "", "terminals that are open already"},
	{"url", "", "", "computes"},
	{"util util/types", "", "", "computes; it parses a file's text, and reads no file"},
	{"v8", "", files, "snapshots of the memory are written to files"},
	{"vm", "", "", "evaluates a text, which is followed as that of eval is"},
	{"wasi", "", files, "opens the directories that it is told of"},
	{"worker_threads", "", execute, "runs a file, or a text, with all modules at hand"},
	{"zlib zlib/iter", "", "", "computes"},
}

// coreBindings are all names that process.binding knows in Node 18 to 25. Some are names of modules, too,
// and what code may mean by such a name needs what either needs.
var coreBindings = []coreModule{
	{"async_wrap config icu js_stream natives signal_wrap uv", "", refused, "Node's own, of which no module offers as much"},
	{"buffer", "buffer", "", "as the module"},
	{"cares_wrap", "dns", network, "asks servers for names"},
	{"constants", "constants", "", "as the module"},
	{"contextify", "", refused, "evaluates a text, which is not followed"},
	{"crypto", "crypto", "", "as the module"},
	{"fs fs_event_wrap", "fs", files, "reads and watches files of any path"},
	{"http_parser", "http", network, "reads connections"},
	{"inspector", "inspector", execute, "as the module"},
	{"os", "os", "", "as the module"},
	{"pipe_wrap tcp_wrap stream_wrap", "net", network, "connects and listens"},
	{"process_wrap spawn_sync", "child_process", execute, "starts programs"},
	{"tls_wrap", "tls", network, "connects"},
	{"tty_wrap", "tty", "", "terminals that are open already"},
	{"udp_wrap", "dgram", network, "sends and receives"},
	{"url", "url", "", "as the module"},
	{"util", "util", "", "as the module"},
	{"v8", "v8", files, "as the module"},
	{"zlib", "zlib", "", "as the module"},
}

// builtin is what a name of Node's gives access to.
type builtin struct {
	module string // as evidence names it
	need   string // a permission, or refused
	scheme bool   // exists with "node:" only
}

// byName is a table by the names of its rows, without "node:".
func byName(rows []coreModule) map[string]builtin {
	out := map[string]builtin{}
	for _, row := range rows {
		for i, name := range strings.Fields(row.names) {
			name, scheme := strings.CutPrefix(name, "node:")
			b := builtin{module: row.as, need: row.need, scheme: scheme}
			if b.module == "" {
				if b.module, _, _ = strings.Cut(name, "/"); i > 0 && strings.HasPrefix(name, "_") {
					b.module = strings.Fields(row.names)[0]
				}
			}
			out[name] = b
		}
	}
	return out
}

var (
	modulesByName  = byName(coreModules)
	bindingsByName = byName(coreBindings)
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

// coreModuleOf returns the module of Node that a specifier names.
func coreModuleOf(specifier string) (builtin, bool) {
	name, prefixed := strings.CutPrefix(specifier, "node:")
	b, ok := modulesByName[name]
	return b, ok && (prefixed || !b.scheme)
}

// builtinsOf returns what a name stands for that is given to process.getBuiltinModule or process.binding: a module, a
// binding, or either. It is empty if neither knows the name, or no plugin may have what one gives.
func builtinsOf(name string) []builtin {
	var all []builtin
	name = strings.TrimPrefix(name, "node:")
	for _, table := range []map[string]builtin{modulesByName, bindingsByName} {
		switch b, ok := table[name]; {
		case !ok:
		case b.need == refused:
			return nil
		default:
			all = append(all, b)
		}
	}
	return all
}

// IsCore reports whether a specifier names a module of Node, which is looked for nowhere else.
func IsCore(specifier string) bool {
	_, ok := coreModuleOf(specifier)
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
