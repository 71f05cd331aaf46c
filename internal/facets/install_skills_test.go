package facets_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/gittest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// shape is a directory as people have them: a vector of spec/wrap.json that is not refused.
type shape struct {
	Name  string
	Files []struct {
		Path, Text, Base64 string
		Repeat             int
	}
	Links map[string]string
	Error *string
}

// shapes are the directories of both files of vectors that are skills, or plugins. What no repository can hold is left out.
func shapes(t *testing.T, plugins bool) (all []shape) {
	for _, file := range []string{"wrap.json", "wrap-2.json"} {
		data, err := os.ReadFile("../../spec/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors struct{ Wraps []shape }
		if err := json.Unmarshal(data, &vectors); err != nil {
			t.Fatal(err)
		}
		for _, s := range vectors.Wraps {
			var d facet.Dir
			for _, f := range s.Files {
				d.Files = append(d.Files, tree.File{Path: f.Path})
			}
			if form, _ := d.Form(); s.Error == nil && (form == facet.FormPlugin) == plugins {
				all = append(all, s)
			}
		}
	}
	return all
}

// contents are the files of a shape, but for those of a repository.
func (s shape) contents(t *testing.T) map[string][]byte {
	all := map[string][]byte{}
	for _, f := range s.Files {
		data, err := base64.StdEncoding.DecodeString(f.Base64)
		if err != nil {
			t.Fatal(err)
		}
		if f.Base64 == "" {
			data = []byte(f.Text)
		}
		if !strings.Contains(f.Path, ".git/") {
			all[f.Path] = bytes.Repeat(data, max(f.Repeat, 1))
		}
	}
	return all
}

// write writes a shape into a directory.
func (s shape) write(t *testing.T, dir string) {
	t.Helper()
	at := func(path string) string {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, data := range s.contents(t) {
		if err := os.WriteFile(at(path), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range s.Links {
		if strings.Contains(path, ".git/") {
			continue
		}
		if err := os.Symlink(text, at(path)); err != nil {
			t.Skip("symbolic links are needed: ", err)
		}
	}
}

// archived is the fingerprint of a shape without links that comes as a zip.
func (s shape) archived(t *testing.T, name string) digest.Digest {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for path, data := range s.contents(t) {
		h := &zip.FileHeader{Name: path}
		h.SetMode(0o644) // of unix, whose names are UTF-8
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files, open, err := archive.OpenZip(bytes.NewReader(packed.Bytes()), int64(packed.Len()), archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := facet.Wrap(facet.Dir{Files: files, Open: open}, name)
	if err != nil {
		t.Fatal(err)
	}
	sum, _, err := tree.FacetTar(t.Context(), f.Files, f.Open, 0)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// consenting are options of somebody who consents to what runs.
func consenting() facets.Options {
	return facets.Options{
		Servers: facets.Servers{Skip: true},
		Confirm: hosttest.ConsentToChanges,
	}
}

// Skills of all shapes have one fingerprint, from a repository, a directory and an archive; they are locked, found when
// they were edited, upgraded and removed as facets are.
func TestSkillsFromEverywhere(t *testing.T) {
	all := shapes(t, false)
	if len(all) < 20 {
		t.Fatalf("%d shapes", len(all))
	}
	w := gittest.New(t, `, branch = "main"`)
	fromGit, fromPath := "[adapters]\ntargets = [\"claude-code\"]\n[facets]\n", ""
	for i, s := range all {
		dir := fmt.Sprintf("shapes/s-%d", i)
		s.write(t, filepath.Join(w.Work, dir))
		fromGit += fmt.Sprintf("s-%d = { git = %q, branch = \"main\", sub = %q }\n", i, w.URL, dir)
		fromPath += fmt.Sprintf("s-%d = { path = %q }\n", i, filepath.ToSlash(filepath.Join(w.Work, dir)))
	}
	push := func() {
		w.Git("add", "-A", "-f")
		w.Git("commit", "--quiet", "-m", "shapes")
		w.Git("push", "--quiet", "-f", w.Bare, "main")
	}
	push()
	w.Write(project.ConfigFile, "manifest_version = 1\n"+fromGit)
	if _, err := w.Install(facets.Options{}); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("nobody consented to what runs: %v", err)
	}
	w.Must(w.Install(consenting()))
	local := hosttest.NewFacetProject(t, "[adapters]\ntargets = [\"claude-code\"]\n[facets]\n"+fromPath)
	local.Must(local.Install(consenting()))
	for i, s := range all {
		name := fmt.Sprintf("s-%d", i)
		entry := w.Entry(name)
		if entry.Source.Wrapped != facet.WrapRule || !evidence.Same(entry.Integrity, local.Entry(name).Integrity) ||
			len(s.Links) == 0 && !evidence.Same(entry.Integrity, s.archived(t, name)) {
			t.Errorf("%s: %+v has another fingerprint elsewhere", s.Name, entry.Source)
		}
	}
	w.EmptyStore()
	frozen := consenting()
	frozen.Frozen = true
	w.Must(w.Install(frozen))

	placed := ".claude/skills/s-2/scripts/fill.py"
	before := w.Read(placed)
	w.Write(placed, before+"evil()\n")
	_, err := w.Install(frozen)
	w.Refused(evidence.Integrity, err, placed)
	force := consenting()
	force.Force = true
	w.Must(w.Install(force))

	changed := filepath.Join(w.Work, "shapes", "s-2", "scripts", "fill.py")
	if err := os.WriteFile(changed, []byte("print(2)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	push()
	upgrade := consenting()
	upgrade.Confirm = func(all []facets.Change) (host.Consent, error) {
		for _, c := range all {
			if c.Outcome == "updated" && c.Name == "s-2" && len(c.Assets) != 1 {
				t.Errorf("%+v", c.Assets)
			}
		}
		return host.StandingConsent, nil
	}
	out, err := upgradeFacets(t, w.Host, w.Dir, nil, upgrade)
	w.Must(out, err)
	if w.Read(placed) != "print(2)\n" {
		t.Error("the upgrade did not take the change")
	}
	var names []string
	for i := range all {
		names = append(names, fmt.Sprintf("s-%d", i))
	}
	w.Must(facets.Remove(t.Context(), w.Host, w.Dir, names, consenting()))
	if _, err := os.Stat(w.Path(".claude/skills")); err == nil {
		t.Error("skills are left")
	}
}

// So have plugins.
func TestPluginsFromEverywhere(t *testing.T) {
	w := gittest.New(t, `, tag = "v1"`)
	all := shapes(t, true)
	for i, s := range all {
		s.write(t, filepath.Join(w.Work, "plugins", fmt.Sprint(i)))
	}
	w.Git("add", "-A", "-f")
	w.Git("commit", "--quiet", "-m", "plugins")
	w.Git("tag", "v1")
	w.Git("push", "--quiet", w.Bare, "main", "v1")
	for i, s := range all {
		sub := fmt.Sprintf("plugins/%d", i)
		p := hosttest.NewFacetProject(t, "[adapters]\ntargets = [\"claude-code\"]\n")
		p.Host.Environ = w.Host.Environ
		p.Must(facets.Add(t.Context(), p.Host, p.Dir,
			project.Facet{Name: "kit", Git: w.URL, Tag: "v1", Sub: sub}, consenting()))
		fromGit := p.Entry("kit")
		p.Must(facets.Add(t.Context(), p.Host, p.Dir,
			project.Facet{Name: "kit", Path: filepath.ToSlash(filepath.Join(w.Work, sub))}, consenting()))
		if fromPath := p.Entry("kit"); !evidence.Same(fromGit.Integrity, fromPath.Integrity) ||
			len(s.Links) == 0 && !evidence.Same(fromGit.Integrity, s.archived(t, "kit")) {
			t.Errorf("%s: has another fingerprint elsewhere", s.Name)
		}
	}

	// A tag that moves is drift for them too.
	p := hosttest.NewFacetProject(t, "[adapters]\ntargets = [\"claude-code\"]\n")
	p.Host.Environ = w.Host.Environ
	p.Must(facets.Add(t.Context(), p.Host, p.Dir, project.Facet{Name: "kit", Git: w.URL, Tag: "v1", Sub: "plugins/0"},
		consenting()))
	w.Git("commit", "--quiet", "--allow-empty", "-m", "moved")
	w.Git("tag", "-f", "v1")
	w.Git("push", "--quiet", "-f", w.Bare, "v1")
	p.EmptyStore()
	_, err := p.Install(consenting())
	p.Refused(evidence.Drift, err, "v1")
}

// What was locked by rule 1 is installed by it, wherever it comes from, and is wrapped by the newest rule when it is added
// again or upgraded: what that changes is shown.
func TestLockedByAnOlderRule(t *testing.T) {
	w := gittest.New(t, `, branch = "main"`)
	files := map[string]string{
		facet.PluginFile: `{"name":"kit","skills":["./extra"]}`, "extra/a/SKILL.md": "A\n", "skills/b/SKILL.md": "B\n",
	}
	d := facet.Dir{Open: func(p string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[p])), nil }}
	for path, text := range files {
		d.Files = append(d.Files, tree.File{Path: path, Size: int64(len(text))})
		at := filepath.Join(w.Work, "kit", filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	w.Git("add", "-A")
	w.Git("commit", "--quiet", "-m", "kit")
	w.Git("push", "--quiet", "-f", w.Bare, "main")
	old, err := facet.WrapBy(1, d, "kit")
	if err != nil {
		t.Fatal(err)
	}
	integrity, _, err := tree.FacetTar(t.Context(), old.Files, old.Open, 0)
	if err != nil {
		t.Fatal(err)
	}
	assets := map[string]digest.Digest{}
	for _, f := range old.Files {
		r, err := old.Open(f.Path)
		if err == nil {
			assets[f.Path], _, err = digest.FromReader(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.ToSlash(filepath.Join(w.Work, "kit"))
	for _, source := range []project.Facet{{Name: "kit", Git: w.URL, Branch: "main", Sub: "kit"}, {Name: "kit", Path: path}} {
		p := hosttest.NewFacetProject(t, "[adapters]\ntargets = [\"claude-code\"]\n")
		p.Host.Environ = w.Host.Environ
		p.Must(facets.Add(t.Context(), p.Host, p.Dir, source, consenting()))
		if entry := p.Entry("kit"); entry.Source.Wrapped != facet.NewestWrapRule || len(entry.Assets) != 4 {
			t.Fatalf("%+v", entry)
		}
		var lock map[string]any
		if err := json.Unmarshal([]byte(p.Read(project.LockFile)), &lock); err != nil {
			t.Fatal(err)
		}
		entry := lock["facets"].(map[string]any)["kit"].(map[string]any)
		entry["integrity"], entry["assets"] = integrity.String(), assets
		entry["source"].(map[string]any)["wrapped"] = 1
		delete(entry, "self")
		plain, err := machine.Marshal(entry)
		if err == nil {
			entry["self"], err = machine.EntryDigest("facets", "kit", plain)
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := machine.Marshal(lock)
		if err != nil {
			t.Fatal(err)
		}
		p.Write(project.LockFile, string(text))
		p.EmptyStore()
		frozen := consenting()
		frozen.Frozen, frozen.Force = true, true
		p.Must(p.Install(frozen))
		if got := p.Read(".claude/skills/a/SKILL.md"); !strings.HasSuffix(got, "\nA\n") {
			t.Errorf("%q", got)
		}
		p.Must(p.Install(consenting()))
		if entry := p.Entry("kit"); entry.Source.Wrapped != 1 || !evidence.Same(entry.Integrity, integrity) {
			t.Errorf("an installation wrapped %+v by another rule", entry.Source)
		}
		if _, err := os.Stat(p.Path(".claude/skills/b")); err == nil {
			t.Error("rule 1 does not install skills/b")
		}
		shown := consenting()
		shown.Confirm = func(all []facets.Change) (host.Consent, error) {
			if len(all) != 1 || all[0].Outcome != "updated" {
				t.Errorf("%+v", all)
			}
			return host.StandingConsent, nil
		}
		p.Must(facets.Add(t.Context(), p.Host, p.Dir, source, shown))
		if entry := p.Entry("kit"); entry.Source.Wrapped != facet.NewestWrapRule || !strings.HasSuffix(p.Read(".claude/skills/b/SKILL.md"), "\nB\n") {
			t.Errorf("%+v", entry)
		}
	}
}

// A repository of 200 skills is listed, and all of them are added at once, or none.
func TestManySkills(t *testing.T) {
	p := hosttest.NewFacetProject(t, "[adapters]\ntargets = [\"claude-code\"]\n")
	base := t.TempDir()
	for i := range 200 {
		at := filepath.Join(base, "catalog", fmt.Sprint(i%10), fmt.Sprintf("skill-%d", i), "SKILL.md")
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: skill-%d\ndescription: %s\n---\n", i, strings.Repeat("long ", 500))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	items, err := facets.Find(t.Context(), p.Host, p.Dir, project.Facet{Path: base}, facets.Options{})
	if err != nil || len(items) != 200 {
		t.Fatalf("%v: %d skills", err, len(items))
	}
	var found []project.Facet
	for _, item := range items {
		found = append(found, project.Facet{Name: item.Name, Path: filepath.ToSlash(base) + "/" + item.Path})
	}
	twice := append(found[:len(found):len(found)], project.Facet{Name: "skill-7", Path: filepath.ToSlash(base)})
	if _, err := facets.AddFound(t.Context(), p.Host, p.Dir, twice, facets.Options{}); evidence.ClassOf(err) !=
		evidence.Refused {
		t.Errorf("two of one name: %v", err)
	}
	if _, err := os.Stat(p.Path(project.LockFile)); err == nil {
		t.Error("something was written")
	}
	p.Must(facets.AddFound(t.Context(), p.Host, p.Dir, found, facets.Options{}))
	if !strings.Contains(p.Read(".claude/skills/skill-199/SKILL.md"), "name: skill-199") {
		t.Error("skill-199 is not installed")
	}
}
