package registry

import (
	"context"
	"time"
)

// Progress is how far the import from one registry has come.
type Progress struct {
	Cursor string    // of the next page; "" if no import is under way
	Since  time.Time // what changed upstream before is here; zero if nothing is yet
	Began  time.Time // when the import under way began; zero if none is
}

// Imports keeps what importing needs beside [Records.Insert]. Implementations are those
// of [Records].
type Imports interface {
	// Progress returns how far the import from source has come, the zero value if it
	// has not begun.
	Progress(ctx context.Context, source string) (Progress, error)

	// SetProgress keeps p. A crash between an insert and SetProgress makes the page
	// come again, which finds what is there.
	SetProgress(ctx context.Context, source string, p Progress) error

	// Follow takes the status of rec, its message and times, for the record of the same
	// name and version if that was imported from rec.Origin and its status changed
	// before rec's did, and decides in the same transaction which version is the
	// latest. It reports whether it did.
	Follow(ctx context.Context, rec Record) (bool, error)
}
