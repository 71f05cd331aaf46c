package names

import (
	"io/fs"
	"os"
)

// diskName is the name as the directory has it. File names are bytes here.
func OnDisk(_ *os.Root, name string, _ fs.FileInfo) string { return name }
