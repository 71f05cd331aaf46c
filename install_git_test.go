package hallmark

import (
	"encoding/pem"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// gitWorld is a project beside a git server that speaks https.
type gitWorld struct {
	*facetProject
	work string // a working tree of the repository
	bare string
	URL  string
}

func newGitWorld(t *testing.T, source string) *gitWorld {
	t.Helper()
	base := t.TempDir()
	w := &gitWorld{work: filepath.Join(base, "work"), bare: filepath.Join(base, "srv", "kit.git")}
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal("git is needed: ", err)
	}
	srv := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Join(base, "srv"), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + base},
	})
	t.Cleanup(srv.Close)
	w.URL = srv.URL + "/kit.git"
	authority := filepath.Join(base, "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	w.facetProject = newFacetProject(t,
		strings.ReplaceAll("[facets]\nkit = { git = \"URL\""+source+" }\n[adapters]\ntargets = [\"dir:tools\"]\n",
			"URL", w.URL))
	w.host.Environ = append(os.Environ(), "GIT_SSL_CAINFO="+authority, "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1")
	w.git("init", "--quiet", "--bare", "-b", "main", w.bare)
	w.git("init", "--quiet", "-b", "main", w.work)
	return w
}

func (w *gitWorld) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	if args[0] != "init" {
		cmd.Dir = w.work
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits a version of the facet and moves the branch and the tag to it.
func (w *gitWorld) push(sub, version, text string) string {
	w.t.Helper()
	elsewhere := *w.facetProject
	elsewhere.dir = w.work
	elsewhere.kit(sub, version, text)
	w.git("add", "-A")
	w.git("commit", "--quiet", "--allow-empty", "-m", version)
	w.git("tag", "-f", "v1")
	w.git("push", "--quiet", "-f", w.bare, "main", "v1")
	return w.git("rev-parse", "HEAD")
}

// The commit is locked; a tag that moves is drift while the locked commit gives the
// locked contents, and integrity if it does not.
func testGitInstall(t *testing.T) {
	w := newGitWorld(t, `, tag = "v1"`)
	first := w.push(".", "1.0.0", "First.\n")
	w.must(w.install(facets.Options{}))
	entry := w.entry("kit")
	if entry.Source.Commit != first || entry.Source.Tag != "v1" ||
		w.read("tools/skills/greet/SKILL.md") != "# Greet\nFirst.\n" {
		t.Fatalf("%+v", entry.Source)
	}
	lock := w.read(project.LockFile)
	second := w.push(".", "1.0.0", "Second.\n")

	// A warm install asks nobody, and so does not see it.
	w.must(w.install(facets.Options{}))
	w.must(w.install(facets.Options{Frozen: true, Offline: true}))

	for name, run := range map[string]func() error{
		"cold install": func() error { w.emptyStore(); _, err := w.install(facets.Options{}); return err },
		"upgrade": func() error {
			_, err := upgradeFacets(t, w.host, w.dir, nil, facets.Options{})
			return err
		},
		"outdated": func() error { _, err := facets.Outdated(t.Context(), w.host, w.dir); return err },
	} {
		err := run()
		if err == nil || evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), first) ||
			!strings.Contains(err.Error(), second) {
			t.Errorf("%s: %v", name, err)
		}
		if w.read(project.LockFile) != lock {
			t.Errorf("%s: the lock changed", name)
		}
	}

	// A frozen installation uses the locked commit wherever the tag points, and says that it moved.
	w.emptyStore()
	frozen, err := w.install(facets.Options{Frozen: true})
	w.must(frozen, err)
	if warned := frozen.Verdict.Warnings(); len(warned) != 1 || warned[0].Evidence.Scheme != evidence.Tag ||
		w.read(project.LockFile) != lock || w.read("tools/skills/greet/SKILL.md") != "# Greet\nFirst.\n" {
		t.Errorf("%v", warned)
	}

	// Who declares the facet anew is shown what changes by the tag, in another directory of the repository too, and
	// follows it only by agreeing. So does an upgrade of it.
	add := func(o facets.Options) (*facets.Installation, error) {
		return facets.Add(t.Context(), w.host, w.dir, project.Facet{Name: "kit", Git: w.URL, Tag: "v1"}, o)
	}
	upgrade := func(o facets.Options, names ...string) (*facets.Installation, error) {
		o.AcceptTag = true
		out, err := facets.Upgrade(t.Context(), w.host, w.dir, names, facets.UpgradeOptions{Facets: o})
		return out.Facets, err
	}
	var shown []facets.Change
	answer := func(consent host.Consent) facets.Options {
		return facets.Options{Confirm: func(all []facets.Change) (host.Consent, error) { shown = all; return consent, nil }}
	}
	before := w.all()
	for name, run := range map[string]func() error{
		"add":              func() error { _, err := add(facets.Options{}); return err },
		"add, refused":     func() error { _, err := add(answer(host.NoConsent)); return err },
		"upgrade":          func() error { _, err := upgrade(facets.Options{}, "kit"); return err },
		"upgrade, no":      func() error { _, err := upgrade(answer(host.NoConsent), "kit"); return err },
		"upgrade, unnamed": func() error { _, err := upgrade(answer(host.StandingConsent)); return err },
	} {
		err := run()
		if evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), first) ||
			!strings.Contains(err.Error(), second) || w.all() != before {
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
	w.must(out, err)
	if w.all() != before {
		t.Error("something was written")
	}
	accepted := w.read(project.LockFile)
	out, err = upgrade(answer(host.StandingConsent), "kit")
	w.must(out, err)
	if w.entry("kit").Source.Commit != second {
		t.Errorf("%+v", w.entry("kit").Source)
	}
	w.write(project.LockFile, accepted)
	out, err = add(answer(host.StandingConsent))
	w.must(out, err)
	if w.entry("kit").Source.Commit != second || w.read("tools/skills/greet/SKILL.md") != "# Greet\nSecond.\n" {
		t.Errorf("%+v", w.entry("kit").Source)
	}

	// A lock that names another commit than its contents are of.
	text := w.read(project.LockFile)
	l, err := project.ParseLock([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := l.Facet("kit")
	forged.Source.Commit = first
	data := forgedLock(t, "kit", forged)
	w.write(project.LockFile, string(data))
	w.emptyStore()
	_, err = w.install(facets.Options{})
	w.refused(evidence.Integrity, err, "facet-tar mismatch", "tag mismatch", first, second)
	if w.read(project.LockFile) != string(data) {
		t.Error("the lock changed")
	}
}

// A tag that was force-pushed, with the old commit gone from the repository, is drift, which only a person's
// agreement ends; and so is a tag that is gone.
func TestGitCommitGone(t *testing.T) {
	w := newGitWorld(t, `, tag = "v1"`)
	first := w.push(".", "1.0.0", "First.\n")
	w.must(w.install(facets.Options{}))
	w.git("checkout", "--quiet", "--orphan", "other")
	w.git("branch", "--quiet", "-D", "main")
	w.git("branch", "--quiet", "-m", "main")
	second := w.push(".", "1.0.0", "Second.\n")
	w.git("--git-dir="+w.bare, "reflog", "expire", "--expire=now", "--all")
	w.git("--git-dir="+w.bare, "gc", "--quiet", "--prune=now")
	before := w.all()
	w.emptyStore()
	for _, frozen := range []bool{false, true} {
		_, err := w.install(facets.Options{Frozen: frozen})
		if evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), first) ||
			!strings.Contains(err.Error(), second) || !strings.Contains(err.Error(), "hallmark upgrade kit --accept-tag") {
			t.Errorf("frozen %t: %v", frozen, err)
		}
	}
	if w.all() != before {
		t.Error("something was written")
	}
	yes := facets.Options{AcceptTag: true, Confirm: consentToChanges}
	out, err := upgradeFacets(t, w.host, w.dir, []string{"kit"}, yes)
	w.must(out, err)
	if w.entry("kit").Source.Commit != second || !strings.Contains(w.read("tools/skills/greet/SKILL.md"), "Second") {
		t.Errorf("%+v", w.entry("kit").Source)
	}

	w.git("push", "--quiet", w.bare, ":refs/tags/v1")
	for name, run := range map[string]func() error{
		"upgrade": func() error {
			_, err := upgradeFacets(t, w.host, w.dir, []string{"kit"}, yes)
			return err
		},
		"add": func() error {
			_, err := facets.Add(t.Context(), w.host, w.dir, project.Facet{Name: "kit", Git: w.URL, Tag: "v1"}, yes)
			return err
		},
		"cold": func() error { w.emptyStore(); _, err := w.install(facets.Options{}); return err },
	} {
		err := run()
		if evidence.ClassOf(err) != evidence.Drift || !strings.Contains(err.Error(), "there is no such tag") ||
			!strings.Contains(err.Error(), "'hallmark add kit --git URL --tag TAG'") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.emptyStore()
	w.must(w.install(facets.Options{Frozen: true})) // the commit is still there
}

// Branches are followed by upgrade, and by nothing else; a commit and a directory can be
// named; blobs are what counts, whatever attributes say.
func TestGitSources(t *testing.T) {
	w := newGitWorld(t, `, branch = "main", sub = "deep/kit"`)
	first := w.push("deep/kit", "1.0.0", "First.\n")
	w.must(w.install(facets.Options{}))
	if err := os.WriteFile(filepath.Join(w.work, ".gitattributes"),
		[]byte("* text eol=crlf\n*.md ident export-ignore filter=evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := w.push("deep/kit", "1.1.0", "Second. $Id$\n")
	w.emptyStore()
	w.must(w.install(facets.Options{}))
	if w.entry("kit").Source.Commit != first || !strings.Contains(w.read("tools/skills/greet/SKILL.md"), "First") {
		t.Error("an install followed the branch")
	}
	all, err := facets.Outdated(t.Context(), w.host, w.dir)
	if err != nil || !all.Facets[0].Outdated() || all.Facets[0].Wanted != second {
		t.Errorf("%v: %+v", err, all)
	}
	out, err := upgradeFacets(t, w.host, w.dir, []string{"kit"}, facets.Options{})
	w.must(out, err)
	if w.entry("kit").Source.Commit != second || w.read("tools/skills/greet/SKILL.md") != "# Greet\nSecond. $Id$\n" {
		t.Errorf("%q", w.read("tools/skills/greet/SKILL.md"))
	}

	// Without a name the facet.json of the commit gives it.
	p := newFacetProject(t, "[adapters]\ntargets = [\"dir:tools\"]\n")
	p.host.Environ = w.host.Environ
	out, err = facets.Add(t.Context(), p.host, p.dir, project.Facet{Git: w.URL, Commit: first, Sub: "deep/kit"},
		facets.Options{})
	p.must(out, err)
	if entry := p.entry("kit"); entry.Source.Commit != first || entry.Version != "1.0.0" ||
		!strings.Contains(p.read(project.ConfigFile), "commit = \""+first) {
		t.Errorf("%+v\n%s", entry, p.read(project.ConfigFile))
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
		"file": {project.Facet{Name: "kit", Git: "file://" + w.bare}, evidence.Validation,
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
		before := w.all()
		_, err := facets.Add(t.Context(), w.host, w.dir, c.f, facets.Options{Offline: name == "offline"})
		if err == nil || evidence.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v (%v)", name, err, evidence.ClassOf(err))
		}
		if w.all() != before {
			t.Errorf("%s: something was written", name)
		}
	}

	// A link where a file of the facet is to be.
	if err := os.Remove(filepath.Join(w.work, "deep/kit/skills/greet/names.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(w.work, "deep/kit/skills/greet/names.txt")); err != nil {
		t.Fatal(err)
	}
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", "link")
	w.git("push", "--quiet", w.bare, "main")
	_, err = upgradeFacets(t, w.host, w.dir, nil, facets.Options{})
	w.refused(evidence.Validation, err, "symbolic link")
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
		{entry.Subject(name), observed(entry.Integrity)},
		{project.AssetsSubject(entry.Subject(name)), observed(project.AssetsDigest(entry.Assets))},
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
		o.Confirm = consentToChanges
	}
	out, err := facets.Upgrade(t.Context(), h, dir, names, facets.UpgradeOptions{Facets: o})
	return out.Facets, err
}

// consentToChanges consents to whatever changes of facets.
func consentToChanges([]facets.Change) (host.Consent, error) { return host.StandingConsent, nil }
