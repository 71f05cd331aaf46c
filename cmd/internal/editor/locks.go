package editor

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// findLocks returns the directory for the locks of edits, which all servers of the user share; it need not exist. It
// lies in the user's state. Where the user has none, or none that is the user's alone, it is one in the system's
// directory for temporary files; it is made, and must be the user's own. If there is neither, it is "", and the server
// reads only. The error reports a HALLMARK_HOME that cannot be used: nothing else is taken in its place.
func findLocks(getenv func(string) string) (string, error) {
	where, err := durable.FindPlaces(getenv)
	if err == nil {
		err = where.Check()
	}
	if err == nil {
		return filepath.Join(where.State, "hashfile"), nil
	}
	if getenv("HALLMARK_HOME") != "" {
		return "", err
	}
	user := os.Getuid()
	if user < 0 {
		return "", nil
	}
	dir := filepath.Join(os.TempDir(), "hallmark-hashfile-"+strconv.Itoa(user))
	if !filepath.IsAbs(dir) {
		return "", nil
	}
	os.Mkdir(dir, 0o700)
	if info, err := os.Lstat(dir); err != nil || !isPrivate(info, user) {
		return "", nil
	}
	return dir, nil
}

// isPrivate reports whether a file is a directory, and no link, that belongs to a user and that nobody else may use.
func isPrivate(info fs.FileInfo, user int) bool {
	owner, ok := ownerOf(info)
	return info.IsDir() && info.Mode().Perm()&0o077 == 0 && ok && owner == user
}
