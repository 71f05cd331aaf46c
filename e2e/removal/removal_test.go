package removal

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// The removal campaign: each file that Hallmark reads is deleted and emptied, and each member,
// element and line of it is taken out; then each command that uses it must refuse, or a
// row of testdata/harmless.json says why nobody gains anything.

// removalWorld is a machine that installed and approved all of a project.
type removalWorld struct {
	*hosttest.FacetProject
	name     string
	table    *harmlessTable
	seen     *seenMembers
	commands []removalCommand
	owners   map[string]string // by file: the server that it is of
	slots    map[string]string // by directory of a slot: the server that it is of
	skip     func(file string) bool
	without  map[string]string // commands, with the server if they have one, that cannot pass here; and why
	kept     map[string]keptFile
	dirs     map[string]bool // that were there when the files were kept
	colds    int
}

// removalCommand is one command that must not be talked out of anything.
type removalCommand struct {
	name    string
	changes bool     // it may write what was removed again
	fresh   bool     // on a machine that has seen nothing: a CI with the project and its keys
	cold    bool     // with an empty store
	each    bool     // is run for each server
	uses    []string // patterns of the files that it reads; nil: all
	run     func(w *removalWorld, h *host.Host, server string) error
}

// keptFile is a file as it was.
type keptFile struct {
	mode fs.FileMode
	data []byte
	info fs.FileInfo // when it was written last; a file that is still that one is not read again
}

// still reports whether a file is the one that was kept, and nobody wrote to it since.
func (k keptFile) still(info fs.FileInfo) bool {
	return k.info != nil && os.SameFile(k.info, info) && k.info.ModTime().Equal(info.ModTime()) &&
		k.info.Size() == info.Size() && k.info.Mode() == info.Mode()
}

// readers are the only commands that read some files.
var readers = map[string][]string{
	".mcp.json":                      {"scan", "unpin"},
	".mcp.json.hallmark":             {"unpin"},
	"state/projects/ID/drift-*.json": {"check", "check --offline", "review"},
}

// reads reports whether a command reads a file.
func (c removalCommand) reads(file string) bool {
	for pattern, names := range readers {
		if matches(pattern, file) {
			return slices.Contains(names, c.name)
		}
	}
	switch {
	case c.fresh && strings.HasPrefix(file, "state/"), c.cold && strings.HasPrefix(file, "cache/"):
		return false // it has others
	case c.uses == nil:
		return true
	}
	return slices.ContainsFunc(c.uses, func(pattern string) bool { return matches(pattern, file) })
}

func ofCheck(o check.Options) func(*removalWorld, *host.Host, string) error {
	return func(w *removalWorld, h *host.Host, _ string) error {
		out, err := check.Check(w.T.Context(), h, w.Dir, o)
		return errors.Join(err, out.Verdict.Err())
	}
}

func ofInstall(o facets.Options) func(*removalWorld, *host.Host, string) error {
	return func(w *removalWorld, h *host.Host, _ string) error {
		_, err := facets.Install(w.T.Context(), h, w.Dir, o)
		return err
	}
}

// tryRun is what 'run' decides before it starts anything.
func tryRun(w *removalWorld, h *host.Host, name string) error {
	ws, done, err := workspace.Open(w.T.Context(), h, w.Dir, false)
	if err != nil {
		return err
	}
	defer done()
	declared, err := ws.Server(name)
	if err != nil {
		return err
	}
	l := &launch.Launch{Workspace: ws, Logs: ws.Logs(trail.Options{}), Declared: declared}
	if entry, ok := ws.Lock.Server(name); ok {
		l.Entry = &entry
	}
	prog, _, err := l.Prepare(w.T.Context())
	if prog != nil {
		defer prog.Close()
	}
	return err
}

// tryScan fails as scan does, and where scan does not say that a server of the client's file is
// guarded.
func tryScan(w *removalWorld, h *host.Host, _ string) error {
	found, err := scan.Scan(w.T.Context(), h,
		scan.Options{Dir: w.Dir, Project: true, Home: filepath.Join(w.base(), "home"),
			Program: filepath.Join(w.base(), "bin", "hallmark")})
	if err != nil {
		return err
	}
	if err := found.Verdict.Err(); err != nil {
		return err
	}
	for _, s := range found.Servers {
		if !s.Guarded {
			return evidence.Errorf(evidence.Refused, s.Name, "", errors.New("is not guarded"))
		}
	}
	return nil
}

