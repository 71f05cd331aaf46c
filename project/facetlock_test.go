package project

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

func facetEntry() FacetLock {
	d := digest.FromBytes
	return FacetLock{
		Version: "1.2.0", Source: SourceLock{Kind: FromRegistry, Registry: "registry.example.com"}, Integrity: d([]byte("tar")),
		Assets:   map[string]digest.Digest{"facet.json": d([]byte("{}")), "agents/x.md": d([]byte("x"))},
		Composes: map[string]string{"other": "1.0.0"},
	}
}

// evidenceOf is what admits an entry.
func evidenceOf(name string, f FacetLock) evidence.Report {
	var report evidence.Report
	for subject, d := range map[string]digest.Digest{f.Subject(name): f.Integrity, AssetsSubject(f.Subject(name)): AssetsDigest(f.Assets)} {
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock}, evidence.Observed{Digests: []digest.Digest{d}}))
	}
	return report
}

func TestFacetNeedsAdmission(t *testing.T) {
	f := facetEntry()
	report := evidenceOf("kit", f)
	var l Lock
	if err := l.AddFacet(policy.Admitted{}, "kit", f); err == nil {
		t.Fatal("the zero Admitted was enough")
	}
	for i := range report {
		less := append(append(evidence.Report{}, report[:i]...), report[i+1:]...)
		if err := l.AddFacet(policy.Judge(policy.Install, policy.Settings{}, less).Admitted(), "kit", f); err == nil {
			t.Errorf("added without evidence of %s", report[i].Subject)
		}
	}
	if err := l.AddFacet(policy.Judge(policy.Verify, policy.Settings{}, report).Admitted(), "kit", f); err == nil {
		t.Error("added with a verdict of another flow")
	}
	adm := policy.Judge(policy.Install, policy.Settings{}, report).Admitted()
	if err := l.AddFacet(adm, "other", f); err == nil {
		t.Error("added under another name")
	}
	if err := l.AddFacet(adm, "kit", f); err != nil {
		t.Fatal(err)
	}
	// What the entry has already needs no evidence again; anything else does.
	if err := l.AddFacet(policy.Admitted{}, "kit", f); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	other := digest.FromBytes([]byte("other"))
	for name, change := range map[string]func(*FacetLock){
		"another integrity": func(f *FacetLock) { f.Integrity = other },
		"another asset":     func(f *FacetLock) { f.Assets["agents/x.md"] = other },
		"one more asset":    func(f *FacetLock) { f.Assets["agents/y.md"] = other },
		"another version":   func(f *FacetLock) { f.Version = "1.2.1" },
		"another source":    func(f *FacetLock) { f.Source = SourceLock{Kind: FromLocal, Path: "x"} },
	} {
		next := facetEntry()
		change(&next)
		if err := l.AddFacet(policy.Admitted{}, "kit", next); err == nil {
			t.Errorf("%s was locked without being admitted", name)
		}
	}
}

