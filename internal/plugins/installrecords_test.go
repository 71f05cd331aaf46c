package plugins

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// A record of installed plugins without one of its members is refused, even with its own digest made
// to fit: what is not there has no value, and not that of a new record.
func TestStateMembers(t *testing.T) {
	d := digest.FromBytes([]byte("x"))
	record := Installs{Version: installsVersion, Dir: "/p", Plugins: map[string]InstallRecord{
		"net": {Name: "net", Version: "1.0.0", Lock: d, Tree: d, Manifest: d, At: time.Unix(1e9, 0).UTC()},
	}}
	data, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseInstalls(data, "/p"); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseInstalls(data, "/elsewhere"); !errors.Is(err, ErrOtherDirectory) {
		t.Errorf("of another directory: %v", err)
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
		if member != "self" {
			delete(left, "self")
			plain, _ := json.Marshal(left)
			self, err := machine.DigestOf(plain)
			if err != nil {
				t.Fatal(err)
			}
			left["self"] = self.String()
		}
		text, _ := json.Marshal(left)
		if _, err := ParseInstalls(text, "/p"); err == nil {
			t.Errorf("without %s, which was %v, it is read", member, value)
		} else if strings.Contains(err.Error(), "own digest") && member != "self" {
			t.Errorf("without %s: %v", member, err)
		}
	}
}
