package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

const (
	declared = "manifest_version = 1\n[providers.mcp.notes]\ntype = \"stdio\"\ncommand = \"notes\"\n"
	missing  = "\x00missing" // a file that is not written
)

// opened opens a project with this hallmark.toml for a change, on a machine of its own.
func opened(t *testing.T, config string) *workspace.Workspace {
	t.Helper()
	p := hosttest.NewFacetProject(t, "")
	p.Write(project.ConfigFile, config)
	w, done, err := workspace.Open(t.Context(), p.Host, p.Dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return w
}

// write writes a file and the directories above it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A project whose files are not what they should be is not opened, and the error names the file.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		config, lock, approvals string
		class                   evidence.Class
		says                    string
	}{
		"no hallmark.toml": {missing, missing, missing, evidence.Validation, "hallmark.toml: there is no such file"},
		"no TOML":          {"[", missing, missing, evidence.Validation, "hallmark.toml"},
		"no lock":          {declared, "{}", missing, evidence.Validation, "hallmark.lock"},
		"others' approvals": {declared, missing, `{"approvals_version":1,"project":"/x"}`, evidence.Validation,
			"restore"},
		"the first fault": {"[", "{}", "{}", evidence.Validation, "hallmark.toml"},
	} {
		p := hosttest.NewFacetProject(t, "")
		for path, text := range map[string]string{
			p.Path(project.ConfigFile): c.config, p.Path(project.LockFile): c.lock,
			filepath.Join(workspace.ProjectState(p.Host, host.RealPath(p.Dir)), "approvals.json"): c.approvals,
		} {
			if text != missing {
				write(t, path, text)
			}
		}
		_, _, err := workspace.Open(t.Context(), p.Host, p.Dir, false)
		if evidence.ClassOf(err) != c.class || !strings.Contains(explained(err), c.says) {
			t.Errorf("%s: %v (%v)", name, err, evidence.ClassOf(err))
		}
	}
	h := hosttest.New(t)
	_, _, err := workspace.Open(t.Context(), h, filepath.Join(t.TempDir(), "none"), true)
	hosttest.RefusedWith(t, err, evidence.Validation, "there is no such directory")
	if _, err := os.Lstat(h.Places.State); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there left a state: %v", err)
	}
}

// explained is an error with its hint.
func explained(err error) string {
	var e *evidence.Error
	if errors.As(err, &e) {
		return e.Error() + "\n" + e.Hint
	}
	return err.Error()
}

