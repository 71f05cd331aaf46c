package scan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
)

// An entry of the user's that starts what the project locks, without Hallmark, is said to, and
// is never called guarded; another one is the user's business.
func TestUsersEntryOfALockedServer(t *testing.T) {
	b := newScanBench(t)
	say := b.file("src/project/say", "say", 0o755)
	for _, c := range []struct {
		entry entry
		want  string // the server
	}{
		{entry{"command": say, "args": []string{}}, "say"},
		{entry{"command": "./say"}, "say"}, // wherever its client starts it
		{entry{"command": filepath.Join(b.project, ".", "..", "project", "say"), "env": map[string]string{"A": "b"}},
			"say"},
		{entry{"command": say, "disabled": true}, ""},
		{entry{"command": say, "args": []string{"--other"}}, ""},
		{entry{"command": filepath.Join(b.root, "say")}, ""},
		{entry{"url": "https://example.com/mcp"}, ""},
		{entry{"command": "hallmark", "args": []string{"run", "say", "--project", b.project}}, ""},
	} {
		found := b.scan(map[string]entry{"x": c.entry}, "home/.cursor/mcp.json")
		s := found.Servers[0]
		got := slices.ContainsFunc(found.Rules, func(f policy.Finding) bool {
			return f.Evidence.Rule == launcher.RuleAround && f.Warning &&
				strings.Contains(f.Evidence.Reason, `"`+c.want+`" of hallmark.toml`) &&
				strings.Contains(f.Evidence.Fix, "--project")
		})
		if got != (c.want != "") || got && (s.Guarded || found.Verdict.Err() != nil) {
			t.Errorf("%v: %v, guarded %v, %+v", c.entry, got, s.Guarded, found.Rules)
		}
	}
	b.o.Dir = filepath.Join(b.root, "src")
	if found := b.scan(map[string]entry{"x": {"command": say}}, "home/.cursor/mcp.json"); len(found.Rules) != 0 {
		t.Errorf("outside of the project: %+v", found.Rules)
	}
}