func removalCommands() []removalCommand {
	consent := func(*pin.Pinned) (host.Consent, error) { return host.StandingConsent, nil }
	return []removalCommand{
		{name: "check", run: ofCheck(check.Options{})},
		{name: "check --offline", run: ofCheck(check.Options{Offline: true})},
		{name: "run", each: true, run: tryRun, changes: true},
		{name: "install --frozen", run: ofInstall(facets.Options{Frozen: true}), changes: true},
		{name: "install --frozen, cold", cold: true, run: ofInstall(facets.Options{Frozen: true}), changes: true},
		{name: "install", changes: true,
			run: ofInstall(facets.Options{Servers: facets.Servers{Pin: pin.Options{Confirm: consent}}})},
		{name: "pin --yes", changes: true, each: true, run: func(w *removalWorld, h *host.Host, server string) error {
			_, err := pin.Pin(w.T.Context(), h, w.Dir, []string{server}, pin.Options{Confirm: consent})
			return err
		}},
		{name: "upgrade --yes", changes: true, run: func(w *removalWorld, h *host.Host, _ string) error {
			_, err := facets.Upgrade(w.T.Context(), h, w.Dir, nil,
				facets.UpgradeOptions{Pin: pin.Options{Confirm: consent},
					Facets: facets.Options{Confirm: hosttest.ConsentToChanges,
						Servers: facets.Servers{Pin: pin.Options{Confirm: consent}}}})
			return err
		}},
		{name: "review", changes: true, each: true, run: func(w *removalWorld, h *host.Host, server string) error {
			_, err := launch.Review(w.T.Context(), h, w.Dir, server,
				launch.ReviewOptions{
					Confirm: func(*launch.Reviewed) (host.Consent, error) { return host.NoConsent, nil }})
			return err
		}},
		{name: "outdated", uses: []string{project.ConfigFile, project.LockFile},
			run: func(w *removalWorld, h *host.Host, _ string) error {
				_, err := facets.Outdated(w.T.Context(), h, w.Dir)
				return err
			}},
		{name: "scan",
			uses: []string{project.ConfigFile, project.LockFile, ".mcp.json", "state/projects/ID/approvals.json"},
			run:  tryScan},
		{name: "unpin", changes: true, each: true, uses: []string{".mcp.json", ".mcp.json.hallmark"},
			run: func(w *removalWorld, h *host.Host, server string) error {
				_, err := pin.Unpin(w.T.Context(), h, w.Dir, []string{server},
					pin.UnpinOptions{Confirm: func([]pin.Restored) (bool, error) { return true, nil }})
				return err
			}},
		{name: "fresh check", fresh: true, cold: true, run: ofCheck(check.Options{})},
		{name: "fresh check --offline", fresh: true, cold: true, run: ofCheck(check.Options{Offline: true})},
		{name: "fresh install --frozen", fresh: true, cold: true, changes: true,
			run: ofInstall(facets.Options{Frozen: true})},
	}
}

// base is the directory that holds all of the world.
func (w *removalWorld) base() string { return filepath.Dir(w.Dir) }

// remember keeps all files of the world, to be restored.
func (w *removalWorld) remember() {
	w.T.Helper()
	w.dirs = map[string]bool{}
	w.kept = w.walk(func(dir string) { w.dirs[dir] = true })
}

// files are all files of the world.
func (w *removalWorld) files() map[string]keptFile { return w.walk(func(string) {}) }

// walk gives all files of the world, after enter was called for each directory, which may
// remove it.
func (w *removalWorld) walk(enter func(dir string)) map[string]keptFile {
	w.T.Helper()
	out := map[string]keptFile{}
	for _, root := range []string{w.Dir, w.Host.Places.State, w.Host.Places.Cache} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				enter(path)
			}
			if errors.Is(err, fs.ErrNotExist) && path != root {
				return nil // it was removed
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if was, ok := w.kept[path]; ok && was.still(info) {
				out[path] = was
				return nil
			}
			data, err := os.ReadFile(path)
			out[path] = keptFile{info.Mode().Perm(), data, info}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.T.Fatal(err)
		}
	}
	return out
}

// restore brings back all files as they were kept, and leaves no other directory: what a
// command left would be walked through a thousand times.
func (w *removalWorld) restore() {
	w.T.Helper()
	now := w.walk(func(dir string) {
		if !w.dirs[dir] {
			hosttest.RemoveTree(dir)
		}
	})
	for path, is := range now {
		switch was, ok := w.kept[path]; {
		case !ok:
			w.put(path, nil)
		case is.mode != was.mode || !bytes.Equal(is.data, was.data):
			w.put(path, &was)
			w.keep(path, was)
		case is.info != was.info: // written again as it was
			w.kept[path] = is
		}
	}
	for path, was := range w.kept {
		if _, ok := now[path]; !ok {
			w.put(path, &was)
			w.keep(path, was)
		}
	}
}

