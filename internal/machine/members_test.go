package machine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// A file of the state directory without one of its members is refused, even with its own
// digest made to fit: what is not there has no value, and not that of a new file.
func TestStateMembers(t *testing.T) {
	d := digest.FromBytes([]byte("x"))
	now := time.Unix(1e9, 0).UTC()
	receipt := NewReceipt("/p")
	receipt.Facets["kit"] = ReceiptOfFacet{Version: "1.0.0", Assets: []ReceiptAsset{NewAsset("dir:tools", facet.KindAgent, "one", []string{"tools/agents/one.md"}, nil)}}
	sums := NewMaterialized("/p")
	sums.Files["tools/agents/one.md"] = d
	note := DriftNote{Server: "tool", At: now, Locked: d, Items: map[string]DriftItem{"tool:add": {Reason: "changed", Want: d, Got: d}}}
	for name, of := range map[string]struct {
		encode func() ([]byte, error)
		parse  func([]byte) error
		may    []string // members that need not be there
	}{
		"receipt":      {receipt.Encode, func(b []byte) error { _, err := ParseReceipt(b, "/p"); return err }, nil},
		"materialized": {sums.Encode, func(b []byte) error { _, err := ParseMaterialized(b, "/p"); return err }, nil},
		"drift":        {note.Encode, func(b []byte) error { _, err := ParseDrift(b); return err }, []string{"surface"}},
	} {
		data, err := of.encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := of.parse(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var tree map[string]any
		if err := json.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		for member, value := range tree {
			left := map[string]any{}
			for other, v := range tree {
				if other != member {
					left[other] = v
				}
			}
			if _, ok := tree["self"]; ok && member != "self" {
				delete(left, "self")
				plain, _ := json.Marshal(left)
				self, err := DigestOf(plain)
				if err != nil {
					t.Fatal(err)
				}
				left["self"] = self.String()
			}
			text, _ := json.Marshal(left)
			if err := of.parse(text); err == nil && !slices.Contains(of.may, member) {
				t.Errorf("%s without %s, which was %v, is read", name, member, value)
			} else if err != nil && strings.Contains(err.Error(), "own digest") && member != "self" {
				t.Errorf("%s without %s: %v", name, member, err)
			}
		}
	}
}