// A checkout does not choose which files elsewhere are read: a link is refused, wherever it leads,
// and so is what would never end.
func TestLinksAreRefused(t *testing.T) {
	w, outside := opened(t, declared), t.TempDir()
	write(t, filepath.Join(outside, "a.json"), "secret")
	for from, to := range map[string]string{
		"linked": outside, "file.json": filepath.Join(outside, "a.json"), "inner": w.Path("plain"),
	} {
		if err := os.Symlink(to, w.Path(from)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w.Path("plain", "a.json"), "mine")
	for _, name := range []string{"linked/a.json", "linked/deep/a.json", "file.json", "inner/a.json", "plain"} {
		data, err := w.ReadFile(w.Path(filepath.FromSlash(name)), 100)
		if evidence.ClassOf(err) != evidence.Refused || data != nil {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, want := range map[string]string{"plain/a.json": "mine", "none/a.json": "", "plain/none": ""} {
		if data, err := w.ReadFile(w.Path(filepath.FromSlash(name)), 100); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := w.ReadFile(w.Path("plain", "a.json"), 3); err == nil {
		t.Error("a file above the limit is read")
	}
	for _, name := range []string{"file.json", "linked/new.log", "plain"} {
		if f, err := workspace.OpenAppend(w.Dir, w.Path(filepath.FromSlash(name))); evidence.ClassOf(err) !=
			evidence.Refused {
			f.Close()
			t.Errorf("%s is opened for appending: %v", name, err)
		}
	}
}

// Of a set of files all are replaced or none, and none below a link.
func TestReplace(t *testing.T) {
	w, outside := opened(t, declared), t.TempDir()
	lock := durable.File{Path: w.Path(project.LockFile), Data: []byte("new")}
	if err := os.Symlink(outside, w.Path(project.SurfacesDir)); err != nil {
		t.Fatal(err)
	}
	err := w.Replace(t.Context(), []durable.File{lock, {Path: w.SurfacePath("notes"), Data: []byte("{}")}})
	hosttest.RefusedWith(t, err, evidence.Refused, project.SurfacesDir, "is not a plain directory")
	if found, _ := filepath.Glob(filepath.Join(outside, "*")); len(found) > 0 {
		t.Errorf("written outside: %q", found)
	}
	if _, err := os.Lstat(lock.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock was written: %v", err)
	}
	if err := os.Remove(w.Path(project.SurfacesDir)); err != nil {
		t.Fatal(err)
	}
	err = w.Replace(t.Context(), []durable.File{lock, {Path: w.SurfacePath("notes"), Data: []byte("{}")},
		{Path: w.Path(project.ConfigFile), Remove: true}})
	for name, want := range map[string]string{lock.Path: "new", w.SurfacePath("notes"): "{}",
		w.Path(project.ConfigFile): ""} {
		if data, _ := workspace.ReadPlain(name, 100); string(data) != want {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
}

// A file counts as the project's by its name and after all links, and nothing beside it does.
func TestContains(t *testing.T) {
	w, outside := opened(t, declared), t.TempDir()
	write(t, filepath.Join(outside, "tool"), "")
	for from, to := range map[string]string{
		w.Path("out"): filepath.Join(outside, "tool"), filepath.Join(outside, "in"): w.Path(project.ConfigFile),
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		w.Dir: true, w.Path(project.ConfigFile): true, w.Path("a", "..", "none"): true, w.Path("out"): true,
		filepath.Join(outside, "in"): true, filepath.Join(outside, "tool"): false, w.Path("..", "x"): false,
		w.Dir + "x": false, filepath.Dir(w.Dir): false,
	} {
		if w.Contains(name) != want {
			t.Errorf("%s is in the project: %v", name, !want)
		}
	}
	for name, want := range map[string]string{
		w.Path("bin", "tool"): "file:bin/tool", w.Path("..", "tool"): "command:tool",
		filepath.Join(outside, "tool"): "command:tool", w.Dir + "x": "command:tool",
	} {
		if key := w.LockKey(name, "tool"); key != want {
			t.Errorf("the lock has %s as %s, want %s", name, key, want)
		}
	}
}

// Nested projects are named, those in clients' directories as what counts for nothing, and
// installed packages are not looked into.
func TestNestedProjects(t *testing.T) {
	w := opened(t, declared)
	for _, dir := range []string{"a", "b/deep", ".claude", "node_modules/x", "a/node_modules/y", ".git/z"} {
		write(t, w.Path(filepath.FromSlash(dir), project.ConfigFile), "")
	}
	write(t, w.Path("a", project.LockFile), "{}")
	unseen, err := w.NestedProjects(t.Context())
	if err != nil || len(unseen) != 3 || !strings.HasPrefix(unseen[0], ".claude/hallmark.toml (in a client's dir") ||
		!strings.Contains(unseen[1], "'hallmark check --project a'") || !strings.HasPrefix(unseen[2], "b/deep/") {
		t.Errorf("%q, %v", unseen, err)
	}
	for i := range 30 {
		write(t, w.Path("many", "p"+string(rune('A'+i)), project.LockFile), "{}")
	}
	if unseen, err = w.NestedProjects(t.Context()); err != nil || len(unseen) != 21 ||
		unseen[20] != "13 more projects below this one" {
		t.Errorf("%d: %q, %v", len(unseen), unseen, err)
	}
}

// accept has this machine remember a server and a facet of a project, and returns its state directory.
func accept(t *testing.T, p *hosttest.FacetProject) string {
	t.Helper()
	dir, at := host.RealPath(p.Dir), time.Now().UTC()
	accepted := project.NewApprovals(dir)
	accepted.Servers["notes"] = project.Approval{Entry: digest.FromBytes(nil), Path: "/bin", At: at}
	accepted.Facets = map[string]project.AcceptedFacet{
		"kit": {Version: "1.0.0", Integrity: digest.FromBytes(nil), Servers: []string{}, At: at}}
	data, err := accepted.Encode()
	if err != nil {
		t.Fatal(err)
	}
	state := workspace.ProjectState(p.Host, dir)
	write(t, filepath.Join(state, "approvals.json"), string(data))
	return state
}

// What is forgotten is forgotten with its drift; one wrong name, and everything stays.
func TestForget(t *testing.T) {
	p := hosttest.NewFacetProject(t, "")
	p.Write(project.ConfigFile, declared)
	state := accept(t, p)
	write(t, filepath.Join(state, "drift-notes.json"), "{}")
	before := p.All()
	err := workspace.Forget(t.Context(), p.Host, p.Dir, []string{"notes", "kits"})
	hosttest.RefusedWith(t, err, evidence.Validation, "kits")
	if p.All() != before {
		t.Error("a refused forget changed something")
	}
	if err := workspace.Forget(t.Context(), p.Host, p.Dir, []string{"notes", "notes"}); err != nil {
		t.Fatal(err)
	}
	w, done, err := workspace.Open(t.Context(), p.Host, p.Dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if names := w.Approvals.Names(); !slices.Equal(names, []string{"kit"}) {
		t.Errorf("remembered: %q", names)
	}
	if _, err := os.Lstat(w.DriftPath("notes")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the drift stayed: %v", err)
	}
}

// If hallmark.toml is gone, what this machine accepted is missed, with the way to forget it.
func TestRemovedConfig(t *testing.T) {
	p := hosttest.NewFacetProject(t, "")
	accept(t, p)
	_, _, err := workspace.Open(t.Context(), p.Host, p.Dir, false)
	if err == nil || evidence.ClassOf(err) == evidence.Validation || !strings.Contains(explained(err), "notes") {
		t.Errorf("%v: %v", evidence.ClassOf(err), err)
	}
}

// A note of drift counts only for the server that it names, and for the surface that is locked.
func TestDriftNote(t *testing.T) {
	w := opened(t, declared)
	locked, other := digest.FromBytes([]byte("locked")), digest.FromBytes([]byte("other"))
	if n, err := w.DriftNote("notes", project.ServerLock{Surface: locked}); n != nil || err != nil {
		t.Errorf("without a file: %v, %v", n, err)
	}
	note := &machine.DriftNote{Server: "notes", At: time.Now().UTC(), Locked: locked,
		Items: map[string]machine.DriftItem{"tool:add": {Reason: "changed"}}}
	data, err := note.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.DriftPath("notes"), string(data))
	write(t, w.DriftPath("copied"), string(data))
	write(t, w.DriftPath("broken"), "{")
	for name, c := range map[string]struct {
		surface      digest.Digest
		noted, valid bool
	}{"notes": {locked, true, true}, "copied": {locked, false, false}, "broken": {locked, false, false}} {
		if n, err := w.DriftNote(name, project.ServerLock{Surface: c.surface}); (n != nil) != c.noted ||
			(err == nil) != c.valid {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
	if n, err := w.DriftNote("notes", project.ServerLock{Surface: other}); n != nil || err != nil {
		t.Errorf("about another surface: %v, %v", n, err)
	}
}

// A command with a separator is the project's or absolute, and is not searched for; another is.
func TestFindCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names of programs are others there")
	}
	w, bin := opened(t, declared), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "tool"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"tool": filepath.Join(bin, "tool"), "./tool": w.Path("tool"), "bin/tool": w.Path("bin", "tool"),
		"/x/tool": "/x/tool",
	} {
		if got, err := w.FindCommand(command, bin); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", command, got, want, err)
		}
	}
	_, err := w.FindCommand("to\x1bol", bin)
	if evidence.ClassOf(err) != evidence.Operation || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q", err)
	}
}

// TestCutoff: one command has one cutoff, however long it takes, so that it asks nothing twice.
func TestCutoff(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	w := workspace.Empty(&host.Host{Now: func() time.Time { now = now.Add(time.Second); return now }}, t.TempDir())
	if !w.Cutoff().IsZero() {
		t.Error("without a rule there is a cutoff")
	}
	w.Config.Policy.MinAge = time.Hour
	if first, second := w.Cutoff(), w.Cutoff(); first.IsZero() || !first.Equal(second) {
		t.Errorf("%v, then %v", first, second)
	}
}
