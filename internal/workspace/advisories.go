package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// advisories are the databases of advisories that a command opened: each once, whatever the number of servers.
type advisories struct {
	mu     sync.Mutex
	opened map[artifact.Kind]*openAdvisories
}

type openAdvisories struct {
	database *AdvisoryDatabase // nil with an error
	err      error
}

func (a *advisories) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.opened {
		if of.database != nil {
			of.database.Close()
		}
	}
	a.opened = nil
}

// Advisories opens the database of advisories about packages of a kind that [policy] names, and returns where it is, in
// words for a person. Without such a setting, and for kinds of which nobody keeps advisories, both are zero. Of a URL
// it keeps a copy in the cache, which it compares with the URL once in a command. Errors come from [openDatabase],
// of [fetch.Client.Mirror] and of consent to ask the host.
func (w *Workspace) Advisories(ctx context.Context, kind artifact.Kind) (_ *AdvisoryDatabase, where string, err error) {
	file, known := AdvisoryFile(kind)
	place := w.Config.Policy.Advisories
	if place == "" || !known {
		return nil, "", nil
	}
	from := w.Config.Policy.AdvisoriesURL()
	if where = filepath.ToSlash(filepath.Join(place, filepath.FromSlash(file))); from != "" {
		where = from + "/" + file
	}
	a := &w.advisories
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.opened[kind]; of != nil {
		return of.database, where, of.err
	}
	of := new(openAdvisories)
	done := w.Host.Announce("reading %s", where)
	of.database, of.err = w.openAdvisories(ctx, kind, from, file)
	done()
	if ctx.Err() == nil {
		if a.opened == nil {
			a.opened = map[artifact.Kind]*openAdvisories{}
		}
		a.opened[kind] = of
	}
	return of.database, where, of.err
}

// openAdvisories opens the database in a file of the place that [policy] names, which is the URL from or, if that is
// "", a directory.
func (w *Workspace) openAdvisories(ctx context.Context, kind artifact.Kind, from, file string) (*AdvisoryDatabase,
	error) {
	if from == "" {
		dir := filepath.FromSlash(w.Config.Policy.Advisories)
		if !filepath.IsAbs(dir) {
			dir = w.Path(dir)
		}
		return openDatabase(ctx, filepath.Join(dir, filepath.FromSlash(file)), kind, databaseLimits{})
	}
	if err := w.Host.RequireHostConsent(w.AdvisoryHosts()...); err != nil {
		return nil, err
	}
	u, err := url.Parse(from + "/" + file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(u.String()))
	dir := filepath.Join(w.Host.Places.Cache, "advisories", hex.EncodeToString(sum[:16]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := w.Host.Lock(ctx, filepath.Join(dir, "lock"), "a download of "+u.String(), 0)
	if err != nil {
		return nil, err
	}
	defer unlock()
	path, err := w.Host.Fetch.Mirror(ctx, u, dir, defaultDatabaseLimits().Zip)
	if err != nil {
		return nil, err
	}
	return openDatabase(ctx, path, kind, databaseLimits{})
}

// PackageHosts returns the host that is asked about the packages of a server that is about to be locked.
func (w *Workspace) PackageHosts(s project.Server) []wire.HostUse {
	if s.Record != "" || s.Source != "" {
		return w.AdvisoryHosts() // a record says of which kind its package is
	}
	if s.Command == "" {
		return nil
	}
	for _, p := range launcher.Parse(s.Command, s.Arguments).Packages {
		if _, known := AdvisoryFile(artifact.Kind(p.Ecosystem)); known {
			return w.AdvisoryHosts()
		}
	}
	return nil
}

// AdvisoryHosts returns the host that advisories are got from; none if that is a directory, or nowhere.
func (w *Workspace) AdvisoryHosts() []wire.HostUse {
	from := w.Config.Policy.AdvisoriesURL()
	if from == "" {
		return nil
	}
	return []wire.HostUse{{Host: host.HostOfURL(from), File: project.ConfigFile + ", [policy] advisories"}}
}
