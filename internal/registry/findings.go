package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// MaxFindings is how many findings of a record are shown with it, newest first.
const MaxFindings = 10

// Finding is the result of recomputing the claims of a record after it was published, if that
// differs from what was known before.
type Finding struct {
	Kind    ledger.Kind `json:"-"` // of an archive; "" is a server's
	Name    string      `json:"-"`
	Version string      `json:"-"`

	At    time.Time `json:"at"`
	Build string    `json:"build"` // the version of the program that checked

	// Evidence is a JSON array in the form of package evidence: what fails. It is
	// empty when what failed before holds again.
	Evidence json.RawMessage `json:"evidence"`
}

// Findings keeps the findings of records. They are added and never changed, and the record
// itself stays as it is. Databases that implement [Records] implement it too.
type Findings interface {
	// AddFinding adds a finding of a record, or returns ErrNotFound if there is none.
	// Its entry is appended to the log in the same transaction. It is on disk when
	// AddFinding returns.
	AddFinding(context.Context, Finding) error

	// Findings returns all findings of a record, newest first. The newest MaxFindings come
	// with the record itself.
	Findings(ctx context.Context, name, version string) ([]Finding, error)
}

// ReadFindings fills in the findings that are kept with a record, a JSON array.
func (r *Record) ReadFindings(kept []byte) error {
	found, err := FindingsOf("", r.Name, r.Version, kept)
	r.Findings = found
	return err
}

// FindingsOf are the findings that are kept with a record, a JSON array.
func FindingsOf(kind ledger.Kind, name, version string, kept []byte) (found []Finding, err error) {
	if string(kept) == "[]" {
		return nil, nil
	}
	if err := json.Unmarshal(kept, &found); err != nil {
		return nil, fmt.Errorf("record %+q: findings: %w", name+"@"+version, err)
	}
	for i := range found {
		found[i].Kind, found[i].Name, found[i].Version = kind, name, version
	}
	return found, nil
}

// Normal returns f as a database keeps it: its time in microseconds, and evidence that is a list.
func (f Finding) Normal() Finding {
	f.At = f.At.UTC().Truncate(time.Microsecond)
	if len(f.Evidence) == 0 {
		f.Evidence = json.RawMessage("[]")
	}
	return f
}

// Failing are the failures of the finding, a line each: "SUBJECT: SCHEME OUTCOME".
func (f Finding) Failing() []string {
	var pieces []struct{ Subject, Scheme, Outcome string }
	if json.Unmarshal(f.Evidence, &pieces) != nil {
		return nil
	}
	var lines []string
	for _, p := range pieces {
		lines = append(lines, p.Subject+": "+p.Scheme+" "+p.Outcome)
	}
	return lines
}
