//go:build unix

package durable

import (
	"io/fs"
	"os"
	"syscall"
)

// hasOwners says that a file's mode tells who may write it.
const hasOwners = true

// isOwn reports whether a file belongs to this user.
func isOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// isTrusted reports whether a file belongs to this user, or to root, who can write everything.
func isTrusted(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 || isOwn(info)
}

// isRoot reports whether this user is root.
func isRoot() bool { return os.Geteuid() == 0 }
