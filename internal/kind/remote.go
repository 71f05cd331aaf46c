package kind

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// remote is a server that is reached by its URL. Its program cannot be hashed here, so its lock
// only covers what it shows.
type remote struct{ common }

// Resolve asks for consent before anything is sent.
func (remote) Resolve(_ context.Context, d Declaration) (r Resolved, err error) {
	s := d.Server
	r.Entry.Source, r.Entry.Arguments, r.Entry.Variables = project.KindHTTP, []string{}, s.HeaderVariables()
	r.Report = append(r.Report,
		evidence.Fact(evidence.Claim{Subject: s.Name, Scheme: evidence.Pin, Authority: evidence.Caller, Text: s.URL,
			Where: project.ConfigFile}, s.URL),
		workspace.LaunchEvidence(d.Workspace, s, d.Before))
	if err := requireConsentToSend(d.Workspace, s, d.Given); err != nil {
		return r, err
	}
	// Consent to send the server a variable includes consent to ask it what it shows.
	if d.Begin != nil && !workspace.IsApprovedAs(d.Workspace, s) && len(s.HeaderVariables()) == 0 {
		if yes, err := d.Begin(s); err != nil {
			return r, err
		} else if !yes {
			return r, evidence.Errorf(evidence.Refused, s.Name, "--yes consents",
				fmt.Errorf("%s would be asked what it shows, and nobody consented; nothing was sent", s.URL))
		}
	}
	if r.Program, err = openRemote(d.Workspace, s, d.Given); err != nil {
		return r, err
	}
	r.Entry.Ref, r.Entry.Artifacts = s.URL, map[string]digest.Digest{}
	return r, nil
}

// Open prepares a connection, which is made when the server is started.
func (remote) Open(_ context.Context, l Locked) (o Opened, err error) {
	o.Report = evidence.Report{remoteEvidence(l.Entry)}
	o.Program, err = openRemote(l.Workspace, l.Server, nil)
	return o, err
}

// OpenRuntime returns nil, because no program of this machine is started.
func (remote) OpenRuntime(context.Context, Locked) (*program.Program, error) { return nil, nil }

// Check sends nothing.
func (remote) Check(_ context.Context, l Locked) (evidence.Report, error) {
	return evidence.Report{remoteEvidence(l.Entry)}, nil
}

// Preview tells where the server is, and which variables are sent there.
func (remote) Preview(_ *host.Host, s project.Server) (p Preview) {
	if u, err := url.Parse(s.URL); err == nil {
		p.Hosts = []string{u.Host}
	}
	uses, err := headerUses(s)
	for _, u := range uses {
		if err == nil {
			p.Sends = append(p.Sends, u.Variable+" to "+u.Host)
		}
	}
	return p
}

// openRemote prepares a connection to the server of s, with the values of its variables. These are
// sent to the server, so the caller must have consent: to the entry of the lock, or to each
// variable. Those that are given are not taken from the environment.
func openRemote(w *workspace.Workspace, s project.Server, given map[string]string) (*program.Program, error) {
	headers, err := s.FillHeaders(func(name string) (string, bool) {
		if value, ok := given[name]; ok {
			return value, true
		}
		set := slices.ContainsFunc(w.Host.Environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		return w.Host.Getenv(name), set
	})
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, s.Name,
			"set the variable to what the header can hold, and run the command again", err)
	}
	return &program.Program{
		Server: s.Name, Remote: &process.Remote{Name: s.Name, URL: s.URL, Headers: headers},
		Subjects: []process.Subject{{Name: s.Name, Digest: s.Launch().Digest()}},
	}, nil
}

// remoteEvidence returns what is known about a server that is reached by its URL.
func remoteEvidence(entry project.ServerLock) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: entry.Ref, Scheme: evidence.Pin, Authority: evidence.Lock, Text: entry.Ref, Where: project.LockFile,
	}, entry.Launch.URL)
	e.Reason = "what runs there cannot be verified; what it shows is compared"
	return e
}

// headerUses returns the variables that the headers of a remote server send, and where.
func headerUses(s project.Server) ([]wire.VariableUse, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, s.Name, "", fmt.Errorf("its URL: %w", err))
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	var uses []wire.VariableUse
	for _, name := range s.HeaderVariables() {
		uses = append(uses, wire.VariableUse{Variable: name, Host: host, File: project.ConfigFile + ", headers of " +
			s.Name})
	}
	return uses, nil
}

// requireConsentToSend fails if a header of s would send a variable to a host without consent.
// Approving the present declaration of the server on this machine includes consent to its headers.
func requireConsentToSend(w *workspace.Workspace, s project.Server, given map[string]string) error {
	if workspace.IsApprovedAs(w, s) {
		return nil
	}
	uses, err := headerUses(s)
	if err != nil {
		return err
	}
	for _, u := range uses {
		if given[u.Variable] != "" || w.Host.Getenv(u.Variable) == "" {
			continue // FillHeaders reports a variable that is not set
		}
		if err := w.Host.RequireVariableConsent(u); err != nil {
			return err
		}
	}
	return nil
}