// What Hallmark would not have written is refused, even if the lock's own digest is right.
func TestForgedFacets(t *testing.T) {
	for name, change := range map[string]func(*FacetLock){
		"range":            func(f *FacetLock) { f.Version = "1.*" },
		"no version":       func(f *FacetLock) { f.Version = "" },
		"no integrity":     func(f *FacetLock) { f.Integrity = digest.Digest{} },
		"weak":             func(f *FacetLock) { f.Integrity, _ = digest.ParseHex(digest.SHA1, strings.Repeat("a", 40)) },
		"no manifest":      func(f *FacetLock) { delete(f.Assets, "facet.json") },
		"outside":          func(f *FacetLock) { f.Assets["../x"] = f.Integrity },
		"zero asset":       func(f *FacetLock) { f.Assets["y"] = digest.Digest{} },
		"composes a range": func(f *FacetLock) { f.Composes["other"] = "*" },
		"composes a path":  func(f *FacetLock) { f.Composes["../x"] = "1.0.0" },
		"unknown source":   func(f *FacetLock) { f.Source.Kind = "ftp" },
		"two sources":      func(f *FacetLock) { f.Source.Path = "x" },
		"no registry":      func(f *FacetLock) { f.Source.Registry = "" },
		"git over http": func(f *FacetLock) {
			f.Source = SourceLock{Kind: FromGit, URL: "http://git.example.com/k", Commit: strings.Repeat("a", 40)}
		},
		"git with option": func(f *FacetLock) {
			f.Source = SourceLock{Kind: FromGit, URL: "ssh://-oProxyCommand=x/k", Commit: strings.Repeat("a", 40)}
		},
		"git without commit": func(f *FacetLock) { f.Source = SourceLock{Kind: FromGit, URL: "https://git.example.com/k"} },
		"sub outside": func(f *FacetLock) {
			f.Source = SourceLock{Kind: FromGit, URL: "https://git.example.com/k", Commit: strings.Repeat("a", 40), Sub: "../x"}
		},
		"a prefix that is a path": func(f *FacetLock) { f.Prefix = "../x" },
		"a part of no kind":       func(f *FacetLock) { f.Parts = []string{"rule x"} },
		"proof":                   func(f *FacetLock) { f.Proof = "none" },
		"proof of a local":        func(f *FacetLock) { f.Source, f.Proof = SourceLock{Kind: FromLocal, Path: "x"}, "x" },
	} {
		f := facetEntry()
		change(&f)
		data, err := (&Lock{facets: map[string]FacetLock{"kit": f}}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseLock(data); evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%s: %v", name, err)
		}
	}
	data, err := (&Lock{facets: map[string]FacetLock{"../kit": facetEntry()}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseLock(data); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("a name that is a path: %v", err)
	}
}

// The vectors of spec/lock.json: hallmark.toml, locks, receipts and lists of digests, valid
// and not.
func TestProjectVectors(t *testing.T) {
	data, err := os.ReadFile("../spec/lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Config []struct {
			Name, Text, Error string
			Facets            map[string]string
			Targets           []string
		}
		Lock []struct{ Name, Text, Error, Class, Renewed string } // Renewed: as it is written again, if not as it is
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Config) < 20 || len(vectors.Lock) < 10 {
		t.Fatal("vectors are missing")
	}
	check := func(kind, name string, err error, want string) bool {
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: got %v, want %q", kind, name, err, want)
		}
		return err == nil
	}
	for _, v := range vectors.Config {
		c, err := ParseConfig([]byte(v.Text))
		if !check("config", v.Name, err, v.Error) {
			continue
		}
		for name, want := range v.Facets {
			if got := c.Facets[name].String(); got != want {
				t.Errorf("%s: %s is %q, want %q", v.Name, name, got, want)
			}
		}
		if len(c.Facets) != len(v.Facets) || strings.Join(c.Targets, " ") != strings.Join(v.Targets, " ") {
			t.Errorf("%s: %d facets, targets %q", v.Name, len(c.Facets), c.Targets)
		}
	}
	for _, v := range vectors.Lock {
		l, err := ParseLock([]byte(v.Text))
		if !check("lock", v.Name, err, v.Error) {
			if got := evidence.ClassOf(err).String(); got != v.Class {
				t.Errorf("lock %s: class %s, want %s", v.Name, got, v.Class)
			}
			continue
		}
		if again, err := l.Encode(); err != nil || string(again) != cmp.Or(v.Renewed, v.Text) {
			t.Errorf("lock %s: encodes as\n%s", v.Name, again)
		}
	}
}

// What a person approved is the same in each version of the lock that holds it.
func TestApprovableOfVersions(t *testing.T) {
	data, err := os.ReadFile("../spec/lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Lock []struct{ Name, Text string }
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range vectors.Lock {
		if v.Name != "a command" && v.Name != "version 2, a command" {
			continue
		}
		l, err := ParseLock([]byte(v.Text))
		if err != nil {
			t.Fatal(err)
		}
		entry, _ := l.Server("a")
		const want = "sha256:d1816687300bdcda3bd74ce12fc3db8b65ebb120ef0c28eb6ae2cc96ba146b72" // as version 2 had it
		if got := entry.Approvable().String(); got != want {
			t.Errorf("%s: %s", v.Name, got)
		}
		seen++
	}
	if seen != 2 {
		t.Fatalf("%d vectors", seen)
	}
}

func TestCovers(t *testing.T) {
	registry := Registry{URL: "https://registry.example.com"}
	r, _ := artifact.ParseRequirement("1.*")
	f := Facet{Name: "kit", Requirement: r}
	l := facetEntry()
	if !l.Covers(f, registry) {
		t.Error("not covered")
	}
	if l.Covers(f, Registry{URL: "https://other.example.com"}) {
		t.Error("of another registry")
	}
	two, err := artifact.ParseRequirement("2.*")
	if err != nil {
		t.Fatal(err)
	}
	if l.Covers(Facet{Name: "kit", Requirement: two}, registry) || l.Covers(Facet{Name: "kit", Path: "x"}, registry) {
		t.Error("covered")
	}
	git := Facet{Name: "kit", Git: "https://git.example.com/k", Tag: "v1"}
	l.Source = git.Source(registry)
	l.Source.Commit = strings.Repeat("a", 40)
	if !l.Covers(git, registry) {
		t.Error("git: not covered")
	}
	for _, other := range []Facet{
		{Git: git.Git, Tag: "v2"}, {Git: git.Git, Branch: "v1"}, {Git: git.Git, Tag: "v1", Sub: "x"}, {Git: git.Git + "x", Tag: "v1"},
		{Git: git.Git, Commit: strings.Repeat("b", 40)},
	} {
		if l.Covers(other, registry) {
			t.Errorf("%+v is covered", other)
		}
	}
}

// Before a facet's version is known its subject is its name.
func TestFacetSubject(t *testing.T) {
	if of, before := FacetSubject("@acme/a", "1.0.0"), FacetSubject("@acme/a", ""); of != "@acme/a@1.0.0" || before != "@acme/a" {
		t.Errorf("%s, %s", of, before)
	}
}
