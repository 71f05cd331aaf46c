package cli

import (
	"runtime"
	"runtime/debug"
)

const (
	spareHeap = 32 << 20 // how much garbage a command may leave before each collection, in bytes
	leastHeap = 4 << 20  // the least heap that the runtime's percentage is of, in bytes
)

// collectRarely delays garbage collection for commands that read a whole project and end soon;
// collecting would take a fifth of their time. A collection starts when the heap has grown by spareHeap or, as by
// default, has doubled: so memory grows by spareHeap at most, however large the project is.
func collectRarely() {
	if percent := debug.SetGCPercent(100 * spareHeap / leastHeap); percent != 100 { // somebody chose it
		debug.SetGCPercent(percent)
		return
	}
	adjustAfterCollection(100 * spareHeap / leastHeap)
}

// adjustAfterCollection makes each collection set what the next one waits for; percent is what it waited for itself.
func adjustAfterCollection(percent uint64) {
	mark := new([64]byte) // which dies in the next collection
	runtime.AddCleanup(mark, func(percent uint64) {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		used := now.NextGC * 100 / (100 + percent)
		percent = max(100, 100*spareHeap/max(used, leastHeap))
		debug.SetGCPercent(int(percent))
		adjustAfterCollection(percent)
	}, percent)
}