// keep remembers a file that was brought back.
func (w *removalWorld) keep(path string, was keptFile) {
	w.T.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		w.T.Fatal(err)
	}
	was.info = info
	w.kept[path] = was
}

// put writes a file, even into a directory that is read only, or removes it.
func (w *removalWorld) put(path string, f *keptFile) {
	w.T.Helper()
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.T.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		w.T.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o200 == 0 {
		os.Chmod(dir, 0o700)
		defer os.Chmod(dir, mode)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.T.Fatal(err)
	}
	if f == nil {
		return
	}
	if err := os.WriteFile(path, f.data, 0o600); err != nil {
		w.T.Fatal(err)
	}
	if err := os.Chmod(path, f.mode); err != nil {
		w.T.Fatal(err)
	}
}

// called is how the table names a file: names that differ from run to run are replaced.
func (w *removalWorld) called(path string) string {
	rel, err := filepath.Rel(w.base(), path)
	if err != nil {
		w.T.Fatal(err)
	}
	rel = filepath.ToSlash(rel)
	rel = regexp.MustCompile(`[0-9a-f]{16,}`).ReplaceAllString(rel, "ID")
	rel = regexp.MustCompile(`sha256/[0-9a-f]{2}/`).ReplaceAllString(rel, "")
	rel = regexp.MustCompile(`receipts/project-[0-9a-f]+`).ReplaceAllString(rel, "receipts/project-ID")
	return strings.TrimPrefix(rel, "project/")
}

// owner is the server or facet that a part of a file is about, and whether it is a server.
func (w *removalWorld) owner(path, file string, at []string) string {
	for dir, of := range w.slots {
		if strings.HasPrefix(path, dir+"/") {
			return of
		}
	}
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	switch {
	case strings.HasPrefix(file, project.SurfacesDir) || strings.HasPrefix(file, project.ClosuresDir):
		return name
	case strings.HasPrefix(name, "drift-"):
		return strings.TrimPrefix(name, "drift-")
	}
	if of := w.owners[file]; of != "" {
		return of
	}
	for i, member := range at {
		if slices.Contains([]string{"servers", "unlocked", "facets", "mcp"}, member) && i+1 < len(at) {
			return at[i+1]
		}
	}
	return ""
}

// machine is the host on which a command runs.
func (w *removalWorld) machine(c removalCommand) *host.Host {
	h := *w.Host
	w.colds++
	if c.cold {
		h.Places.Cache = filepath.Join(w.base(), "cold", strconv.Itoa(w.colds), "cache")
	}
	if c.fresh {
		h.Places.State = filepath.Join(w.base(), "cold", strconv.Itoa(w.colds), "state")
		if keys, ok := w.kept[hosttest.TrustedKeysOf(w.Host)]; ok { // which a person names
			w.put(hosttest.TrustedKeysOf(&h), &keys)
		}
	}
	return &h
}

// attempt runs a command and gives its class.
func (w *removalWorld) attempt(c removalCommand, server string) (evidence.Class, error) {
	h := w.machine(c)
	err := c.run(w, h, server)
	if c.cold {
		hosttest.RemoveTree(filepath.Join(w.base(), "cold"))
	}
	return evidence.ClassOf(err), err
}

// restored reports whether a command wrote what was removed again, as it was.
func (w *removalWorld) restored(r removal) bool {
	data, err := os.ReadFile(r.path)
	if err != nil {
		return false
	}
	was := w.kept[r.path].data
	var now, then map[string]any
	if strings.HasSuffix(r.file, ".toml") || !decodeTree(data, &now) || !decodeTree(was, &then) {
		return bytes.Equal(data, was)
	}
	return alike(any(then), any(now))
}

