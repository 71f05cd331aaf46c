package project

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// TestRenewOldest: an entry of version 1 may lack members that have no value, and is written so that it is read again.
func TestRenewOldest(t *testing.T) {
	entry := entries()[KindCommand]
	entry.Source = KindCommand
	entry.Surface, entry.APISurface = digest.FromBytes(nil), digest.FromBytes(nil)
	w := olderWire{Version: 1, Servers: map[string]olderServer{"notes": {ServerLock: entry}}}
	data, err := machine.EncodeSealed(&w, &w.Self)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ParseLock(data)
	if err != nil {
		t.Fatal(err)
	}
	merged, _ := MergeLocks(l, l, l, nil)
	l.Renew()
	for how, l := range map[string]*Lock{"renewed": l, "merged": merged} {
		data, err := l.Encode()
		if err == nil {
			_, err = ParseLock(data)
		}
		if err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
}
