//go:build !linux

package hashfile

import "io"

// widen does nothing: the size of a pipe is the system's.
func widen(io.Writer) {}
