package facets_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/gittest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
	"github.com/hallmark-mcp/hallmark/wrap"
)

// shape is a directory as people have them: a vector of spec/wrap.json that is not refused.
type shape struct {
	Name  string
	Files []struct {
		Path, Text, Base64 string
		Repeat             int
	}
	Links    map[string]string
	Error    *string
	Manifest string
}

// shapes are the directories of spec/wrap.json that are skills, or plugins. What no repository can hold is left out.
func shapes(t *testing.T, plugins bool) (all []shape) {
	data, err := os.ReadFile("../../spec/wrap.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct{ Wraps []shape }
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, s := range vectors.Wraps {
		if s.Error == nil && strings.Contains(s.Manifest, `"plugin/`) == plugins {
			all = append(all, s)
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
	f, err := wrap.Wrap(wrap.Dir{Files: files, Open: open}, name)
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
		if entry.Source.Wrapped != wrap.Rule || !evidence.Same(entry.Integrity, local.Entry(name).Integrity) ||
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
