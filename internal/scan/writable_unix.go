//go:build unix

package scan

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writableByOthers names who besides this user and root may replace the file or a directory above
// it, "" if nobody may. Groups are trusted with what they may write; in a sticky directory only a
// file's owner may replace it.
func writableByOthers(name string) string {
	for at := name; ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		if err != nil {
			return ""
		}
		if st.Mode().Perm()&0o002 != 0 && !(st.IsDir() && st.Mode()&fs.ModeSticky != 0) {
			return fmt.Sprintf("everybody, as %s has mode %04o", at, st.Mode().Perm())
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Getuid() &&
			os.Getuid() != 0 {
			return fmt.Sprintf("the user %d, who owns %s", sys.Uid, at)
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}
