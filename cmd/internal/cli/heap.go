package cli

import "runtime"

// spareHeap is how much garbage a command may leave before the first collection, in bytes.
const spareHeap = 32 << 20

// collectRarely delays garbage collection for commands that read a whole project and end soon;
// collecting would take a fifth of their time. The collector starts when the heap has doubled, and
// counts the memory that is allocated here, although no page of it is touched: so memory grows by
// spareHeap at most, however large the project is. Calling done frees it.
func collectRarely() (done func()) {
	heap := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(heap) }
}
