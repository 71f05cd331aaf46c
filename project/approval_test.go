package project

import (
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
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
	a.Facets["kit"] = AcceptedFacet{Version: "1.0.0", Integrity: d, At: now}
	data, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := read(strings.Replace(string(data), `"approvals_version": 2`, `"approvals_version": 1`, 1)); err == nil {
		t.Error("version 2, which calls itself version 1, is read")
	}
}
