package registry

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Change is a new status for one or for all versions of a name.
type Change struct {
	Status  Status
	Message string    // at most MaxStatusMessage; empty with Active
	At      time.Time // when it is made
	By      string    // the subject that makes it, for the entries in the log; "" is the operator
}

// alters reports whether c makes a difference to rec.
func (c Change) alters(rec Record) bool {
	return rec.Status != c.Status || rec.StatusMessage != c.Message
}

// leaves are the entries of those of a name, by their indexes, that c altered.
func (c Change) leaves(all []Record, altered []int) ([]ledger.Leaf, error) {
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

// apply sets the status of all those of a name that c alters, of one version or with ""
// of all, and returns their indexes.
func (c Change) apply(all []Record, version string) (altered []int, err error) {
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

// Statuses changes the status of records, which is all of them that ever changes.
type Statuses interface {
	// SetStatus changes the status of one version, or with version "" of all versions
	// of a name, in one transaction in which it also decides which version is the
	// latest, and appends an entry to the log for each that is changed. It returns the number of records that were changed and those records as
	// they are now, newest first, as many as a page may hold. A name or version that
	// is not there is ErrNotFound, and if nothing would change it is ErrUnchanged.
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

type statusInput struct {
	Authorization string `header:"Authorization" doc:"Bearer TOKEN"`
	Name          string `path:"name" doc:"URL-encoded name"`
	Version       string `path:"version" doc:"URL-encoded version"`
	Body          StatusBody
}

type allStatusInput struct {
	Authorization string `header:"Authorization" doc:"Bearer TOKEN"`
	Name          string `path:"name" doc:"URL-encoded name"`
	Body          StatusBody
}

// Updated is the answer to a change of all versions. Servers ends early when it is
// large, as a page does; UpdatedCount counts all.
type Updated struct {
	UpdatedCount int        `json:"updatedCount"`
	Servers      []Envelope `json:"servers"`
}

type updatedOutput struct{ Body Updated }

func (s *server) setStatus(ctx context.Context, in *statusInput) (*envelopeOutput, error) {
	if in.Version == Latest {
		return nil, problem(http.StatusNotFound, "name a version: which one is the latest may change meanwhile")
	}
	_, records, err := s.change(ctx, in.Authorization, in.Name, in.Version, in.Body)
	if err != nil {
		return nil, err
	}
	return &envelopeOutput{envelope(records[0])}, nil
}

func (s *server) setAllStatuses(ctx context.Context, in *allStatusInput) (*updatedOutput, error) {
	n, records, err := s.change(ctx, in.Authorization, in.Name, "", in.Body)
	if err != nil {
		return nil, err
	}
	return &updatedOutput{Updated{UpdatedCount: n, Servers: page(records, "").Servers}}, nil
}

func (s *server) change(ctx context.Context, authorization, name, version string, body StatusBody) (int, []Record, error) {
	c, grant, err := s.judgeChange(ctx, authorization, func(g auth.Grant) bool { return g.Allows(auth.Publish, name) || g.Allows(auth.Edit, name) },
		func(g auth.Grant) *Problem { return forbidden(g, name) }, body)
	if err != nil {
		return 0, nil, err
	}
	n, records, err := s.Statuses.SetStatus(ctx, name, version, c)
	return n, records, s.changed(ctx, "server", name, version, c, grant, n, err)
}

// judgeChange is the change that a request asks for, if its bearer is allowed to make it.
func (s *server) judgeChange(ctx context.Context, authorization string, allowed func(auth.Grant) bool, refused func(auth.Grant) *Problem, body StatusBody) (Change, auth.Grant, error) {
	if err := s.writable(); err != nil {
		return Change{}, auth.Grant{}, err
	}
	grant, err := s.bearer(ctx, authorization)
	if err == nil && !allowed(grant) {
		err = refused(grant)
	}
	if err != nil {
		s.Counters.Unauthorized.Add(1)
		return Change{}, auth.Grant{}, err
	}
	c := Change{Status: body.Status, At: s.Now(), By: actor(&grant)}
	if body.Message != nil {
		if c.Message = *body.Message; body.Status == Active {
			return Change{}, auth.Grant{}, problem(http.StatusBadRequest, "a message does not go with the status active")
		}
		if strings.Contains(c.Message, "\x00") { // no database has to keep it
			return Change{}, auth.Grant{}, problem(http.StatusUnprocessableEntity, "the message holds a NUL byte")
		}
	}
	return c, grant, nil
}

// changed counts and logs n records that c changed, or says what the error was.
func (s *server) changed(ctx context.Context, kind, name, version string, c Change, grant auth.Grant, n int, err error) error {
	switch {
	case errors.Is(err, ErrNotFound) && version == "":
		return problem(http.StatusNotFound, "%s %+.200q not found", kind, name)
	case errors.Is(err, ErrNotFound):
		return problem(http.StatusNotFound, "version %+.200q of %s %+.200q not found", version, kind, name)
	case errors.Is(err, ErrUnchanged):
		return problem(http.StatusBadRequest, "nothing to change: %s", err)
	case err != nil:
		return err
	}
	s.Counters.StatusChanges.Add(int64(n))
	logger(ctx).Info("status", "kind", kind, "name", name, "version", version, "status", c.Status, "records", n, "by", grant.Method, "subject", grant.Subject)
	// Whoever asks after this answer finds the change in the log: a record and a log that
	// differ are refused by those who verify both.
	if s.Log != nil {
		if err := s.Log.CatchUp(ctx); err != nil { // the status stands all the same
			logger(ctx).Error("not signed yet", "kind", kind, "name", name, "version", version, "error", err)
		}
	}
	return nil
}
