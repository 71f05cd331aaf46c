package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/surface"
)

// DriftNote is what a guard saw last, where it differs from the lock: it lies in the
// state directory until the server shows the locked surface again or a person reviewed it.
type DriftNote struct {
	Version int                  `json:"drift_version"`
	Server  string               `json:"server"`
	At      time.Time            `json:"at"`
	Locked  digest.Digest        `json:"locked"` // the surface that was approved
	Items   map[string]DriftItem `json:"items"`  // by key
	// Surface is all that was shown, canonical; absent if it has no canonical form.
	Surface json.RawMessage `json:"surface,omitempty"`
}

// DriftItem is one item that differs.
type DriftItem struct {
	Reason string        `json:"reason"`
	Want   digest.Digest `json:"want"` // empty for a new item
	Got    digest.Digest `json:"got"`  // empty for one that could not be read
}

// OnlyNotice reports whether all items have the given reason.
func (n *DriftNote) OnlyNotice(reason string) bool {
	for _, item := range n.Items {
		if item.Reason != reason {
			return false
		}
	}
	return true
}

// Keys returns the keys of the items with the given reason, sorted.
func (n *DriftNote) Keys(reason string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(n.Items)) {
		if n.Items[key].Reason == reason {
			keys = append(keys, key)
		}
	}
	return keys
}

const driftVersion = 1

// MaxDrift is the largest file of a [DriftNote], in bytes.
const MaxDrift = 128 << 20

// ParseDrift reads a drift note.
func ParseDrift(data []byte) (*DriftNote, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxDrift}); err != nil {
		return nil, err
	}
	var n DriftNote
	if err := surface.Decode(data, &n); err != nil {
		return nil, err
	}
	if n.Version != driftVersion {
		return nil, fmt.Errorf("drift_version is %d; this build reads %d", n.Version, driftVersion)
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	return &n, nil
}

// check refuses a note that does not say what drifted from what: with less in it, drift that
// was seen would pass for none.
func (n *DriftNote) check() error {
	if n.Server == "" || n.At.IsZero() || n.Locked.Algorithm() != digest.SHA256 {
		return errors.New("does not say which server drifted from what, and when")
	}
	if len(n.Items) == 0 {
		return errors.New("has no items")
	}
	for key, item := range n.Items {
		if item.Reason == "" { // an item that nobody approved and nobody could read has no digest
			return fmt.Errorf("%+q: does not say how it drifted", key)
		}
	}
	return nil
}

// Encode is the file's JSON.
func (n *DriftNote) Encode() ([]byte, error) {
	n.Version = driftVersion
	plain, err := Marshal(n)
	return append(plain, '\n'), err
}
