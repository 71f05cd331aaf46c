package rules

import (
	"io/fs"
	"os"
)

// OnDisk returns the name as the directory has it. On this system a file name is a sequence of bytes, so that it is
// name itself.
func OnDisk(_ *os.Root, name string, _ fs.FileInfo) string { return name }
