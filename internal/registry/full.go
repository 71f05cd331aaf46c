package registry

import (
	"errors"
	"syscall"
)

// sqliteFull is the code of SQLite's errors for a disk without room.
const sqliteFull = 13

// NoRoom reports whether err says that the disk is full, which an operator can mend. It recognizes
// SQLite's error by its code, so that its callers need not link the database.
func NoRoom(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	return ok && e.Code()&0xff == sqliteFull || errors.Is(err, syscall.ENOSPC)
}
