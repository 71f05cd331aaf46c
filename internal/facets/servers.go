package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Servers say what becomes of the servers that facets declare.
type Servers struct {
	Skip bool // they are neither pinned nor written into clients' files
	// Begin is asked before a server is started for the first time, to see what it shows:
	// that runs code that the facet's author chose. Nil is no.
	Begin func(facet string, s project.Server) (bool, error)
	Pin   pin.Options // Confirm is asked for consent to what was found
}

// facetServer is a server of a facet as hallmark.toml would declare it. It is not ok if
// the facet names a URL, which hallmark.toml declares itself.
func (a *Assembly) facetServer(x *piece, name string) (s project.Server, ok bool, err error) {
	d := x.Manifest.Servers[name]
	s = project.Server{Name: name, Type: "stdio", Facet: x.Want.Name, OnDrift: "withhold", Requests: "allow"}
	switch {
	case d.Floor != nil:
		s.Source = project.SourceName(name, *d.Floor)
	case d.Image != "":
		s.Command, s.Arguments = a.containerEngine(name), []string{"run", "-i", "--rm", d.Image}
	case d.Command != "":
		s.Command, s.Arguments, s.Environment = d.Command, d.Args, d.Env
	default:
		return s, false, nil
	}
	mine, declared := a.Workspace.Config.Servers[name]
	switch {
	case !declared:
		return s, true, nil
	case mine.Facet != x.Want.Name:
		return s, false, evidence.Errorf(evidence.Refused, name,
			"rename or remove yours, or leave those of facets out with --no-servers",
			fmt.Errorf("is declared by %s line %d and by %s", project.ConfigFile, mine.Line, x.Subject()))
	}
	s.Line, s.Variables, s.OnDrift, s.Kinds, s.Requests = mine.Line, mine.Variables, mine.OnDrift, mine.Kinds,
		mine.Requests
	return s, true, nil
}

// containerEngine is the container engine for an image that a facet names: the locked one, or the
// first that is there.
func (a *Assembly) containerEngine(name string) string {
	if entry, ok := a.Workspace.Lock.Server(name); ok && entry.Launch.Facet != "" && entry.Source.Pulled() {
		return entry.Launch.Command
	}
	engines := []string{"docker", "podman", "nerdctl"}
	for _, engine := range engines {
		if _, err := workspace.FindIn(a.Workspace.Host.Getenv("PATH"), engine); err == nil {
			return engine
		}
	}
	return engines[0]
}

