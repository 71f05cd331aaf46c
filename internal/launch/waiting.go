package launch

import (
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Waiting is what waits for the approval of a person in a project.
type Waiting struct {
	Servers  []*Reviewed // of which nothing is approved yet, or another entry or interpreter, by name
	Held     []Held      // those that cannot be approved as they are, by name: no part of the consent
	Drifted  []string    // names of those that drifted, which are reviewed one by one
	Approved []string    // names of those that were approved before, as they are locked
	Verdict  policy.Verdict
}

// Held is a server that waits, and cannot be approved before what is wrong with it is mended.
type Held struct {
	Name string
	Err  error
}

// err returns why servers are held, or nil.
func (w *Waiting) err() error {
	var all []error
	for _, h := range w.Held {
		all = append(all, h.Err)
	}
	return errors.Join(all...)
}

// Consent returns the digest that one approval of all servers is bound to: that of everything that was shown.
func (w *Waiting) Consent() digest.Digest {
	h := digest.NewHasher()
	fmt.Fprintln(h, "hallmark-consent-waiting-v1")
	for _, r := range w.Servers {
		fmt.Fprintf(h, "%q %s\n", r.Name, r.Consent())
	}
	return h.Digest(digest.SHA256)
}

// WaitingOptions say how consent is given: by the digest of what was shown before, or by asking once.
type WaitingOptions struct {
	Approve digest.Digest
	Confirm func(*Waiting) (host.Consent, error)
}

// ReviewWaiting shows all servers of a project whose entries, interpreters or launch lines this machine has not
// approved, and with consent to all of that approves one after the other. An error may be about those that are held.
func ReviewWaiting(ctx context.Context, h *host.Host, dir string, o WaitingOptions) (*Waiting, error) {
	w, done, err := workspace.Open(ctx, h, dir, true)
	if err != nil {
		return &Waiting{}, err
	}
	defer done()
	out := findWaiting(ctx, w)
	if len(out.Servers) == 0 {
		return out, out.err()
	}
	claim, err := consentTo("all that waits", out.Consent(), o.Approve,
		func() (host.Consent, error) { return o.Confirm(out) })
	if err != nil {
		return out, err
	}
	if out.Verdict = policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{claim}); !out.Verdict.Allowed() {
		return out, out.Verdict.Err()
	}
	for _, r := range out.Servers {
		if _, err := reviewServer(ctx, w, r.Name, ReviewOptions{Approve: r.Consent()}); err != nil {
			return out, err
		}
	}
	return out, out.err()
}

// findWaiting reviews every server that is locked, or needs no entry, without approving anything.
func findWaiting(ctx context.Context, w *workspace.Workspace) *Waiting {
	out := &Waiting{}
	for _, s := range w.LockableServers() {
		if _, locked := w.Lock.Server(s.Name); !locked && s.WhyUnlocked() == "" {
			continue // there is nothing to approve before it is pinned
		}
		shown := false
		r, err := reviewServer(ctx, w, s.Name, ReviewOptions{Confirm: func(*Reviewed) (host.Consent, error) {
			shown = true
			return host.NoConsent, nil
		}})
		switch {
		case !shown && err != nil:
			out.Held = append(out.Held, Held{s.Name, err})
		case !shown:
			out.Approved = append(out.Approved, s.Name)
		case r.Note != nil:
			out.Drifted = append(out.Drifted, r.Name)
		default:
			r.Verdict = policy.Verdict{}
			out.Servers = append(out.Servers, r)
		}
	}
	return out
}
