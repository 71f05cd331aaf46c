package installed

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// newProject is an empty project with these files, on a machine of its own; what is logged goes to log.
func newProject(t *testing.T, log *bytes.Buffer, files map[string]string) *workspace.Workspace {
	t.Helper()
	base := host.RealPath(t.TempDir())
	w := workspace.Empty(&host.Host{Places: host.Places{State: filepath.Join(base, "state")},
		Logger: slog.New(slog.NewTextHandler(log, nil)), Getenv: func(string) string { return "" }},
		filepath.Join(base, "project"))
	w.State = workspace.ProjectState(w.Host, w.Dir)
	for path, text := range files {
		put(t, w.Place(path), text)
	}
	return w
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sum(text string) digest.Digest { return digest.FromBytes([]byte(text)) }

// installedBefore is what this machine knows of files that it installed with the content "was".
func installedBefore(w *workspace.Workspace, paths ...string) *Files {
	f := &Files{Receipt: machine.NewReceipt(w.Dir), Sums: machine.NewMaterialized(w.Dir)}
	f.Receipt.Facets["kit"] = machine.ReceiptOfFacet{Version: "1.0.0",
		Assets: []machine.ReceiptAsset{machine.NewAsset("dir:tools", facet.KindSkill, "greet", paths, nil)}}
	for _, path := range paths {
		f.Sums.Files[path] = sum("was")
	}
	return f
}

// Only what this machine installed is deleted, and what a user edited only by force.
func TestPlannedDeletions(t *testing.T) {
	for _, force := range []bool{false, true} {
		w := newProject(t, new(bytes.Buffer), map[string]string{"tools/a.md": "was", "tools/edited.md": "mine",
			"tools/unknown.md": "was", "tools/foreign.md": "was"})
		before := installedBefore(w, "tools/a.md", "tools/edited.md", "tools/gone.md", "tools/unknown.md")
		delete(before.Sums.Files, "tools/unknown.md")
		p, err := NewPlan(w, before, policy.Admitted{}, nil, Mode{Force: force})
		if err != nil {
			t.Fatal(err)
		}
		deleted, kept := []string{"tools/a.md"}, []string{"tools/edited.md", "tools/unknown.md"}
		if force {
			deleted, kept = []string{"tools/a.md", "tools/edited.md", "tools/unknown.md"}, nil
		}
		if !slices.Equal(p.Deleted, deleted) || !slices.Equal(p.Kept, kept) || len(p.Files) != len(deleted) {
			t.Errorf("with force %v: deletes %q and keeps %q", force, p.Deleted, p.Kept)
		}
	}
}

// What a receipt of an older version claims, and lies in the directory of a locked facet's source, is never deleted: it
// may be the only copy. Nor is what was there before, but in the directory of a skill that stays.
func TestPlannedDeletionsLeave(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		found  bool
		mode   Mode
		left   bool
	}{
		"ours":                     {"elsewhere", false, Mode{}, false},
		"the source":               {"tools", false, Mode{}, true},
		"the source, forced":       {"tools", false, Mode{Force: true}, true},
		"the source by a link":     {"link/tools", false, Mode{}, true},
		"found":                    {"elsewhere", true, Mode{}, true},
		"found, forced":            {"elsewhere", true, Mode{Force: true}, true},
		"kept as somebody says so": {"elsewhere", false, Mode{Keep: true}, true},
	} {
		w := newProject(t, new(bytes.Buffer), map[string]string{"tools/a.md": "was"})
		if err := os.Symlink(w.Dir, filepath.Join(w.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		w.Lock = lockOf(t, c.source)
		before := installedBefore(w, "tools/a.md")
		if c.found {
			a := &before.Receipt.Facets["kit"].Assets[0]
			a.Files, a.Found = []string{}, a.Files
		}
		p, err := NewPlan(w, before, policy.Admitted{}, nil, c.mode)
		if err != nil {
			t.Fatal(err)
		}
		if left := slices.Equal(p.Left, []string{"tools/a.md"}); left != c.left || len(p.Deleted) == 1 == c.left {
			t.Errorf("%s: leaves %q, deletes %q", name, p.Left, p.Deleted)
		}
	}
}

// lockOf is the lock of a project with a facet of a directory.
func lockOf(t *testing.T, source string) *project.Lock {
	t.Helper()
	plain := fmt.Appendf(nil, `{"facets":{"kit":{"assets":{"facet.json":%q},"integrity":%q,"source":{"kind":"local","path":%q},`+
		`"version":"1.0.0"}},"lockfile_version":1,"servers":{}}`, sum("y"), sum("x"), source)
	lock, err := project.ParseLock(fmt.Appendf(nil, `{"self":%q,%s`, digest.FromBytes(plain), plain[1:]))
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// A file is written unless it is there already; what a user edited is kept, and what was never ours is
// refused, both but for force and for what somebody consented to as it is now.
func TestPlannedWrites(t *testing.T) {
	adopts := func(shown digest.Digest) Mode { return Mode{Adopted: map[string]digest.Digest{"t/x.md": shown}} }
	for name, c := range map[string]struct {
		there          string // "" if it is not
		ours           bool
		mode           Mode
		writes, keeps  bool
		class          evidence.Class
		locked         int // of the report: what a frozen installation refuses
		knownAfterward string
	}{
		"new":              {"", false, Mode{}, true, false, evidence.OK, 0, "now"},
		"as it is to be":   {"now", false, Mode{}, false, false, evidence.OK, 0, "now"},
		"as it was":        {"was", true, Mode{}, true, false, evidence.OK, 0, "now"},
		"edited":           {"mine", true, Mode{}, false, true, evidence.OK, 0, "was"},
		"edited, frozen":   {"mine", true, Mode{Frozen: true}, false, true, evidence.OK, 1, "was"},
		"edited, forced":   {"mine", true, Mode{Force: true}, true, false, evidence.OK, 0, "now"},
		"foreign":          {"was", false, Mode{}, false, false, evidence.Refused, 0, "now"},
		"foreign, forced":  {"mine", false, Mode{Force: true}, true, false, evidence.OK, 0, "now"},
		"adopted":          {"mine", false, adopts(sum("mine")), true, false, evidence.OK, 0, "now"},
		"lost receipt":     {"now", false, Mode{}, false, false, evidence.OK, 0, "now"},
		"found as it was":  {"was", false, Mode{}, true, false, evidence.OK, 0, "now"},
		"found, edited":    {"mine", false, Mode{}, false, true, evidence.OK, 0, "was"},
		"changed since":    {"mine", false, adopts(sum("old")), false, false, evidence.Refused, 0, "now"},
		"a link, it seems": {"mine", false, adopts(digest.Digest{}), false, false, evidence.Refused, 0, "now"},
	} {
		w := newProject(t, new(bytes.Buffer), nil)
		before := &Files{Receipt: machine.NewReceipt(w.Dir), Sums: machine.NewMaterialized(w.Dir)}
		if c.ours {
			before = installedBefore(w, "t/x.md")
		}
		if strings.HasPrefix(name, "found") {
			before = installedBefore(w, "t/x.md")
			a := &before.Receipt.Facets["kit"].Assets[0]
			a.Files, a.Found = []string{}, a.Files
		}
		if name == "lost receipt" {
			before.Sums.Files["t/x.md"] = sum("now")
		}
		p := newPlan(w, before, c.mode)
		present := map[string]digest.Digest{}
		if c.there != "" {
			present["t/x.md"] = sum(c.there)
		}
		o := output{part: Part{Of: &obtain.Archive{}}, place: Place{Path: "t/x.md"}, sum: sum("now"),
			data: []byte("now")}
		err := p.planWrites(map[string]output{"t/x.md": o}, present)
		if evidence.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
		locked := len(slices.DeleteFunc(slices.Clone(p.Report),
			func(e evidence.Evidence) bool { return e.Authority != evidence.Lock }))
		if (len(p.Written) == 1) != c.writes || (len(p.Kept) == 1) != c.keeps || len(p.Files) != len(p.Written) ||
			locked != c.locked || !evidence.Same(p.sums["t/x.md"], sum(c.knownAfterward)) {
			t.Errorf("%s: %+v", name, p)
		}
		overwrites := c.writes && !c.ours && c.there != ""
		if p.taken["t/x.md"] != overwrites || p.found["t/x.md"] != (name == "as it is to be" || name == "found, edited") {
			t.Errorf("%s: takes %v, found %v", name, p.taken, p.found)
		}
	}
}

// What this machine remembers of another project, or what was damaged, is not used, and the report says so.
func TestReadReceipt(t *testing.T) {
	w := newProject(t, new(bytes.Buffer), nil)
	if f, err := ReadReceipt(w); err != nil || len(f.Report) != 0 || len(f.Receipt.Files()) != 0 {
		t.Fatalf("nothing was installed: %+v, %v", f, err)
	}
	was := installedBefore(w, "a.md")
	p := &Plan{w: w, before: &Files{Receipt: machine.NewReceipt(w.Dir), Sums: machine.NewMaterialized(w.Dir)},
		after: was}
	files, err := p.Records()
	if err != nil || len(files) != 2 {
		t.Fatalf("%d records, %v", len(files), err)
	}
	for _, f := range files {
		put(t, f.Path, string(f.Data))
	}
	now, err := ReadReceipt(w)
	if err != nil || len(now.Report) != 0 || !now.Receipt.Same(was.Receipt) || !now.Sums.Same(was.Sums) {
		t.Errorf("%+v, %v", now, err)
	}
	p.before = now
	if same, err := p.Records(); err != nil || len(same) != 0 {
		t.Errorf("what stays as it is would be written again: %v, %v", same, err)
	}
	for what, change := range map[string]func([]byte) []byte{
		"cut":       func(b []byte) []byte { return b[:len(b)/2] },
		"edited":    func(b []byte) []byte { return bytes.Replace(b, []byte("a.md"), []byte("../x"), 1) },
		"another's": func(b []byte) []byte { return bytes.Replace(b, []byte(w.Dir), []byte("/other"), 1) },
	} {
		for _, f := range files {
			put(t, f.Path, string(change(slices.Clone(f.Data))))
			now, err := ReadReceipt(w)
			if err != nil || len(now.Report) != 1 || now.Report[0].Outcome != evidence.Unverifiable ||
				len(now.Receipt.Files())+len(now.Sums.Files) != 1 {
				t.Errorf("%s %s: %+v, %v", what, filepath.Base(f.Path), now, err)
			}
			put(t, f.Path, string(f.Data))
		}
	}
}

// A file's digest is that of a regular file alone, and none is read through a link.
func TestDigests(t *testing.T) {
	w := newProject(t, new(bytes.Buffer), map[string]string{"a/x.md": "x", "a/dir/y.md": "y"})
	outside := t.TempDir()
	put(t, filepath.Join(outside, "x.md"), "x")
	for from, to := range map[string]string{"a/link.md": "x.md", "out": outside} {
		if err := os.Symlink(to, w.Place(from)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Digests(w, []string{"a/x.md", "a/none.md", "a/link.md", "none/x.md", "a/x.md"})
	if _, linked := found["a/link.md"]; err != nil || len(found) != 2 || !linked || !found["a/link.md"].IsZero() ||
		!evidence.Same(found["a/x.md"], sum("x")) {
		t.Errorf("%v, %v", found, err)
	}
	for _, path := range []string{"out/x.md", "a/dir"} {
		_, one := Digests(w, []string{path})
		if _, _, err := Digest(w, path); evidence.ClassOf(err) != evidence.Refused ||
			evidence.ClassOf(one) != evidence.Refused {
			t.Errorf("%s: %v, %v", path, err, one)
		}
	}
}

// Clients that are used in the project are the targets, unless hallmark.toml names others.
func TestTargets(t *testing.T) {
	for _, c := range []struct{ there, want string }{
		{"", ""}, {"CLAUDE.md", "claude-code"}, {".cursorrules .codex/x", "codex cursor"}, {".agents/x", "codex"},
		{".agents/x .zed/x", "zed"}, {"sub/.cursor/x", ""},
	} {
		w := newProject(t, new(bytes.Buffer), map[string]string{"x": ""})
		for _, path := range strings.Fields(c.there) {
			put(t, w.Place(path), "")
		}
		if got := strings.Join(Targets(w), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.there, got, c.want)
		}
		if w.Config.Targets = []string{"zed"}; !slices.Equal(Targets(w), []string{"zed"}) {
			t.Errorf("%s counts for more than hallmark.toml", c.there)
		}
	}
}

// An entry is inserted once and taken away exactly; a user's own entry of the name is in the way, and one
// that still starts what nothing declares is told.
func TestPlanClientEntries(t *testing.T) {
	const mine = "{\n  // mine\n  \"mcpServers\": {\"own\": {\"command\": \"x\"}}\n}\n"
	log := new(bytes.Buffer)
	w := newProject(t, log, map[string]string{".cursor/mcp.json": mine})
	plan := func(names ...string) (string, error) {
		t.Helper()
		p, err := PlanClientEntries(w, names, map[string]string{"own": "kit"}, nil)
		for _, f := range p.Files {
			if f.Remove {
				os.Remove(f.Path)
			} else if err := durable.WriteFile(f.Path, f.Data, f.Perm); err != nil {
				t.Fatal(err)
			}
		}
		changed := strings.Join(p.Started, " ")
		for _, path := range p.Stopped {
			changed += "-" + path
		}
		return changed, err
	}
	read := func() string {
		data, _ := os.ReadFile(w.Place(".cursor/mcp.json"))
		return string(data)
	}
	if changed, err := plan("notes"); err != nil || changed != ".cursor/mcp.json" ||
		!strings.Contains(read(), `"run"`) {
		t.Errorf("%q, %v\n%s", changed, err, read())
	}
	if changed, err := plan("notes"); err != nil || changed != "" {
		t.Errorf("what is there is inserted again: %q, %v", changed, err)
	}
	if _, err := plan("own"); evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), "kit") {
		t.Errorf("an entry of the user: %v", err)
	}
	if changed, err := plan(); err != nil || changed != "-.cursor/mcp.json" || read() != mine {
		t.Errorf("%q, %v\n%s", changed, err, read())
	}
	put(t, w.Place(".cursor/mcp.json"), `{"mcpServers": {"n": {"command": "hallmark", "args": ["run", "old"]}}}`)
	if _, err := plan(); err != nil || !strings.Contains(log.String(), "nothing declares or locks any more") {
		t.Errorf("%v, %s", err, log)
	}
}

// A directory of a client in which nothing is wanted or noted is none of Hallmark's: a link there is neither
// followed nor refused. Where something is, it is refused before and after a server is started.
func TestPlanClientEntriesLinked(t *testing.T) {
	w := newProject(t, new(bytes.Buffer), map[string]string{".mcp.json": ""})
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, w.Place(".vscode")); err != nil {
		t.Fatal(err)
	}
	both := func(names ...string) (*ClientPlan, error) {
		t.Helper()
		p, err := PlanClientEntries(w, names, nil, nil)
		if early := CheckClientFiles(w, names, nil); len(names) > 0 && (early == nil) != (err == nil) {
			t.Errorf("%v, and before that %v", err, early)
		}
		return p, err
	}
	w.Config.Targets = []string{"claude-code"}
	if p, err := both("say"); err != nil || !slices.Equal(p.Started, []string{".mcp.json"}) {
		t.Errorf("%+v, %v", p, err)
	}
	w.Config.Targets = []string{"copilot"}
	if _, err := both("say"); evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), ".vscode") {
		t.Errorf("a server is wanted there: %v", err)
	}
	put(t, filepath.Join(elsewhere, "mcp.json.hallmark"), "{}")
	if _, err := both(); evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), "plain directory") {
		t.Errorf("a note lies there: %v", err)
	}
	w.Config.Targets = []string{"claude-code"}
	os.Remove(w.Place(".vscode"))
	if err := os.Symlink(filepath.Join(elsewhere, "note"), w.Place(".mcp.json.hallmark")); err != nil {
		t.Fatal(err)
	}
	if _, err := both("say"); evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), ".mcp.json.hallmark") {
		t.Errorf("a note that is a link: %v", err)
	}
}