// pinServers pins what the facets declare and the lock does not have so yet, and returns the
// names of all of theirs that are locked, and the files that change. What no facet declares
// any more leaves the lock.
func (a *Assembly) pinServers(ctx context.Context,
	o Servers, out *Installation) (names []string, files []durable.File, err error) {
	var (
		wanted   []project.Server
		problems []error
	)
	for _, facetName := range slices.Sorted(maps.Keys(a.Pieces)) {
		x := a.Pieces[facetName]
		for _, name := range slices.Sorted(maps.Keys(x.Manifest.Servers)) {
			s, ok, err := a.facetServer(x, name)
			switch {
			case o.Skip || err == nil && !ok:
				out.Servers = append(out.Servers, x.Subject()+": "+name)
			case err != nil:
				problems = append(problems, err)
			default:
				wanted = append(wanted, s)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, nil, err
	}
	changed := false
	for _, s := range wanted {
		entry, locked := a.Workspace.Lock.Server(s.Name)
		same := locked && evidence.Same(entry.Launch.Digest(), s.Launch().Digest())
		if same && (a.o.Frozen || !a.Fresh(s.Facet)) {
			names = append(names, s.Name)
			continue
		}
		subject := a.Pieces[s.Facet].Subject() + ": " + s.Name
		switch {
		case a.o.Frozen:
			return nil, nil, evidence.Errorf(evidence.Refused, subject,
				"run 'hallmark install' without --frozen, and commit the lock",
				errors.New("is a server that is not locked as the facet declares it"))
		case a.o.Dry:
			out.Servers = append(out.Servers, subject)
			if same {
				names = append(names, s.Name)
			}
			continue
		case a.o.Offline:
			return nil, nil, obtain.OfflineError(subject)
		}
		begin := false
		if o.Begin != nil {
			if begin, err = o.Begin(a.Pieces[s.Facet].Subject(), s); err != nil {
				return nil, nil, err
			}
		}
		if !begin {
			return nil, nil, evidence.Errorf(evidence.Refused, subject,
				"--yes consents, --no-servers installs the rest of the facet",
				errors.New("is a server that would be started to see what it shows, and nobody consented"))
		}
		p := &pin.Pinning{Workspace: a.Workspace, Logs: a.Logs, Options: o.Pin, Declared: s, Path: a.Workspace.Host.Getenv("PATH")}
		more, err := p.Pin(ctx)
		if p.Result.Name != "" {
			out.Pinned = append(out.Pinned, &p.Result)
		}
		if err != nil {
			return nil, nil, err
		}
		files, names, changed = append(files, more...), append(names, s.Name), true
	}
	if !a.o.Frozen {
		for _, name := range a.Workspace.Lock.Servers() {
			entry, _ := a.Workspace.Lock.Server(name)
			if entry.Launch.Facet == "" ||
				slices.ContainsFunc(wanted, func(s project.Server) bool { return s.Name == name }) {
				continue
			}
			if _, held := a.Pieces[entry.Launch.Facet]; held && o.Skip {
				continue
			}
			a.Workspace.Lock.Remove(name)
			delete(a.Workspace.Approvals.Servers, name)
			changed = true
			files = append(files, lockentry.FilesBeside(a.Workspace, name, &entry, nil, nil)...)
		}
	}
	changed = a.forgetRemovedServers() || changed
	if changed {
		approvals, err := a.Workspace.Approvals.Encode()
		if err != nil {
			return nil, nil, err
		}
		files = append(files, durable.File{Path: a.Workspace.ApprovalsPath(), Data: approvals, Perm: 0o600})
	}
	slices.Sort(names)
	return names, files, nil
}

// forgetRemovedServers forgets the approval of each server that was one of a facet whose contents, which
// are here and verified, do not declare it any more: somebody else's upgrade took it out of the
// lock. It reports whether there was any.
func (a *Assembly) forgetRemovedServers() (changed bool) {
	for name, approved := range a.Workspace.Approvals.Servers {
		if _, locked := a.Workspace.Lock.Server(name); locked || approved.Facet == "" {
			continue
		}
		x, held := a.Pieces[approved.Facet]
		if held {
			if _, declares := x.Manifest.Servers[name]; declares {
				continue
			}
		}
		delete(a.Workspace.Approvals.Servers, name)
		changed = true
	}
	return changed
}

// DeclaredEvidence is the evidence that a facet declares a locked server as it was locked.
func DeclaredEvidence(m *facet.Manifest, subject, name string, entry project.ServerLock) (e evidence.Evidence) {
	d, ok := m.Servers[name]
	l := entry.Launch
	same := ok && (d.Floor != nil && l.Source == project.SourceName(name, *d.Floor) ||
		d.Image != "" && project.Server{Command: l.Command, Arguments: l.Arguments}.Kind().Pulled() &&
			slices.Equal(l.Arguments, []string{"run", "-i", "--rm", d.Image}) ||
		d.Command != "" && l.Command == d.Command && slices.Equal(l.Arguments, append([]string{}, d.Args...)) &&
			maps.Equal(l.Environment, d.Env))
	c := evidence.Claim{Subject: name, Scheme: evidence.Launch, Authority: evidence.Lock,
		Text: "as " + subject + " declares it", Where: project.LockFile}
	if same {
		return evidence.Fact(c, c.Text)
	}
	return evidence.Fact(c, "otherwise, or not at all")
}
