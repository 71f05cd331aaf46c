package registry

import (
	"context"
	"time"
)

// Progress is how far the import from one registry has come.
type Progress struct {
	Cursor string    // of the next page; "" if no import is under way
	Since  time.Time // everything that changed upstream before was imported; zero if no import is complete
	Began  time.Time // when the import under way began; zero if none is
}

// Imports keeps what importing needs besides [Records.Insert]. Databases that implement [Records]
// implement it too.
type Imports interface {
	// Progress returns how far the import from source has come, the zero value if it
	// has not begun.
	Progress(ctx context.Context, source string) (Progress, error)

	// SetProgress keeps p. After a crash between an insert and SetProgress the same page is
	// imported again, and its records are found to exist.
	SetProgress(ctx context.Context, source string, p Progress) error

	// Follow gives the status of rec, its message and times, to the record of the same
	// name and version if that was imported from rec.Origin and its status changed
	// before rec's did, and decides in the same transaction which version is the
	// latest. It reports whether it changed the record.
	Follow(ctx context.Context, rec Record) (bool, error)
}
