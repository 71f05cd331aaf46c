package project

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// entries are one of each kind that is as its kind demands.
func entries() map[ServerKind]ServerLock {
	d := digest.FromBytes([]byte("bytes"))
	of := func(ref string, launch Server, s ServerLock) ServerLock {
		s.Ref, s.Launch = ref, launch.Launch()
		if launch.URL == "" {
			s.Artifacts = map[string]digest.Digest{ref: d}
		}
		return s
	}
	closure := func(engine string) *ClosureLock {
		return &ClosureLock{Engine: engine, Lock: d, Trees: map[string]digest.Digest{"linux/amd64": d}}
	}
	image := "oci:registry.example.com/notes@" + d.String()
	return map[ServerKind]ServerLock{
		KindCommand: of("file:notes", Server{Command: "./notes"}, ServerLock{}),
		KindHTTP:    of("https://mcp.example.com/mcp", Server{URL: "https://mcp.example.com/mcp"}, ServerLock{}),
		KindNPM: of("npm:@acme/notes@1.4.0", Server{Command: "npx"},
			ServerLock{Entry: "node_modules/@acme/notes/main.js", Closure: closure(EngineNPM)}),
		KindPyPI: of("pypi:notes==1.4.0/notes-1.4.0-py3-none-any.whl", Server{Command: "uvx"},
			ServerLock{Entry: "notes.main:run", Closure: closure(EngineUV)}),
		KindGo: of("go:example.com/notes@v1.4.0", Server{Command: "go"},
			ServerLock{Entry: "example.com/notes/cmd/notes", Closure: closure(EngineGo)}),
		KindImage: of(image, Server{Command: "docker"}, ServerLock{Digest: d}),
		KindArtifact: of("@acme/notes@1.4.0", Server{Source: "@acme/notes@1.4.0"}, ServerLock{
			Entry: "main.js", Runtime: "node",
			Record: &RecordLock{Registry: "registry.example.com", Name: "@acme/notes", Version: "1.4.0", Document: d},
		}),
	}
}

// admit is the verdict on all that an entry is made of.
func admit(name string, s ServerLock) policy.Admitted {
	var report evidence.Report
	match := func(subject string, d digest.Digest) {
		claim := evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{d}}
		report = append(report, evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{d}}))
	}
	for ref, d := range s.Artifacts {
		match(ref, d)
	}
	if s.Closure != nil {
		match(ClosureSubject(name), s.Closure.Lock)
		for platform, d := range s.Closure.Trees {
			match(TreeSubject(name, platform), d)
		}
	}
	if s.Record != nil {
		match(s.Record.Subject(), s.Record.Document)
	}
	match(SurfaceSubject(name), shown("Adds.").Digest())
	return policy.Judge(policy.Pin, policy.Settings{}, report).Admitted()
}

// lockOf writes a lock with one entry, and reads it.
func lockOf(t *testing.T, s ServerLock) (*Lock, error) {
	t.Helper()
	var l Lock
	if err := l.Add(admit("notes", s), "notes", s, shown("Adds.")); err != nil {
		return nil, err
	}
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseLock(data)
	if err != nil {
		t.Fatalf("what was written is not read: %v\n%s", err, data)
	}
	if again, err := read.Encode(); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("written again it differs: %v\n%s\n%s", err, data, again)
	}
	return read, nil
}

