package registry

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
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

// Changes returns one page of everything that changed at or after since, deleted records
// too; a zero since is everything. The official registry answers it as well.
func (c *Client) Changes(ctx context.Context, cursor string, since time.Time) (*Page, error) {
	query := url.Values{"limit": {strconv.Itoa(MaxLimit)}, "include_deleted": {"true"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if !since.IsZero() {
		query.Set("updated_since", since.UTC().Format(time.RFC3339))
	}
	var p Page
	if err := c.do(ctx, http.MethodGet, "/servers", query, nil, "", &p); err != nil {
		return nil, err
	}
	return &p, nil
}
