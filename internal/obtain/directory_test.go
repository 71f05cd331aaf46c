package obtain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

const skillText = "---\nname: greet\ndescription: Greets.\n---\nHello.\n"

// newProject is an empty project with these files; a text that begins with "->" is a link.
func newProject(t *testing.T, files map[string]string) *workspace.Workspace {
	t.Helper()
	base := host.RealPath(t.TempDir())
	w := workspace.Empty(&host.Host{Places: host.Places{State: filepath.Join(base, "state"),
		Cache: filepath.Join(base, "cache")}, Getenv: func(string) string { return "" }}, filepath.Join(base,
		"project"))
	w.Approvals = project.NewApprovals(w.Dir)
	for path, text := range files {
		name, err := w.Path(filepath.FromSlash(path)), error(nil)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(to, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // the store is read only
		filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return w
}

// kit are the files of a facet in a directory, and its text.
func kit(text string) map[string]string {
	return map[string]string{"kit/skills/greet/SKILL.md": text,
		"kit/facet.json": `{"name":"kit","version":"1.0.0","skills":{"greet":{"description":"Greets."}}}`}
}

// A directory is followed until the lock is the only authority: then what it holds must be what was locked.
func TestObtainDirectory(t *testing.T) {
	w := newProject(t, kit("First.\n"))
	obtained := func(o Options, want project.Facet, locked *project.FacetLock) (*Archive, error) {
		t.Helper()
		s, err := Open(w, w.Logs(trail.Options{}), o)
		if err != nil {
			t.Fatal(err)
		}
		a, _, err := s.Obtain(t.Context(), Request{Want: want, Locked: locked})
		return a, err
	}
	want := project.Facet{Name: "kit", Path: "kit"}
	first, err := obtained(Options{}, want, nil)
	if err != nil || first.Subject() != "kit@1.0.0" || len(first.Entry.Assets) != 2 || first.LockedRecord() != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	if data, err := first.ReadAudited("skills/greet/SKILL.md"); err != nil || string(data) != "First.\n" {
		t.Errorf("%q, %v", data, err)
	}
	if a, err := obtained(Options{Frozen: true}, want, &first.Entry); err != nil ||
		!evidence.Same(a.Entry.Integrity, first.Entry.Integrity) {
		t.Errorf("what was locked: %v", err)
	}
	if _, err := obtained(Options{}, project.Facet{Name: "other", Path: "kit"}, nil); evidence.ClassOf(err) !=
		evidence.Validation || !strings.Contains(err.Error(), "kit@1.0.0") {
		t.Errorf("under another name: %v", err)
	}
	if err := os.WriteFile(w.Path("kit", "skills", "greet", "SKILL.md"), []byte("Other.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := obtained(Options{Frozen: true}, want, &first.Entry); evidence.ClassOf(err) != evidence.Integrity {
		t.Errorf("what was changed: %v", err)
	}
	if a, err := obtained(Options{}, want, &first.Entry); err != nil ||
		evidence.Same(a.Entry.Integrity, first.Entry.Integrity) {
		t.Errorf("the directory is not followed: %v", err)
	}
	if _, err := obtained(Options{}, project.Facet{Name: "kit", Path: "none"}, nil); evidence.ClassOf(err) !=
		evidence.Validation {
		t.Errorf("no directory: %v", err)
	}
	checkSlot(t, first)
}

// checkSlot demands that what is read of a slot is what was audited, whatever happens to the store since.
func checkSlot(t *testing.T, first *Archive) {
	t.Helper()
	for name, version := range map[string]string{"kit": "1.0.1", "kits": "1.0.0"} {
		if _, err := ReadManifest(first.Slot, name, version); evidence.ClassOf(err) != evidence.Integrity {
			t.Errorf("as %s@%s: %v", name, version, err)
		}
	}
	file := filepath.Join(first.Slot.Dir(), "skills", "greet", "SKILL.md")
	os.Chmod(file, 0o600)
	if err := os.WriteFile(file, []byte("Evil!.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := first.OpenAudited("skills/greet/SKILL.md"); evidence.ClassOf(err) != evidence.Integrity {
		t.Errorf("a member that was changed: %v", err)
	}
}

// A declaration without a name gets that of what is there: a facet's, or that of a skill.
func TestFindName(t *testing.T) {
	files := kit("x")
	files["greet/SKILL.md"], files["none/readme.txt"], files["bad/facet.json"] = skillText, "x", "{"
	w := newProject(t, files)
	for path, want := range map[string]string{"kit": "kit", "greet": "greet", "none": "", "bad": "", "missing": ""} {
		name, err := FindName(t.Context(), w, project.Facet{Path: path}, true)
		if name != want || (err == nil) != (want != "") {
			t.Errorf("%s is called %q, want %q: %v", path, name, want, err)
		}
	}
	items, err := List(t.Context(), w, project.Facet{Path: "greet"}, true)
	if err != nil || len(items) != 1 || items[0].Name != "greet" {
		t.Errorf("%+v, %v", items, err)
	}
	for _, f := range []project.Facet{{Name: "kit"}, {Git: "https://git.example.com/a"}} {
		if _, err := List(t.Context(), w, f, true); err == nil {
			t.Errorf("%v is listed without a request", f)
		}
	}
}

// A folder with a skill is read with its links; what is more than a skill is refused, and a link that leads
// out of it is never followed.
func TestReadFolder(t *testing.T) {
	files := kit("x")
	files["greet/SKILL.md"], files["greet/names.txt"], files["greet/too.txt"] = skillText, "Ada\n", "->names.txt"
	files["out/SKILL.md"], files["out/secret.txt"] = skillText, "->../../secret"
	w := newProject(t, files)
	f, err := ReadFolder(w.Dir, w.Path("greet"), "greet", false)
	if err != nil || len(f.Members) != 3 || !slices.Equal(f.Links, []string{"too.txt"}) ||
		!evidence.Same(f.Members["too.txt"], digest.FromBytes([]byte("Ada\n"))) || f.Name != "greet" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := ReadFolder(w.Dir, w.Path("kit"), "kit", false); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("a facet: %v", err)
	}
	if _, err := ReadFolder(w.Dir, w.Path("out"), "out", false); err == nil ||
		!strings.Contains(err.Error(), "leads out of the dir") {
		t.Errorf("a link that leads out: %v", err)
	}
}

// A tag is a promise, and a branch is none: only a tag that names another commit than was locked is told.
func TestMovedTag(t *testing.T) {
	const url = "https://git.example.com/a"
	locked := project.FacetLock{Version: "1.0.0", Source: project.SourceLock{URL: url, Tag: "v1", Commit: "aaa"}}
	for commit, want := range map[string]string{"aaa": "", "bbb": "the tag was moved", noTag: "the tag is gone"} {
		e := movedTagEvidence(project.Facet{Name: "kit", Git: url, Tag: "v1"}, locked, commit)
		if (e.Outcome == evidence.Match) != (want == "") || e.Reason != want {
			t.Errorf("%s: %+v", commit, e)
		}
		q := &inquiry{report: evidence.Report{e}}
		err := goneCommitError(project.Facet{Name: "kit", Git: url, Tag: "v1"}, locked, q)
		if evidence.ClassOf(err) != evidence.Drift || strings.Contains(err.Error(), "tag v1 names") != (want != "") {
			t.Errorf("%s: %v", commit, err)
		}
	}
	for _, f := range []project.Facet{{Git: url, Branch: "main"}, {Git: url, Tag: "v2"}, {Git: url + "b", Tag: "v1"}} {
		if hasTagOf(f, &locked) {
			t.Errorf("%+v has the tag of the lock", f)
		}
	}
	if !hasTagOf(project.Facet{Git: url, Tag: "v1"}, &locked) || hasTagOf(project.Facet{Git: url, Tag: "v1"}, nil) {
		t.Error("the tag of the lock is not known, or one without a lock is")
	}
}

// Only active versions are chosen; the order is the registry's.
func TestActiveVersions(t *testing.T) {
	got := ActiveVersions([]registry.ArchiveRecord{{Version: "2.0.0", Status: registry.Active},
		{Version: "3.0.0", Status: registry.Deleted}, {Version: "1.0.0", Status: registry.Active},
		{Version: "1.5.0", Status: registry.Deprecated}, {Version: "4.0.0"}})
	if !slices.Equal(got, []string{"2.0.0", "1.0.0"}) {
		t.Errorf("%q", got)
	}
}
