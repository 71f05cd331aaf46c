package plugin

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Each module of Node that reaches the network, files or other programs needs a
// permission for that, under each of its names, and for nothing else.
func TestPermissions(t *testing.T) {
	const none, net, file, run = "", `"network":true`, `"fsRead":true`, `"exec":true`
	for specifier, need := range map[string]string{
		"path": none, "node:path/posix": none, "crypto": none, "sys": none, "string_decoder": none,
		"_stream_readable": none,
		"net":              net, "tls": net, "http": net, "https": net, "http2": net, "dns": net, "dgram": net,
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
	// What looks like a module of Node and is a package, or nothing.
	for _, specifier := range []string{"sqlite", "test", "quic", "ffi", "fs/other", "path/other", "process/browser",
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

// A name that is of a module and of a binding needs what either needs.
func TestBuiltinNames(t *testing.T) {
	for name, need := range map[string]string{
		"fs": files, "node:fs/promises": files, "fs_event_wrap": files, "v8": files, "sqlite": files, "node:sqlite": files,
		"net": network, "stream_wrap": network, "http_parser": network, "quic": network,
		"inspector": execute, "process_wrap": execute, "node:test": execute, "test": execute,
		"path": "", "util": "", "crypto": "", "zlib": "", "buffer": "", "tty_wrap": "", "node:os": "",
	} {
		found := builtinsOf(name)
		if len(found) == 0 {
			t.Errorf("%s is refused", name)
		}
		for _, b := range found {
			if b.need != need || modulesByName[b.module].need != need {
				t.Errorf("%s needs %q as %s", name, b.need, b.module)
			}
		}
	}
}

// The tables are in order, say why, and are consistent: evidence looks the permission up by the module.
func TestCoreTables(t *testing.T) {
	for _, rows := range [][]coreModule{coreModules, coreBindings} {
		seen, before := map[string]bool{}, ""
		for _, row := range rows {
			first := strings.TrimPrefix(strings.Fields(row.names)[0], "node:")
			if first < before {
				t.Errorf("%s stands after %s", first, before)
			}
			before = first
			if row.why == "" || strings.HasSuffix(row.why, ".") {
				t.Errorf("%s: %q is no reason", row.names, row.why)
			}
			if !slices.Contains([]string{"", network, files, execute, refused}, row.need) {
				t.Errorf("%s needs %q", row.names, row.need)
			}
			for _, name := range strings.Fields(row.names) {
				if name = strings.TrimPrefix(name, "node:"); seen[name] {
					t.Errorf("%s stands twice", name)
				}
				seen[name] = true
			}
			if of, ok := modulesByName[row.as]; row.as != "" && (!ok || of.need != row.need) {
				t.Errorf("%s is not as %s", row.names, row.as)
			}
		}
	}
}

// The table in docs/plugin-host.md is this one.
func TestCoreDocs(t *testing.T) {
	var want strings.Builder
	want.WriteString("| core modules | permission | why |\n|---|---|---|\n")
	row := func(names, need, why string) {
		if need == "" {
			need = "–"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", strings.ReplaceAll(names, " ", "` `"), need, why)
	}
	for _, r := range coreModules {
		row(r.names, r.need, r.why)
	}
	want.WriteString("\n| names of `process.binding` | permission | why |\n|---|---|---|\n")
	for _, r := range coreBindings {
		row(r.names, r.need, r.why)
	}
	data, err := os.ReadFile("../docs/plugin-host.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "\n"+want.String()) {
		t.Errorf("docs/plugin-host.md lacks the table:\n%s", want.String())
	}
}
