package plugin

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Each module of Node that reaches the network, files or other programs needs a
// permission for that, under each of its names, and for nothing else.
func TestPermissions(t *testing.T) {
	const none, net, file, run = "", `"network":true`, `"fsRead":true`, `"exec":true`
	for specifier, need := range map[string]string{
		"path": none, "node:path/posix": none, "crypto": none, "sys": none, "string_decoder": none,
		"node:_stream_readable": none,
		"net":                   net, "tls": net, "http": net, "https": net, "http2": net, "dns": net, "dgram": net,
		"node:net": net, "dns/promises": net, "node:quic": net, "_http_client": net, "_tls_wrap": net,
		"node:_http_agent": net,
		"fs":               file, "node:fs": file, "fs/promises": file, "node:fs/promises": file, "node:sqlite": file,
		"v8": file, "node:trace_events": file, "wasi": file,
		"child_process": run, "worker_threads": run, "cluster": run, "node:cluster": run, "node:ffi": run,
		"inspector": run, "node:test": run, "node:test/reporters": run, "repl": run, "node:repl": run,
		"node:inspector/promises": run,
	} {
		for _, has := range []string{none, net, file, `"fsWrite":true`, run} {
			b, m := bundle(t, `"permissions":{`+has+`}`, map[string]string{"dist/index.js": "require " + specifier})
			r, err := Check(t.Context(), b, m, Host{Scan: scanLines})
			want := evidence.OK
			if need != none && need != has && !(need == file && has == `"fsWrite":true`) {
				want = evidence.Refused
			}
			if err != nil || r.Verdict.Class() != want {
				t.Errorf("%s with {%s}: %v, %v", specifier, has, r.Verdict.Err(), err)
			}
		}
	}
	// What looks like a module of Node and is a package, to some Nodes at least, or nothing.
	for _, specifier := range []string{"sqlite", "test", "quic", "ffi", "_stream_wrap", "stream/iter", "fs/other", "path/other", "process/browser",
		"node:unknown", "node:", "NODE:fs", "FS"} {
		b, m := bundle(t, ``, map[string]string{"dist/index.js": "require " + specifier})
		if r, err := Check(t.Context(), b, m, Host{Scan: scanLines}); err != nil ||
			r.Verdict.Class() != evidence.Refused {
			t.Errorf("%s: %v, %v", specifier, r.Verdict.Err(), err)
		}
	}
}

// What Node does not know, or what no plugin may have, is refused, whatever is declared.
func TestUnknownBuiltins(t *testing.T) {
	const all = `"permissions":{"network":true,"fsRead":true,"fsWrite":true,"exec":true}`
	for _, line := range []string{"require node:unknown", "require node:fs/other", "require node:path/other",
		"require node:internal/fs", "require node:sys/x", "import node:test/x", "require node:_stream_other",
		"builtin#module unknown", "builtin#module node:unknown", "builtin#module internal/fs", "builtin#module contextify",
		"builtin#module natives", "builtin#module fs/other", "builtin#module js_stream"} {
		b, m := bundle(t, all, map[string]string{"dist/index.js": line})
		if r, err := Check(t.Context(), b, m, Host{Scan: scanLines}); err != nil ||
			r.Verdict.Class() != evidence.Refused {
			t.Errorf("%s: %v, %v", line, r.Verdict.Err(), err)
		}
	}
}
