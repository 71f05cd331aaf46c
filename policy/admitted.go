package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Admitted proves that a verdict allowed its subjects. Only [Judge] makes one that
// permits anything.
type Admitted struct {
	flow   Flow
	grants []grant
}

type grant struct {
	subject string
	digest  digest.Digest
}

// ErrNotAdmitted is wrapped by the errors of [Admitted.Permits].
var ErrNotAdmitted = errors.New("not admitted")

// Permits is nil if a verdict allowed subject with the sha256 digest d, in a flow
// that leads to action. Any other subject, digest or action, and the zero value of
// either receiver or digest, is an error.
func (a Admitted) Permits(subject string, d digest.Digest, action Action) error {
	if !slices.Contains(actions[a.flow], action) {
		return fmt.Errorf("%w: %s: a verdict of flow %q does not permit to %s",
			ErrNotAdmitted, surface.Escape(subject), a.flow, action)
	}
	for _, g := range a.grants {
		if g.subject != subject {
			continue
		}
		e := evidence.Compare(
			evidence.Claim{Subject: subject, Want: []digest.Digest{g.digest}},
			evidence.Observed{Digests: []digest.Digest{d}})
		if e.Outcome == evidence.Match {
			return nil
		}
	}
	return fmt.Errorf("%w: %s with %s was not judged", ErrNotAdmitted, surface.Escape(subject), d)
}
