package memory

import "golang.org/x/sys/unix"

// room is what must be free there, in bytes. All tests together have less than half of it at once; a file system in
// memory usually has half of the machine's memory.
const room = 4 << 30

// Find gives a directory in memory from which programs can be started. There is none if TMPDIR says that temporary
// files belong elsewhere.
func Find() (dir string, ok bool) {
	var fs unix.Statfs_t
	if isElsewhere() || unix.Statfs(shared, &fs) != nil || fs.Type != unix.TMPFS_MAGIC ||
		fs.Flags&unix.ST_NOEXEC != 0 || uint64(fs.Bsize)*fs.Bavail < room {
		return "", false
	}
	return shared, unix.Access(shared, unix.W_OK) == nil
}
