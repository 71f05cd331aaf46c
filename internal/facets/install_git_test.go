package facets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/gittest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/project"
)

// The commit is locked; a tag that moves is drift while the locked commit gives the
// locked contents, and integrity if it does not.
func testGitInstall(t *testing.T) {
	w := gittest.New(t, `, tag = "v1"`)
	first := w.Push(".", "1.0.0", "First.\n")
	w.Must(w.Install(facets.Options{}))
	entry := w.Entry("kit")
	if entry.Source.Commit != first || entry.Source.Tag != "v1" ||
		w.Read("tools/skills/greet/SKILL.md") != "# Greet\nFirst.\n" {
		t.Fatalf("%+v", entry.Source)
	}
	lock := w.Read(project.LockFile)
	second := w.Push(".", "1.0.0", "Second.\n")

	// A warm install asks nobody, and so does not see it.
	w.Must(w.Install(facets.Options{}))
	w.Must(w.Install(facets.Options{Frozen: true, Offline: true}))

	for name, run := range map[string]func() error{
		"cold install": func() error { w.EmptyStore(); _, err := w.Install(facets.Options{}); return err },
		"upgrade": func() error {
			_, err := upgradeFacets(t, w.Host, w.Dir, nil, facets.Options{})
			return err
		},
		"outdated": func() error { _, err := facets.Outdated(t.Context(), w.Host, w.Dir); return err },
	} {
		err := run()
		if err == nil || evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), first) ||
			!strings.Contains(err.Error(), second) {
			t.Errorf("%s: %v", name, err)
		}
		if w.Read(project.LockFile) != lock {
			t.Errorf("%s: the lock changed", name)
		}
	}

	// A frozen installation uses the locked commit wherever the tag points, and says that it moved.
	w.EmptyStore()
	frozen, err := w.Install(facets.Options{Frozen: true})
	w.Must(frozen, err)
	if warned := frozen.Verdict.Warnings(); len(warned) != 1 || warned[0].Evidence.Scheme != evidence.Tag ||
		w.Read(project.LockFile) != lock || w.Read("tools/skills/greet/SKILL.md") != "# Greet\nFirst.\n" {
		t.Errorf("%v", warned)
	}

	// Who declares the facet anew is shown what changes by the tag, in another directory of the repository too, and
	// follows it only by agreeing. So does an upgrade of it.
	add := func(o facets.Options) (*facets.Installation, error) {
		return facets.Add(t.Context(), w.Host, w.Dir, project.Facet{Name: "kit", Git: w.URL, Tag: "v1"}, o)
	}
	upgrade := func(o facets.Options, names ...string) (*facets.Installation, error) {
		o.AcceptTag = true
		out, err := facets.Upgrade(t.Context(), w.Host, w.Dir, names, facets.UpgradeOptions{Facets: o})
		return out.Facets, err
	}
	var shown []facets.Change
	answer := func(consent host.Consent) facets.Options {
		return facets.Options{Confirm: func(all []facets.Change) (host.Consent, error) { shown = all; return consent, nil }}
	}
	before := w.All()
	for name, run := range map[string]func() error{
		"add":              func() error { _, err := add(facets.Options{}); return err },
		"add, refused":     func() error { _, err := add(answer(host.NoConsent)); return err },
		"upgrade":          func() error { _, err := upgrade(facets.Options{}, "kit"); return err },
		"upgrade, no":      func() error { _, err := upgrade(answer(host.NoConsent), "kit"); return err },
		"upgrade, unnamed": func() error { _, err := upgrade(answer(host.StandingConsent)); return err },
	} {
		err := run()
		if evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), first) ||
			!strings.Contains(err.Error(), second) || w.All() != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(shown) != 1 || shown[0].Before.Source.Commit != first || shown[0].After.Source.Commit != second ||
		len(shown[0].Assets) != 1 || shown[0].Assets[0].Path != "skills/greet/SKILL.md" || !shown[0].TagMoved() ||
		!strings.Contains(shown[0].Assets[0].Diff, "+Second.") {
		t.Errorf("%+v", shown)
	}
	dry := answer(host.NoConsent)
	dry.Dry = true
	out, err := upgrade(dry, "kit")
	w.Must(out, err)
	if w.All() != before {
		t.Error("something was written")
	}
	accepted := w.Read(project.LockFile)
	out, err = upgrade(answer(host.StandingConsent), "kit")
	w.Must(out, err)
	if w.Entry("kit").Source.Commit != second {
		t.Errorf("%+v", w.Entry("kit").Source)
	}
	w.Write(project.LockFile, accepted)
	out, err = add(answer(host.StandingConsent))
	w.Must(out, err)
	if w.Entry("kit").Source.Commit != second || w.Read("tools/skills/greet/SKILL.md") != "# Greet\nSecond.\n" {
		t.Errorf("%+v", w.Entry("kit").Source)
	}

	// A lock that names another commit than its contents are of.
	text := w.Read(project.LockFile)
	l, err := project.ParseLock([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := l.Facet("kit")
	forged.Source.Commit = first
	data := forgedLock(t, "kit", forged)
	w.Write(project.LockFile, string(data))
	w.EmptyStore()
	_, err = w.Install(facets.Options{})
	w.Refused(evidence.Integrity, err, "facet-tar mismatch", "tag mismatch", first, second)
	if w.Read(project.LockFile) != string(data) {
		t.Error("the lock changed")
	}
}

// A tag that was force-pushed, with the old commit gone from the repository, is drift, which only a person's
// agreement ends; and so is a tag that is gone.
func TestGitCommitGone(t *testing.T) {
	w := gittest.New(t, `, tag = "v1"`)
	first := w.Push(".", "1.0.0", "First.\n")
	w.Must(w.Install(facets.Options{}))
	w.Git("checkout", "--quiet", "--orphan", "other")
	w.Git("branch", "--quiet", "-D", "main")
	w.Git("branch", "--quiet", "-m", "main")
	second := w.Push(".", "1.0.0", "Second.\n")
	w.Git("--git-dir="+w.Bare, "reflog", "expire", "--expire=now", "--all")
	w.Git("--git-dir="+w.Bare, "gc", "--quiet", "--prune=now")
	before := w.All()
	w.EmptyStore()
	for _, frozen := range []bool{false, true} {
		_, err := w.Install(facets.Options{Frozen: frozen})
		if evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), first) ||
			!strings.Contains(err.Error(), second) || !strings.Contains(err.Error(), "hallmark upgrade kit --accept-tag") {
			t.Errorf("frozen %t: %v", frozen, err)
		}
	}
	if w.All() != before {
		t.Error("something was written")
	}
	yes := facets.Options{AcceptTag: true, Confirm: hosttest.ConsentToChanges}
	out, err := upgradeFacets(t, w.Host, w.Dir, []string{"kit"}, yes)
	w.Must(out, err)
	if w.Entry("kit").Source.Commit != second || !strings.Contains(w.Read("tools/skills/greet/SKILL.md"), "Second") {
		t.Errorf("%+v", w.Entry("kit").Source)
	}

	w.Git("push", "--quiet", w.Bare, ":refs/tags/v1")
	for name, run := range map[string]func() error{
		"upgrade": func() error {
			_, err := upgradeFacets(t, w.Host, w.Dir, []string{"kit"}, yes)
			return err
		},
		"add": func() error {
			_, err := facets.Add(t.Context(), w.Host, w.Dir, project.Facet{Name: "kit", Git: w.URL, Tag: "v1"}, yes)
			return err
		},
		"cold": func() error { w.EmptyStore(); _, err := w.Install(facets.Options{}); return err },
	} {
		err := run()
		if evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), "there is no such tag") ||
			!strings.Contains(err.Error(), "'hallmark add kit --git URL --tag TAG'") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.EmptyStore()
	w.Must(w.Install(facets.Options{Frozen: true})) // the commit is still there
}

