package cli

import "runtime"

// spareHeap is how much garbage a command may leave before the first collection, in bytes.
const spareHeap = 32 << 20

// collectRarely is for commands that read a whole project and are over soon: collecting what
// they leave behind would take a fifth of their time. The collector starts when the heap
// has doubled, and counts what is returned here as part of it, although no page of it is
// ever touched: so memory grows by spareHeap at most, however large the project is.
// Calling done lets it go.
func collectRarely() (done func()) {
	heap := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(heap) }
}
