//go:build unix

package registry

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// CheckPrivate refuses the file of a key that its owner lets others read or write. Like ssh it
// checks only files that the user owns: a secret that a container or a service manager mounts
// belongs to another user, who must make it readable.
func CheckPrivate(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return private(f.Name(), info, os.Geteuid())
}

func private(path string, info fs.FileInfo, user int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int64(stat.Uid) != int64(user) || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return evidence.Errorf(evidence.Validation, path, "run 'chmod 600 "+path+"'",
		fmt.Errorf("has mode %04o, so that other users have the key", info.Mode().Perm()))
}
