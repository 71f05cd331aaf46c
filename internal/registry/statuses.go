package registry

import (
	"context"
	"errors"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// Change is a new status for one or for all versions of a name.
type Change struct {
	Status  Status
	Message string    // at most MaxStatusMessage; empty with Active
	At      time.Time // when it is made
	By      string    // the subject that makes it, for the entries in the log; "" is the operator
}

// alters reports whether c changes the status or message of rec.
func (c Change) alters(rec Record) bool {
	return rec.Status != c.Status || rec.StatusMessage != c.Message
}

// Leaves are the entries for the records of all that c altered, which have the indexes altered.
func (c Change) Leaves(all []Record, altered []int) ([]ledger.Leaf, error) {
	leaves := make([]ledger.Leaf, len(altered))
	for n, i := range altered {
		rec := Record{Name: all[i].Name, Version: all[i].Version, Status: c.Status, StatusMessage: c.Message}
		var err error
		if leaves[n], err = rec.statusLeaf(c.By, c.At); err != nil {
			return nil, err
		}
	}
	return leaves, nil
}

// Apply sets the status of the records of one name that c alters, of one version or with version ""
// of all, and returns their indexes.
func (c Change) Apply(all []Record, version string) (altered []int, err error) {
	found := false
	for i, rec := range all {
		if version != "" && rec.Version != version {
			continue
		}
		found = true
		if c.alters(rec) {
			altered = append(altered, i)
			all[i].Status = c.Status
		}
	}
	switch {
	case !found:
		return nil, ErrNotFound
	case len(altered) == 0:
		return nil, ErrUnchanged
	}
	return altered, nil
}

// Statuses changes the status of records. Nothing else of a record ever changes.
type Statuses interface {
	// SetStatus changes the status of one version, or with version "" of all versions
	// of a name, in one transaction in which it also decides which version is the
	// latest, and appends an entry to the log for each that is changed. It returns the number of records that
	// were changed and those records as they are now, newest first, as many as a page may hold. A name or
	// version that is not there is ErrNotFound, and if nothing would change it is ErrUnchanged.
	SetStatus(ctx context.Context, name, version string, c Change) (changed int, records []Record, err error)
}

// ErrUnchanged says that every record has the wanted status and message already.
var ErrUnchanged = errors.New("status and message are already so")

// MaxStatusMessage is the length of a message, in characters. A tag below says it too.
const MaxStatusMessage = 500

// StatusBody is what a request for a change holds.
type StatusBody struct {
	Status  Status  `json:"status" enum:"active,deprecated,deleted"`
	Message *string `json:"statusMessage,omitempty" maxLength:"500" doc:"Why; not with active"`
}

// Updated is the answer to a change of all versions. Servers ends early when it is
// large, as a page does; UpdatedCount counts all.
type Updated struct {
	UpdatedCount int        `json:"updatedCount"`
	Servers      []Envelope `json:"servers"`
}
