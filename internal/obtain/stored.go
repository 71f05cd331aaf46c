package obtain

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// lookup is what the store has of an archive.
type lookup struct {
	slot        *store.Slot     // nil if there is none, or none that may be used
	bad         evidence.Report // why a slot is not used
	quarantined bool            // a slot was damaged, and was moved to quarantine
}

// findStored audits what the store has of an archive. A damaged slot is moved to quarantine. That
// is no evidence yet, as the archive may be fetched again.
func (s *Sources) findStored(ctx context.Context, c claims, q *inquiry) (lookup, error) {
	claim := c.contents()
	slot, report, err := s.store.AuditClaim(ctx, claim)
	switch {
	case errors.Is(err, store.ErrNotStored):
		return lookup{}, nil
	case err != nil:
		return lookup{}, err
	case slot == nil && report.Count(evidence.Mismatch) == 0: // an unreadable slot is neither a match nor a mismatch
		_, err := q.judge(report...)
		return lookup{bad: report}, err
	case slot == nil:
		_, err := s.store.Quarantine(ctx, claim.Want[0], "it differs from what it is to be")
		return lookup{bad: report, quarantined: true}, err
	}
	q.add(report...)
	return lookup{slot: slot}, nil
}

// takeStored is what the store has of an archive, accepted; the lookup has no slot if there is none that may be used.
func (s *Sources) takeStored(ctx context.Context, c claims, q *inquiry) (stored, lookup, error) {
	here, err := s.findStored(ctx, c, q)
	if err != nil || here.slot == nil {
		return stored{}, here, err
	}
	return c.accept(here.slot, q), here, nil
}

// FindStored audits what the store has of a facet that was locked, for who compares it with what is
// to be locked. It is nil if the store does not have exactly the locked contents: nothing is fetched.
func (s *Sources) FindStored(ctx context.Context, name string, entry project.FacetLock) (*store.Slot, error) {
	slot, _, err := s.store.AuditClaim(ctx, claims{name: name, entry: entry, locked: &entry}.contents())
	if errors.Is(err, store.ErrNotStored) {
		return nil, nil
	}
	return slot, err
}

// refuseOffline is the error for an archive that is not in the store, or not sound, and that
// --offline forbids to fetch.
func (q *inquiry) refuseOffline(here lookup, subject string) error {
	if len(here.bad) > 0 {
		if _, err := q.judge(here.bad...); err != nil {
			return err
		}
	}
	return OfflineError(subject)
}

// OfflineError is the error for what would have to be fetched, and must not be.
func OfflineError(subject string) error {
	return evidence.Errorf(evidence.Operation, subject, "run the command again without --offline",
		errors.New("is not in the store, and --offline forbids to fetch it"))
}
