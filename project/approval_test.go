package project

import (
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// A file of approvals that says that it is of version 1, and has what only later ones have, is
// refused: it would lose what a version 1 does not remember.
func TestOldApprovals(t *testing.T) {
	d := digest.FromBytes([]byte("x"))
	now := time.Unix(1e9, 0).UTC()
	entry := `"entry":"` + d.String() + `","path":"/bin","at":"2026-01-31T12:00:00Z"`
	read := func(text string) error {
		_, err := ParseApprovals([]byte(text), "/p")
		return err
	}
	if err := read(`{"approvals_version":1,"project":"/p","servers":{"a":{` + entry + `}}}`); err != nil {
		t.Errorf("version 1: %v", err)
	}
	for _, more := range []string{`"facet":"kit"`, `"log_key":"k"`, `"log_size":7`, `"witness_quorum":1`, `"witnesses":["w"]`, `"max_age":1`, `"extra_arguments":[["-x"]]`,
		`"launch":{"command":"x","arguments":[],"variables":[],"on_drift":"block"}`} {
		if err := read(`{"approvals_version":1,"project":"/p","servers":{"a":{` + entry + `,` + more + `}}}`); err == nil || !strings.Contains(err.Error(), "version 1 does not have") {
			t.Errorf("%s: %v", more, err)
		}
	}
	a := NewApprovals("/p")
	a.Unlocked["a"] = Approval{Entry: d, Path: "/bin", At: now}
	a.Facets["kit"] = AcceptedFacet{Version: "1.0.0", Integrity: d, Servers: []string{}, At: now}
	data, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := read(string(data)); err != nil {
		t.Errorf("version 3: %v", err)
	}
	for _, version := range []int{1, 2} {
		a.Version = version
		if data, err = machine.EncodeSealed(a, &a.Self); err != nil {
			t.Fatal(err)
		}
		if err := read(string(data)); err == nil {
			t.Errorf("version 3, which calls itself version %d, is read", version)
		}
	}
}

// Trees of which a file does not say of what closure they were made are not taken for any; and a tree counts for its
// closure alone.
func TestMadeTrees(t *testing.T) {
	d := digest.FromBytes([]byte("x"))
	one, other := ClosureLock{Lock: d}, ClosureLock{Lock: d, Scripts: []string{"npm:a@1.0.0"}}
	a := NewApprovals("/p")
	made := Approval{Entry: d, Path: "/bin", At: time.Unix(1e9, 0).UTC()}
	made.Remember(one, "linux/amd64+node20", d)
	if got := made.MadeTrees(one); len(got) != 1 || len(made.MadeTrees(other)) != 0 {
		t.Errorf("%v, and of another closure %v", got, made.MadeTrees(other))
	}
	for name, c := range map[string]struct {
		version int
		change  func(*Approval)
		read    bool
	}{
		"now":                        {3, func(*Approval) {}, true},
		"made, in an older version":  {2, func(*Approval) {}, false},
		"trees, in an older version": {2, func(a *Approval) { a.Made, a.Trees = nil, map[string]digest.Digest{"p": d} }, true},
		"trees, now":                 {3, func(a *Approval) { a.Trees = map[string]digest.Digest{"p": d} }, false},
		"of nothing":                 {3, func(a *Approval) { a.Made = []MadeTree{{Platform: "p", Tree: d}} }, false},
	} {
		changed := made
		c.change(&changed)
		a.Version, a.Servers["a"] = c.version, changed
		data, err := machine.EncodeSealed(a, &a.Self)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseApprovals(data, "/p")
		if (err == nil) != c.read || err == nil && got.Servers["a"].Trees != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
