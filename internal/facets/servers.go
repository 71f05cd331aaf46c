package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// facetServer is a server of a facet as hallmark.toml would declare it. It is not ok if
// the facet names a URL, which hallmark.toml declares itself.
func (a *Assembly) facetServer(x *piece, declared string) (s project.Server, ok bool, err error) {
	d, name := x.Manifest.Servers[declared], facet.EntryName(declared)
	s = project.Server{Name: name, Type: "stdio", Facet: x.Want.Name, OnDrift: "withhold", Requests: "allow"}
	switch {
	case d.Floor != nil:
		s.Source = project.SourceName(declared, *d.Floor)
	case d.Image != "":
		s.Command, s.Arguments = a.containerEngine(name), []string{"run", "-i", "--rm", d.Image}
	case d.Command != "":
		s.Command, s.Arguments, s.Environment = d.Command, d.Args, d.Env
	default:
		return s, false, nil
	}
	mine, here := a.Workspace.Config.Servers[name]
	switch {
	case !here:
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

// pinnedServers is what became of the servers that facets declare.
type pinnedServers struct {
	names   []string       // of all that are locked
	changes []ServerChange // of all that are or were locked, or are declared
	pinned  []*pin.Pinned  // that were looked at
	files   []durable.File // that change
}

// skipped are the servers that were not pinned, as "FACET: SERVER".
func (a *Assembly) skipped(changes []ServerChange) (out []string) {
	for _, c := range changes {
		if c.Outcome == ServerSkipped {
			out = append(out, a.Pieces[c.Facet].Subject()+": "+c.Name)
		}
	}
	return out
}

// pinServers pins what the facets declare and the lock does not have so yet; of those that are to be
// looked at anew only what their sources have otherwise now. What no facet declares any more leaves
// the lock. Beside an error it returns what was done before.
func (a *Assembly) pinServers(ctx context.Context) (out pinnedServers, err error) {
	defer func() { sortServerChanges(out.changes) }()
	wanted, skipped, err := a.declaredServers()
	if out.changes = skipped; err != nil {
		return out, err
	}
	staying := a.stayingServers(skipped)
	out.names = slices.Clone(staying)
	for i, s := range wanted {
		entry, locked := a.Workspace.Lock.Server(s.Name)
		same := locked && sameLaunch(entry, s)
		var status *ServerStatus
		if same {
			if status, err = a.lookAnew(ctx, s); err != nil {
				return out, err
			}
			if status == nil || !status.Outdated() {
				out.names = append(out.names, s.Name)
				out.changes = append(out.changes, unchangedServer(s, entry, status))
				continue
			}
		}
		subject := a.Pieces[s.Facet].Subject() + ": " + s.Name
		if err := a.checkPinnable(subject, staying, wanted, len(out.pinned) == 0); err != nil {
			return out, err
		}
		pinned, files, err := a.pinServer(ctx, s, subject, same)
		if pinned != nil {
			out.pinned = append(out.pinned, pinned)
			out.changes = append(out.changes, pinnedChange(s, pinned, status, err != nil))
		}
		if err != nil {
			return out, explainUnpinned(ctx, subject, err, a.alsoStarted(wanted[i+1:]))
		}
		if !a.o.Dry || locked { // a dry run adds nothing to the lock
			out.names = append(out.names, s.Name)
		}
		if !a.o.Dry {
			out.files = append(out.files, files...)
		}
	}
	files, removed, err := a.removeUndeclared(wanted, skipped)
	if err != nil {
		return out, err
	}
	out.files, out.changes = append(out.files, files...), append(out.changes, removed...)
	slices.Sort(out.names)
	return out, nil
}

// stayingServers are the locked servers of those that are skipped because they belong to another facet.
func (a *Assembly) stayingServers(skipped []ServerChange) (names []string) {
	for _, c := range skipped {
		if _, locked := a.Workspace.Lock.Server(c.Name); locked && c.Why == OfAnother {
			names = append(names, c.Name)
		}
	}
	return names
}

// checkPinnable is an error if this command may pin no server; before the first one also if clients' files cannot take
// all of them: what cannot be installed need not be looked at.
func (a *Assembly) checkPinnable(subject string, staying []string, wanted []project.Server, first bool) error {
	switch {
	case a.o.Frozen:
		return evidence.Errorf(evidence.Refused, subject,
			"run 'hallmark install' without --frozen, and commit the lock",
			errors.New("is a server that is not locked as the facet declares it"))
	case a.o.Offline:
		return obtain.OfflineError(subject)
	case first:
		names := slices.Clone(staying)
		for _, s := range wanted {
			names = append(names, s.Name)
		}
		return installed.CheckClientFiles(a.Workspace, names, a.serverOwners())
	}
	return nil
}

// lookAnew asks the source of a locked server what it has now, if this command looks at the server
// anew; nil if it does not.
func (a *Assembly) lookAnew(ctx context.Context, s project.Server) (*ServerStatus, error) {
	named := slices.Contains(a.anew.Servers, s.Name)
	switch {
	case a.o.Frozen || !named && !a.anew.includes(s.Facet):
		return nil, nil
	case a.o.Offline && named:
		return nil, obtain.OfflineError(s.Name)
	case a.o.Offline:
		return nil, nil
	}
	status, _, err := findLatest(ctx, a.Workspace, s, "")
	return &status, err
}

// declaredServers are the servers that the facets declare, as hallmark.toml would; and those that
// are not pinned.
func (a *Assembly) declaredServers() (wanted []project.Server, skipped []ServerChange, err error) {
	var problems []error
	added := a.added()
	for _, facetName := range slices.Sorted(maps.Keys(a.Pieces)) {
		x := a.Pieces[facetName]
		for _, name := range x.servers() {
			s, ok, err := a.facetServer(x, name)
			skip := ServerChange{Name: facet.EntryName(name), Facet: facetName, Outcome: ServerSkipped}
			switch {
			case a.o.Servers.Skip:
				skip.Why = LeftOut
				skipped = append(skipped, skip)
			case err != nil:
				problems = append(problems, err)
			case !ok:
				skip.Why = "it is reached by its URL"
				skipped = append(skipped, skip)
			case added != nil && !added[facetName] && !a.isLockedAs(s):
				skip.Why = OfAnother
				skipped = append(skipped, skip)
			default:
				wanted = append(wanted, s)
			}
		}
	}
	return wanted, skipped, errors.Join(problems...)
}

// added returns the facets that this command adds, with those that they bring along; nil for another command. Who
// adds a facet consents to start its servers, and no others.
func (a *Assembly) added() map[string]bool {
	if len(a.anew.Declared) == 0 {
		return nil
	}
	found, round := map[string]bool{}, a.anew.Declared
	for len(round) > 0 {
		var next []string
		for _, name := range round {
			if x, ok := a.Pieces[name]; ok && !found[name] {
				found[name] = true
				for _, c := range x.Manifest.Facets {
					next = append(next, c.Name)
				}
			}
		}
		round = next
	}
	return found
}

// isLockedAs reports whether the lock has a server as it is declared.
func (a *Assembly) isLockedAs(s project.Server) bool {
	entry, locked := a.Workspace.Lock.Server(s.Name)
	return locked && sameLaunch(entry, s)
}

// pinServer pins a server of a facet, if the person who installs it consents to start it. Upgrade
// means that it is declared as it was locked. What was found is returned beside an error too; nil if
// nothing was found.
func (a *Assembly) pinServer(ctx context.Context, s project.Server,
	subject string, upgrade bool) (*pin.Pinned, []durable.File, error) {
	o := a.o.Servers
	begin := o.Begin == nil && o.Pin.Start != nil // which is asked when it is known what would be started
	if o.Begin != nil {
		var err error
		if begin, err = o.Begin(a.Pieces[s.Facet].Subject(), s); err != nil {
			return nil, nil, err
		}
	}
	if !begin {
		return nil, nil, evidence.Errorf(evidence.Refused, subject,
			"--yes consents, "+withoutServers,
			errNoConsent)
	}
	p := &pin.Pinning{Workspace: a.Workspace, Logs: a.Logs, Options: o.Pin, Declared: s,
		Path: a.Workspace.Host.Getenv("PATH"), Upgrade: upgrade}
	p.Options.Dry = p.Options.Dry || a.o.Dry
	files, err := p.Pin(ctx)
	if p.Result.Name == "" {
		return nil, files, err
	}
	return &p.Result, files, err
}

// withoutServers is what leads on where a server of a facet cannot be pinned.
const withoutServers = "--no-servers installs the rest of the facet"

// errNoConsent is the error for a server that is not started.
var errNoConsent = errors.New("is a server that would be started to see what it shows, and nobody consented")

// alsoStarted are the servers among some that would be started too.
func (a *Assembly) alsoStarted(servers []project.Server) (names []string) {
	for _, s := range servers {
		if !a.isLockedAs(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// explainUnpinned is the error for a server of a facet that cannot be pinned, with what leads on without it. Others are
// those that would be started after it.
func explainUnpinned(ctx context.Context, subject string, err error, others []string) error {
	if problem, ok := errors.AsType[*evidence.Error](err); ok && errors.Is(err, errNoConsent) && len(others) > 0 {
		explained := *problem
		explained.Err = fmt.Errorf("%w; so would %s", problem.Err, strings.Join(others, ", "))
		return &explained
	}
	if problem, ok := errors.AsType[*evidence.Error](err); ok {
		if ctx.Err() != nil || strings.Contains(problem.Hint, withoutServers) {
			return err
		}
		explained := *problem
		if explained.Hint != "" {
			explained.Hint += "; "
		}
		explained.Hint += withoutServers
		return &explained
	}
	if _, refused := errors.AsType[*policy.Refusal](err); refused || ctx.Err() != nil {
		return err
	}
	return evidence.Errorf(evidence.ClassOf(err), subject, withoutServers, err)
}

// removeUndeclared takes the servers that no facet declares any more out of the lock, and returns
// the files of theirs that are removed. A frozen installation refuses such a lock.
func (a *Assembly) removeUndeclared(wanted []project.Server, skipped []ServerChange) (files []durable.File,
	removed []ServerChange, err error) {
	for _, name := range a.Workspace.Lock.Servers() {
		entry, _ := a.Workspace.Lock.Server(name)
		if entry.Launch.Facet == "" ||
			slices.ContainsFunc(wanted, func(s project.Server) bool { return s.Name == name }) {
			continue
		}
		if slices.ContainsFunc(skipped, func(c ServerChange) bool { return c.Name == name }) {
			continue
		}
		if a.o.Frozen {
			return nil, nil, evidence.Errorf(evidence.Refused, name,
				"run 'hallmark install' without --frozen, and commit the lock",
				fmt.Errorf("is locked as a server of the facet %+q, which does not declare it, or of which 'parts' "+
					"leaves it out", entry.Launch.Facet))
		}
		a.Workspace.Lock.Remove(name)
		removed = append(removed,
			ServerChange{Name: name, Facet: entry.Launch.Facet, Outcome: ServerRemoved, Before: &entry})
		files = append(files, workspace.FilesBeside(a.Workspace, name, &entry, nil, nil)...)
	}
	return files, removed, nil
}

// serverOwners are the facets that declare servers, by name of the server.
func (a *Assembly) serverOwners() map[string]string {
	out := map[string]string{}
	for _, x := range a.Pieces {
		for _, name := range x.servers() {
			out[facet.EntryName(name)] = x.Subject()
		}
	}
	return out
}
