package hashfile

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestRoots uses the Go SDK's client in every protocol version, with and without roots,
// with and without --root, and changes the roots.
func TestRoots(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths as file URIs")
	}
	versions := mcp.SupportedProtocolVersions()
	if len(versions) < 5 || !slices.Contains(versions, "2026-07-28") {
		t.Fatalf("%q", versions)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			base := dir(t)
			for _, name := range []string{"a", "b", "a_evil", "a/sub"} {
				write(t, base, name+"/f", "text\n")
			}
			a, b, sub := filepath.Join(base, "a"), filepath.Join(base, "b"), filepath.Join(base, "a/sub")
			can := func(p *peer, allowed ...string) {
				t.Helper()
				for _, d := range []string{a, b, sub, filepath.Join(base, "a_evil")} {
					code := "outside_roots"
					if slices.ContainsFunc(allowed, func(root string) bool {
						_, ok := place.CutDir(root, d)
						return ok
					}) {
						code = ""
					}
					if r := p.read(filepath.Join(d, "f")); r.Error != code {
						t.Errorf("%s: %q %s, want %q", d, r.Error, r.Text, code)
					}
				}
				r := p.list()
				if got := r.directories(); len(got) != len(allowed) {
					t.Errorf("directories %v, want %q", got, allowed)
				}
			}
			// Neither.
			none, _ := connect(t, Config{}, version, nil)
			can(none)
			none.read(a + "/f").says("--root")
			// --root alone.
			flags, _ := connect(t, Config{Roots: []string{a}}, version, nil)
			can(flags, a)
			// Roots alone grant.
			only, client := connect(t, Config{}, version, []string{a})
			can(only, a)
			change := func(p *peer, f func(), allowed ...string) {
				t.Helper()
				f()
				// The notification travels beside the calls.
				for end := time.Now().Add(hang.Long); time.Now().Before(end); time.Sleep(time.Millisecond) {
					r := p.list()
					if got := r.directories(); len(got) == len(allowed) &&
						(len(got) == 0 || got[0] == allowed[0]) {
						break
					}
				}
				can(p, allowed...)
			}
			change(only, func() { client.AddRoots(&mcp.Root{URI: "file://" + b}) }, a, b)
			change(only, func() { client.RemoveRoots("file://" + a) }, b)
			change(only, func() { client.RemoveRoots("file://" + b) })
			// Roots narrow --root, and widen nothing.
			both, client := connect(t, Config{Roots: []string{a}}, version, []string{sub, b})
			can(both, sub)
			change(both, func() { client.AddRoots(&mcp.Root{URI: "file://" + base}) }, a)
			change(both, func() { client.RemoveRoots("file://"+base, "file://"+sub) })
			// What is no directory here is left out.
			odd, _ := connect(t, Config{Roots: []string{a}}, version, []string{"/none", "//elsewhere" + a, a + "/f%00"})
			can(odd)
		})
	}
}