// Branches are followed by upgrade, and by nothing else; a commit and a directory can be
// named; blobs are what counts, whatever attributes say.
func TestGitSources(t *testing.T) {
	w := gittest.New(t, `, branch = "main", sub = "deep/kit"`)
	first := w.Push("deep/kit", "1.0.0", "First.\n")
	w.Must(w.Install(facets.Options{}))
	if err := os.WriteFile(filepath.Join(w.Work, ".gitattributes"),
		[]byte("* text eol=crlf\n*.md ident export-ignore filter=evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := w.Push("deep/kit", "1.1.0", "Second. $Id$\n")
	w.EmptyStore()
	w.Must(w.Install(facets.Options{}))
	if w.Entry("kit").Source.Commit != first || !strings.Contains(w.Read("tools/skills/greet/SKILL.md"), "First") {
		t.Error("an install followed the branch")
	}
	all, err := facets.Outdated(t.Context(), w.Host, w.Dir)
	if err != nil || !all.Facets[0].Outdated() || all.Facets[0].Wanted != second {
		t.Errorf("%v: %+v", err, all)
	}
	out, err := upgradeFacets(t, w.Host, w.Dir, []string{"kit"}, facets.Options{})
	w.Must(out, err)
	if w.Entry("kit").Source.Commit != second || w.Read("tools/skills/greet/SKILL.md") != "# Greet\nSecond. $Id$\n" {
		t.Errorf("%q", w.Read("tools/skills/greet/SKILL.md"))
	}

	// Without a name the facet.json of the commit gives it.
	p := hosttest.NewFacetProject(t, "[adapters]\ntargets = [\"dir:tools\"]\n")
	p.Host.Environ = w.Host.Environ
	out, err = facets.Add(t.Context(), p.Host, p.Dir, project.Facet{Git: w.URL, Commit: first, Sub: "deep/kit"},
		facets.Options{})
	p.Must(out, err)
	if entry := p.Entry("kit"); entry.Source.Commit != first || entry.Version != "1.0.0" ||
		!strings.Contains(p.Read(project.ConfigFile), "commit = \""+first) {
		t.Errorf("%+v\n%s", entry, p.Read(project.ConfigFile))
	}

	for name, c := range map[string]struct {
		f     project.Facet
		class evidence.Class
		text  string
	}{
		"no such tag": {project.Facet{Name: "kit", Git: w.URL, Tag: "v9"}, evidence.Validation, "no such tag"},
		"no such commit": {project.Facet{Name: "kit", Git: w.URL, Commit: strings.Repeat("a", 40)}, evidence.Validation,
			"no such tag, branch or commit"},
		"no directory": {project.Facet{Name: "kit", Git: w.URL}, evidence.Validation, "facet.json"},
		"another name": {project.Facet{Name: "kit9", Git: w.URL, Sub: "deep/kit"}, evidence.Validation, "kit@1.1.0"},
		"file": {project.Facet{Name: "kit", Git: "file://" + w.Bare}, evidence.Validation,
			"is no URL such as https:"},
		"plain http": {project.Facet{Name: "kit", Git: strings.Replace(w.URL, "https", "http", 1)},
			evidence.Validation, "https and ssh are"},
		"credentials": {project.Facet{Name: "kit", Git: strings.Replace(w.URL, "https://", "https://me:secret@", 1)},
			evidence.Validation, "credentials"},
		"an option": {project.Facet{Name: "kit", Git: w.URL, Tag: "--upload-pack=evil"}, evidence.Validation,
			"cannot be the name"},
		"no host": {project.Facet{Name: "kit", Git: "https://127.0.0.1:1/x.git"}, evidence.Operation, "git ls-remote"},
		"offline": {project.Facet{Name: "kit9", Git: w.URL, Tag: "v1", Sub: "deep/kit"}, evidence.Operation,
			"--offline"},
	} {
		before := w.All()
		_, err := facets.Add(t.Context(), w.Host, w.Dir, c.f, facets.Options{Offline: name == "offline"})
		if err == nil || evidence.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v (%v)", name, err, evidence.ClassOf(err))
		}
		if w.All() != before {
			t.Errorf("%s: something was written", name)
		}
	}

	// A link where a file of the facet is to be.
	if err := os.Remove(filepath.Join(w.Work, "deep/kit/skills/greet/names.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(w.Work, "deep/kit/skills/greet/names.txt")); err != nil {
		t.Fatal(err)
	}
	w.Git("add", "-A")
	w.Git("commit", "--quiet", "-m", "link")
	w.Git("push", "--quiet", w.Bare, "main")
	_, err = upgradeFacets(t, w.Host, w.Dir, nil, facets.Options{})
	w.Refused(evidence.Validation, err, "symbolic link")
}

// forgedLock is a lock with one entry that nobody admitted, and the right digest of itself.
func forgedLock(t *testing.T, name string, entry project.FacetLock) []byte {
	t.Helper()
	lock := new(project.Lock)
	report := evidence.Report{}
	for _, s := range []struct {
		subject string
		o       evidence.Observed
	}{
		{entry.Subject(name), hosttest.Observed(entry.Integrity)},
		{project.AssetsSubject(entry.Subject(name)), hosttest.Observed(project.AssetsDigest(entry.Assets))},
	} {
		report = append(report,
			evidence.Compare(evidence.Claim{Subject: s.subject, Scheme: evidence.FacetTar, Authority: evidence.Lock},
				s.o))
	}
	if err := lock.AddFacet(admitAll(report), name, entry); err != nil {
		t.Fatal(err)
	}
	data, err := lock.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// upgradeFacets is an upgrade of a project without servers, to which somebody consents.
func upgradeFacets(t *testing.T, h *host.Host, dir string, names []string,
	o facets.Options) (*facets.Installation, error) {
	if o.Confirm == nil {
		o.Confirm = hosttest.ConsentToChanges
	}
	out, err := facets.Upgrade(t.Context(), h, dir, names, facets.UpgradeOptions{Facets: o})
	return out.Facets, err
}
