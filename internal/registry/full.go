package registry

import (
	"errors"
	"syscall"
)

// sqliteFull is the code of SQLite's errors for a disk without room.
const sqliteFull = 13

// NoRoom reports whether the disk is full, which somebody will notice and mend. The errors of
// SQLite are told by their code, as who only asks need not link the database.
func NoRoom(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	return ok && e.Code()&0xff == sqliteFull || errors.Is(err, syscall.ENOSPC)
}
