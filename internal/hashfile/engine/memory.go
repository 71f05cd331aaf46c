package engine

import (
	"runtime"
	"sync"
)

// chunkSize is the size of a buffer for reading, in bytes.
const chunkSize = 128 << 10

// chunks is a pool of buffers for reading.
type chunks struct{ pool sync.Pool } // of *[]byte

// take returns a buffer of chunkSize bytes.
func (c *chunks) take() []byte {
	if b, ok := c.pool.Get().(*[]byte); ok {
		return (*b)[:chunkSize]
	}
	return make([]byte, chunkSize)
}

// give returns a buffer to the pool. A buffer that grew to more than eight times chunkSize is dropped.
func (c *chunks) give(b []byte) {
	if cap(b) >= chunkSize && cap(b) <= 8*chunkSize {
		c.pool.Put(&b)
	}
}

// largeFile is the size, in bytes, above which the memory of earlier calls is collected before a file is read.
const largeFile = 4 << 20

// CollectGarbage frees the memory of earlier calls before a call takes size bytes. It does so only for sizes above
// largeFile, since a collection costs more than a small file.
func collectGarbage(size int64) {
	if size > largeFile {
		runtime.GC()
	}
}
