package contents

import (
	"runtime"
	"sync"
)

// chunkSize is how much is read at once, in bytes.
const chunkSize = 128 << 10

// chunks are buffers that calls use one after the other.
type chunks struct{ pool sync.Pool } // of *[]byte

// take returns a buffer of chunkSize bytes.
func (c *chunks) take() []byte {
	if b, ok := c.pool.Get().(*[]byte); ok {
		return (*b)[:chunkSize]
	}
	return make([]byte, chunkSize)
}

// give takes a buffer back, also one that has grown, unless it has grown too much.
func (c *chunks) give(b []byte) {
	if cap(b) >= chunkSize && cap(b) <= 8*chunkSize {
		c.pool.Put(&b)
	}
}

// largeFile is the size, in bytes, from which the memory of earlier calls is collected before a file is
// read. A file is read and hashed in pieces of at most this size.
const largeFile = 4 << 20

// collectGarbage frees the memory of earlier calls before a call takes size bytes, if that is much.
func CollectGarbage(size int64) {
	if size > largeFile {
		runtime.GC()
	}
}