// What is wrong with a client's file is said before a server is started, with the file's name and a hint.
func TestCheckClientFiles(t *testing.T) {
	for text, hint := range map[string]string{
		"{":                  "correct the file",
		`{"mcpServers": []}`: "correct the file",
		`{"mcpServers": {"say": {"command": "mine"}}}`: "rename or remove yours",
		"": "", "\n": "", `{"mcpServers": {}}`: "", `{"mcpServers": {"mine": {"command": "mine"}}}`: "",
	} {
		w := newProject(t, new(bytes.Buffer), map[string]string{".mcp.json": text})
		w.Config.Targets = []string{"claude-code"}
		err := CheckClientFiles(w, []string{"say"}, nil)
		var e *evidence.Error
		if errors.As(err, &e); hint == "" && err != nil || hint != "" && (e == nil || !strings.Contains(e.Hint, hint) ||
			!strings.Contains(e.Subject, ".mcp.json")) {
			t.Errorf("%q: %+v", text, err)
		}
		if after, err := os.ReadFile(w.Place(".mcp.json")); err != nil || string(after) != text {
			t.Errorf("%q became %q", text, after)
		}
	}
}

// A file of which nothing can be said for want of the contents has the command that gets them, and no other hint.
func TestUnjudgedFileLeadsOn(t *testing.T) {
	f := placedFile{of: "kit@1.0.0", asset: sum("member"), picked: true, present: true, now: sum("rendered")}
	e := f.evidence(".cursor/agents/a.md")[0]
	if e.Cause != evidence.NotFound || e.Fix != "run 'hallmark install --frozen' first" {
		t.Errorf("%+v", e)
	}
}
