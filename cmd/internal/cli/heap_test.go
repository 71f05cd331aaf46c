package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// How much garbage may lie about depends on the heap that is in use; a percentage that somebody chose stays.
func TestCollectRarely(t *testing.T) {
	before := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	percent := func() int {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return int(now[0].Value.Uint64())
	}
	if collectRarely(); percent() != 50 {
		t.Fatalf("the percentage is %d", percent())
	}
	becomes := func(what string, ok func(int) bool) {
		for end := time.Now().Add(hang.Long); !ok(percent()); time.Sleep(time.Millisecond) {
			runtime.GC()
			if time.Now().After(end) {
				t.Fatalf("%s: the percentage is %d", what, percent())
			}
		}
	}
	debug.SetGCPercent(100)
	collectRarely()
	used := make([]byte, 2*spareHeap)
	becomes("a large heap", func(p int) bool { return p == 100 })
	runtime.KeepAlive(used)
	becomes("a small one", func(p int) bool { return p > 100 })
}
