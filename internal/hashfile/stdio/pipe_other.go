//go:build !linux

package stdio

import "io"

// widenPipe does nothing: this system does not let the capacity of a pipe be changed.
func widenPipe(io.Writer) {}
