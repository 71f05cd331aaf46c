package hallmark

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/project"
)

// prepareRemote makes a server that is reached by its URL startable. What runs there is
// not ours to hash: its lock is of what it shows alone.
func (p *pinning) prepareRemote() (*program, error) {
	s, entry := p.declared, &p.out.Entry
	entry.Source = "http"
	entry.Arguments, entry.Variables = []string{}, s.HeaderVariables()
	p.report = append(p.report,
		evidence.Fact(evidence.Claim{Subject: s.Name, Scheme: evidence.Pin, Authority: evidence.Caller, Text: s.URL, Where: project.ConfigFile}, s.URL),
		p.w.launchEvidence(s, p.out.Before))
	if err := p.w.maySend(s); err != nil {
		return nil, err
	}
	// Who agreed to send it a variable agreed to ask it.
	if p.o.Begin != nil && !p.w.approvedAs(s) && len(s.HeaderVariables()) == 0 {
		if yes, err := p.o.Begin(s); err != nil {
			return nil, err
		} else if !yes {
			return nil, evidence.Errorf(evidence.Refused, s.Name, "--yes consents", fmt.Errorf("%s would be asked what it shows, and nobody consented; nothing was sent", s.URL))
		}
	}
	prog, err := p.w.remoteProgram(s)
	if err != nil {
		return nil, err
	}
	prog.own, prog.artifacts = s.URL, map[string]digest.Digest{}
	return prog, nil
}

// remoteProgram is a connection to the server of s, with the values of its variables. They
// are sent there: the caller has seen to it that somebody agreed, to the entry of the lock
// or to each variable.
func (w *workspace) remoteProgram(s project.Server) (*program, error) {
	headers, err := s.FillHeaders(func(name string) (string, bool) {
		set := slices.ContainsFunc(w.host.Environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		return w.host.Getenv(name), set
	})
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	return &program{
		server: s.Name, remote: &guard.Remote{Name: s.Name, URL: s.URL, Headers: headers},
		subjects: []guard.Subject{{Name: s.Name, Digest: s.Launch().Digest()}},
	}, nil
}

// remoteEvidence says what is known of a server that is reached by its URL.
func remoteEvidence(entry project.ServerLock) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: entry.Ref, Scheme: evidence.Pin, Authority: evidence.Lock, Text: entry.Ref, Where: project.LockFile,
	}, entry.Launch.URL)
	e.Reason = "what runs there cannot be verified; what it shows is compared"
	return e
}

// unpinnedRemote refuses a server of which not even the surface is known.
func unpinnedRemote(s project.Server) error {
	return evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
		fmt.Errorf("%s would be used without anything that it is compared with", s.URL))
}