// An entry of each kind is written and read; with another kind's name, without what it is made of or with what only
// another kind has, it is refused.
func TestKinds(t *testing.T) {
	good := entries()
	for _, kind := range ServerKinds() {
		s, ok := good[kind]
		if !ok {
			t.Errorf("no entry of kind %s is tried", kind)
			continue
		}
		s.Source = kind
		read, err := lockOf(t, s)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		entry, _ := read.Server("notes")
		if entry.Source != kind || (entry.Closure != nil) != kind.HasClosure() || (len(entry.Artifacts) == 0) != kind.Remote() {
			t.Errorf("%s: %+v is not what the table says", kind, entry)
		}
		for _, other := range append(ServerKinds(), "", "other", ServerKind(strings.ToUpper(string(kind)))) {
			if s.Source = other; other != kind {
				if _, err := lockOf(t, s); err == nil {
					t.Errorf("an entry of kind %s is read as %q", kind, other)
				}
			}
		}
		for what, change := range map[string]func(*ServerLock){
			"another ref": func(s *ServerLock) { s.Ref += "x" },
			"another closure": func(s *ServerLock) {
				if s.Closure != nil {
					s.Closure = nil
				} else {
					s.Closure = &ClosureLock{Engine: EngineNPM, Lock: s.Surface, Trees: map[string]digest.Digest{"x": s.Surface}}
				}
			},
			"an entry elsewhere": func(s *ServerLock) { s.Entry = "../other" },
			"a URL": func(s *ServerLock) {
				if s.Launch.URL += "x"; s.Launch.URL == "x" {
					s.Launch.URL = "https://mcp.example.com/mcp"
				}
			},
			"an unknown runtime":          func(s *ServerLock) { s.Runtime = "other" },
			"scripts that are no package": func(s *ServerLock) { s.Closure = &ClosureLock{Scripts: []string{"x"}} },
		} {
			s := entries()[kind]
			s.Source = kind
			change(&s)
			if _, err := lockOf(t, s); err == nil {
				t.Errorf("%s with %s is accepted", kind, what)
			}
		}
	}
}

// A kind is added in one place: with its line in the table it is written, read, checked, and owes its files.
func TestAddedKind(t *testing.T) {
	const demo ServerKind = "demo"
	s := entries()[KindNPM]
	s.Source, s.Closure.Engine, s.Entry = demo, "demo", "start here"
	if _, err := lockOf(t, s); err == nil || !strings.Contains(err.Error(), `unknown source "demo"`) {
		t.Errorf("before it is added: %v", err)
	}
	defer func(known []serverKind) { serverKinds = known }(serverKinds)
	serverKinds = append(slices.Clone(serverKinds), serverKind{
		name: demo, title: "a demo", engines: []string{"demo"},
		checkEntry: func(s ServerLock) error {
			if s.Entry != "start here" {
				return errors.New("starts elsewhere")
			}
			return nil
		},
	})
	read, err := lockOf(t, s)
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := read.Server("notes")
	if entry.Source != demo || !demo.Known() || demo.Remote() || !slices.Equal(demo.Engines(), []string{"demo"}) {
		t.Errorf("%+v", entry)
	}
	want := []LockedFile{{"hallmark.surfaces/notes.json", "surface"}, {"hallmark.closures/notes.json", "closure"}}
	if got := entry.Source.Files("notes"); !slices.Equal(got, want) {
		t.Errorf("owes %v", got)
	}
	for want, change := range map[string]func(*ServerLock){
		"starts elsewhere":           func(s *ServerLock) { s.Entry = "" },
		"a demo needs its closure":   func(s *ServerLock) { s.Closure = nil },
		"is no image, and has one":   func(s *ServerLock) { s.Image = "x" },
		"has a runtime or a floor":   func(s *ServerLock) { s.Runtime = "node" },
		"is not reached by a URL":    func(s *ServerLock) { s.Launch.URL = "https://mcp.example.com" },
		"is not among the artifacts": func(s *ServerLock) { s.Artifacts = nil },
		"is no package with install scripts": func(s *ServerLock) {
			s.Closure = &ClosureLock{Engine: "demo", Lock: s.Closure.Lock, Trees: s.Closure.Trees, Scripts: []string{"npm:a@1.0.0"}}
		},
	} {
		bad := s
		change(&bad)
		if _, err := lockOf(t, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A line behind "cmd /c" declares what the line alone does.
func TestKindBehindCmd(t *testing.T) {
	for _, words := range [][]string{
		{"npx", "-y", "notes@1.0.0"}, {"uvx", "notes==1.0.0"}, {"docker", "run", "--rm", "-i", "example.com/notes:1"},
		{"go", "run", "example.com/notes@v1.0.0"}, {"node", "server.js"}, {"uv", "run", "server.py"},
	} {
		alone := Server{Command: words[0], Arguments: words[1:]}.Kind()
		behind := Server{Command: "cmd", Arguments: append([]string{"/c"}, words...)}.Kind()
		if behind != alone {
			t.Errorf("%q is %s, and behind cmd /c %s", words, alone, behind)
		}
	}
}
