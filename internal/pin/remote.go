package pin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// prepareRemote makes a server that is reached by its URL startable. What runs there is
// not ours to hash: its lock is of what it shows alone.
func (p *Pinning) prepareRemote() (*program.Program, error) {
	s, entry := p.Declared, &p.Result.Entry
	entry.Source = "http"
	entry.Arguments, entry.Variables = []string{}, s.HeaderVariables()
	p.report = append(p.report,
		evidence.Fact(evidence.Claim{Subject: s.Name, Scheme: evidence.Pin, Authority: evidence.Caller, Text: s.URL,
			Where: project.ConfigFile}, s.URL),
		lockentry.LaunchEvidence(p.Workspace, s, p.Result.Before))
	if err := requireConsentToSend(p.Workspace, s); err != nil {
		return nil, err
	}
	// Consent to send the server a variable includes consent to ask it what it shows.
	if p.Options.Begin != nil && !isApprovedAs(p.Workspace, s) && len(s.HeaderVariables()) == 0 {
		if yes, err := p.Options.Begin(s); err != nil {
			return nil, err
		} else if !yes {
			return nil, evidence.Errorf(evidence.Refused, s.Name, "--yes consents",
				fmt.Errorf("%s would be asked what it shows, and nobody consented; nothing was sent", s.URL))
		}
	}
	prog, err := OpenRemote(p.Workspace, s)
	if err != nil {
		return nil, err
	}
	prog.OwnKey, prog.Artifacts = s.URL, map[string]digest.Digest{}
	return prog, nil
}

// OpenRemote is a connection to the server of s, with the values of its variables. They
// are sent there: the caller has seen to it that somebody agreed, to the entry of the lock
// or to each variable.
func OpenRemote(w *workspace.Workspace, s project.Server) (*program.Program, error) {
	headers, err := s.FillHeaders(func(name string) (string, bool) {
		set := slices.ContainsFunc(w.Host.Environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		return w.Host.Getenv(name), set
	})
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	return &program.Program{
		Server: s.Name, Remote: &process.Remote{Name: s.Name, URL: s.URL, Headers: headers},
		Subjects: []process.Subject{{Name: s.Name, Digest: s.Launch().Digest()}},
	}, nil
}

// RemoteEvidence says what is known of a server that is reached by its URL.
func RemoteEvidence(entry project.ServerLock) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: entry.Ref, Scheme: evidence.Pin, Authority: evidence.Lock, Text: entry.Ref, Where: project.LockFile,
	}, entry.Launch.URL)
	e.Reason = "what runs there cannot be verified; what it shows is compared"
	return e
}

// RefuseUnpinnedRemote refuses a server of which not even the surface is known.
func RefuseUnpinnedRemote(s project.Server) error {
	return evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
		fmt.Errorf("%s would be used without anything that it is compared with", s.URL))
}

// headerUses are the variables that the headers of a remote server would send, and where.
func headerUses(s project.Server) ([]consent.VariableUse, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, s.Name, "", fmt.Errorf("its URL: %w", err))
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	var uses []consent.VariableUse
	for _, name := range s.HeaderVariables() {
		uses = append(uses, consent.VariableUse{Variable: name, Host: host, File: project.ConfigFile + ", headers of " +
			s.Name})
	}
	return uses, nil
}

// isApprovedAs reports whether this machine approved the lock entry of s, and s is declared as
// it was then.
func isApprovedAs(w *workspace.Workspace, s project.Server) bool {
	entry, locked := w.Lock.Server(s.Name)
	approval, ok := w.Approvals.Servers[s.Name]
	return ok && locked && evidence.Same(approval.Entry, entry.Approvable()) &&
		evidence.Same(entry.Launch.Digest(), s.Launch().Digest())
}

// requireConsentToSend is an error if a header of s would send a variable to a host that nobody agreed
// to. Who approved the server on this machine as it is declared agreed to its headers.
func requireConsentToSend(w *workspace.Workspace, s project.Server) error {
	if isApprovedAs(w, s) {
		return nil
	}
	uses, err := headerUses(s)
	if err != nil {
		return err
	}
	for _, u := range uses {
		if w.Host.Getenv(u.Variable) == "" {
			continue // FillHeaders reports a variable that is not set
		}
		if err := w.Host.RequireVariableConsent(u); err != nil {
			return err
		}
	}
	return nil
}