// campaign takes everything out, and runs every command.
func (w *removalWorld) campaign(commands []removalCommand) {
	t := w.T
	w.remember()
	var servers []string
	var unlocked map[string]bool
	if slices.ContainsFunc(commands, func(c removalCommand) bool { return c.each }) {
		servers, unlocked = w.servers()
	}
	passes := map[string]bool{} // what passes if nothing is removed
	for _, c := range commands {
		of := []string{""}
		if c.each {
			of = servers
		}
		for _, server := range of {
			class, err := w.attempt(c, server)
			// Drift that was noted passes, too: its note must not be lost.
			called := strings.TrimSpace(c.name + " " + server)
			ok := class == evidence.OK || class == evidence.Drift
			passes[called] = ok
			switch why, without := w.without[called]; {
			case !ok && !without:
				t.Errorf("%s fails where nothing is removed, so that it could pass over nothing: %v", called, err)
			case ok && without:
				t.Errorf("%s passes: it need not be left out as %q", called, why)
			}
			w.restore()
		}
	}
	var all []removal
	for _, path := range slices.Sorted(maps.Keys(w.kept)) {
		if file := w.called(path); w.skip == nil || !w.skip(file) {
			all = append(all, removalsOf(t, file, path, w.kept[path].data)...)
		}
	}
	w.seen.add(all)
	whole := len(all)
	// In a short campaign each command runs on each world with nothing removed, and on most with
	// each file and each of its first members removed; of the others, and of worlds whose
	// commands start programs, with a few that are chosen.
	slow := slices.Contains([]string{"sources", "pip"}, w.name)
	all = sampled(t, all, !slow, 8)
	pairs, refused, back, excused := 0, 0, 0, 0
	bad := map[string]int{}
	for _, r := range all {
		r.owner = w.owner(r.path, r.file, r.at)
		if w.table.explains(r, "all") {
			excused++
			continue
		}
		apply := func() {
			if r.gone {
				w.put(r.path, nil)
			} else {
				w.put(r.path, &keptFile{mode: w.kept[r.path].mode, data: r.data})
			}
		}
		apply()
		for _, c := range commands {
			if !c.reads(r.file) || c.name == "scan" && w.name != "servers" ||
				w.slots != nil && !c.each && c.changes && strings.HasPrefix(r.file, "cache/") {
				continue
			}
			of := []string{""}
			if c.each {
				of = servers
				if slices.Contains(servers, r.owner) {
					of = []string{r.owner}
				} else if r.owner != "" {
					of = nil
				}
			} else if c.name == "scan" && r.owner != "" && r.owner != "client" {
				continue // which is all that the client's file starts
			}
			for _, server := range of {
				if !passes[strings.TrimSpace(c.name+" "+server)] ||
					server != "" && unlocked[server] && strings.HasPrefix(r.file, "hallmark.") &&
						r.file != project.ConfigFile {
					continue
				}
				class, err := w.attempt(c, server)
				pairs++
				switch {
				case class == evidence.OK && !(c.changes && w.restored(r)):
					if w.table.explains(r, c.name) {
						excused++
						break
					}
					if bad[r.file+c.name]++; bad[r.file+c.name] < 400 {
						t.Errorf("%s\t%s %s\t%v %v", r, c.name, server, class, err)
					}
				case class == evidence.OK:
					back++
				default:
					refused++
				}
				if c.changes {
					w.restore()
					apply()
				}
			}
		}
		w.restore()
	}
	t.Logf("%d of %d removals: %d commands run, of which %d refused and %d wrote again what was removed; %d harmless "+
		"by the table", len(all), whole, pairs, refused, back, excused)
}

// servers are the names of all that are declared, and those of them that need no lock entry.
func (w *removalWorld) servers() (names []string, unlocked map[string]bool) {
	config, err := project.ParseConfig([]byte(w.FacetProject.Read(project.ConfigFile)))
	if err != nil {
		w.T.Fatal(err)
	}
	unlocked = map[string]bool{}
	for name, s := range config.Servers {
		unlocked[name] = s.Unlocked
	}
	return slices.Sorted(maps.Keys(config.Servers)), unlocked
}

// sampled are all removals of the whole campaign. Else they are with firsts those of files and of their first members,
// but in the store; one of each member of the lock, by its name; and some of the others.
func sampled(t *testing.T, all []removal, firsts bool, more int) []removal {
	if sample.Whole() {
		return all
	}
	var some, others []removal
	ofLock := map[string][]removal{}
	for _, r := range all {
		switch {
		case firsts && len(r.at) == 1 && !strings.HasPrefix(r.file, "cache/"):
			some = append(some, r)
		case firsts && r.file == project.LockFile && r.how != "": // else it is mere corruption
			name := r.at[len(r.at)-1]
			ofLock[name] = append(ofLock[name], r)
		default:
			others = append(others, r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ofLock)) {
		some = append(some, sample.Of(t, ofLock[name], 1)...)
	}
	return append(some, sample.Of(t, others, more)...)
}
