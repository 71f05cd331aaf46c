//go:build !linux

package texts

import "io"

// widenPipe does nothing: this system does not let the capacity of a pipe be changed.
func widenPipe(io.Writer) {}
