package kind

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// newWorkspace is an empty project, on a machine with these variables.
func newWorkspace(t *testing.T, variables map[string]string) *workspace.Workspace {
	t.Helper()
	base := t.TempDir()
	h := &host.Host{Places: host.Places{State: filepath.Join(base, "state"), Cache: filepath.Join(base, "cache")},
		Getenv: func(name string) string { return variables[name] }, Now: time.Now}
	for name, value := range variables {
		h.Environ = append(h.Environ, name+"="+value)
	}
	w := workspace.Empty(h, filepath.Join(base, "project"))
	w.Approvals = project.NewApprovals(w.Dir)
	return w
}

func mustRef(t *testing.T, text string) artifact.Ref {
	t.Helper()
	ref, err := artifact.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// An exact version is moved to the newest one, or to the one that is asked for; a range stays, and says what
// else there is.
func TestLatestOfPackage(t *testing.T) {
	k := npm
	k.newest = func(_ context.Context, _ Query, _ launcher.Target, of choice) (string, error) {
		return map[choice]string{asDeclared: "1.9.0", declaredOrNewer: "2.0.0", anyVersion: "3.0.0"}[of], nil
	}
	now := fetch.Release{}
	k.releases = func(context.Context, *host.Host, ...artifact.Ref) ([]fetch.Release, error) {
		if now.Withdrawn == "?" {
			return nil, &wire.Error{Cause: evidence.Unreachable, Err: errors.New("silent")}
		}
		return []fetch.Release{now}, nil
	}
	for _, c := range []struct{ declared, version, wanted, newest, next string }{
		{"notes@1.0.0", "", "2.0.0", "2.0.0", "notes@2.0.0"},
		{"notes@1.0.0", "1.5.0", "1.5.0", "1.5.0", "notes@1.5.0"},
		{"notes@^1", "", "1.9.0", "3.0.0", "notes@^1"},
		{"notes@^1", "1.5.0", "1.5.0", "1.5.0", "notes@1.5.0"},
	} {
		q := Query{Workspace: newWorkspace(t, nil), Version: c.version,
			Server: project.Server{Name: "n", Command: "npx", Arguments: []string{"-y", c.declared, "--x"}}}
		got, err := k.Latest(t.Context(), q)
		if err != nil || got.Wanted != c.wanted || got.Newest != c.newest ||
			!slices.Equal(got.Next.Arguments, []string{"-y", c.next, "--x"}) {
			t.Errorf("%s to %s: %+v, %v", c.declared, c.version, got, err)
		}
		if q.Server.Arguments[1] != c.declared {
			t.Errorf("the query itself was changed to %q", q.Server.Arguments)
		}
	}
	// What was taken back is no floor; what is younger than min_age has nothing newer to offer.
	minAge := project.Policy{MinAge: 24 * time.Hour}
	for _, c := range []struct {
		now    fetch.Release
		rule   project.Policy
		wanted string
	}{
		{fetch.Release{Withdrawn: "sends mail"}, project.Policy{}, "3.0.0"}, {fetch.Release{Gone: true}, minAge, "3.0.0"},
		{fetch.Release{Withdrawn: "?"}, minAge, "2.0.0"}, {fetch.Release{}, minAge, "2.0.0"},
		{fetch.Release{Published: time.Now().Add(-time.Hour)}, minAge, "1.0.0"},
		{fetch.Release{Published: time.Now().Add(-time.Hour)}, project.Policy{}, "2.0.0"},
		{fetch.Release{Published: time.Now().Add(-25 * time.Hour)}, minAge, "2.0.0"},
	} {
		now = c.now
		q := Query{Workspace: newWorkspace(t, nil),
			Server: project.Server{Name: "n", Command: "npx", Arguments: []string{"-y", "notes@1.0.0"}}}
		q.Workspace.Config.Policy = c.rule
		if got, err := k.Latest(t.Context(), q); err != nil || got.Wanted != c.wanted {
			t.Errorf("%+v, %v: %+v, %v, want %s", c.now, c.rule, got, err, c.wanted)
		}
	}
	k.newest = func(context.Context, Query, launcher.Target, choice) (string, error) { return "", errors.New("no") }
	q := Query{Workspace: newWorkspace(t, nil),
		Server: project.Server{Name: "n", Command: "npx", Arguments: []string{"-y", "notes@1.0.0"}}}
	if got, err := k.Latest(t.Context(), q); err == nil || got.Next.Arguments[1] != "notes@1.0.0" {
		t.Errorf("without an answer: %+v, %v", got, err)
	}
}

// What has no versions is declared as before, and none can be chosen for it.
func TestLatestWithoutVersions(t *testing.T) {
	pinned := "oci.example.com/a/b@" + digest.FromBytes(nil).String()
	for name, s := range map[project.ServerKind]project.Server{
		project.KindCommand:  {Name: "n", Command: "./notes"},
		project.KindHTTP:     {Name: "n", URL: "https://mcp.example.com"},
		project.KindImage:    {Name: "n", Command: "docker", Arguments: []string{"run", "-i", pinned}},
		project.KindArtifact: {Name: "n", Source: "@acme/notes@1.0.0"},
	} {
		_, err := Of(name).Latest(t.Context(), Query{Workspace: newWorkspace(t, nil), Server: s, Version: "2.0.0"})
		if evidence.ClassOf(err) != evidence.Validation || !strings.Contains(err.Error(), "no package whose version") {
			t.Errorf("%s: %v", name, err)
		}
		if name == project.KindArtifact { // whose registry is asked
			continue
		}
		got, err := Of(name).Latest(t.Context(), Query{Workspace: newWorkspace(t, nil), Server: s})
		if err != nil || got.Wanted != "" || got.Next.Command != s.Command || got.Next.URL != s.URL {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Install scripts run of the packages that were named or locked before, and only of those; a name without
// any scripts is a mistake.
func TestInstallScripts(t *testing.T) {
	c := &project.Closure{Packages: []project.ClosurePackage{
		{Ref: mustRef(t, "npm:a@1.0.0"), Scripts: true}, {Ref: mustRef(t, "npm:b@1.0.0"), Scripts: true},
		{Ref: mustRef(t, "npm:a@1.0.0"), Scripts: true}, {Ref: mustRef(t, "npm:plain@1.0.0")}, {},
	}}
	locked := func(refs ...string) *project.ServerLock {
		return &project.ServerLock{Closure: &project.ClosureLock{Scripts: refs}}
	}
	for name, c2 := range map[string]struct {
		allowed   []string
		before    *project.ServerLock
		run, left string // left: not run
	}{
		"nobody asked":    {nil, nil, "", "npm:a@1.0.0 npm:b@1.0.0"},
		"by name":         {[]string{"b"}, nil, "npm:b@1.0.0", "npm:a@1.0.0"},
		"as before":       {nil, locked("npm:a@1.0.0"), "npm:a@1.0.0", "npm:b@1.0.0"},
		"another version": {nil, locked("npm:a@0.9.0"), "", "npm:a@1.0.0 npm:b@1.0.0"},
		"both":            {[]string{"b"}, locked("npm:a@1.0.0"), "npm:a@1.0.0 npm:b@1.0.0", ""},
	} {
		d := Declaration{Workspace: newWorkspace(t, nil), Server: project.Server{Name: "n"}, AllowScripts: c2.allowed,
			Before: c2.before}
		run, err := d.allowedScripts(c)
		var r Resolved
		r.notePackages(d, c)
		if err != nil || strings.Join(run, " ") != c2.run || strings.Join(r.Scripts, " ") != c2.left ||
			len(r.Packages) != 3 || len(r.Moved) != 0 {
			t.Errorf("%s: %q run and %q do not of %q: %v", name, run, r.Scripts, r.Packages, err)
		}
	}
	for _, name := range []string{"plain", "none", "npm:a@1.0.0"} {
		d := Declaration{Server: project.Server{Name: "n"}, AllowScripts: []string{"a", name}}
		if _, err := d.allowedScripts(c); evidence.ClassOf(err) != evidence.Validation ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bytes of a version never change.
func TestSameVersion(t *testing.T) {
	ref, is, other := mustRef(t, "npm:a@1.0.0"), digest.FromBytes(nil), digest.FromBytes([]byte("other"))
	got := &closure.Packages{Ref: ref, Observed: evidence.Observed{Digests: []digest.Digest{is}}}
	for _, c := range []struct {
		before *project.ServerLock
		want   evidence.Outcome
	}{
		{nil, ""}, {&project.ServerLock{Artifacts: map[string]digest.Digest{"npm:a@2.0.0": other}}, ""},
		{&project.ServerLock{Artifacts: map[string]digest.Digest{ref.String(): is}}, evidence.Match},
		{&project.ServerLock{Artifacts: map[string]digest.Digest{ref.String(): other}}, evidence.Mismatch},
	} {
		report := sameVersionEvidence(c.before, got.Ref.String(), npm.scheme, got.Observed)
		if len(report) > 1 || (len(report) == 1) != (c.want != "") || len(report) == 1 && report[0].Outcome != c.want {
			t.Errorf("%+v: %v, want %s", c.before, report, c.want)
		}
	}
}

// A variable is sent to a host, and the host is asked at all, only with consent: without it there is no
// program that could connect.
func TestRemoteNeedsConsent(t *testing.T) {
	s := project.Server{Name: "n", Type: "http", URL: "https://MCP.example.com:443/x",
		Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}}
	plain := project.Server{Name: "n", Type: "http", URL: s.URL}
	answer := func(yes bool) func(project.Server) (bool, error) {
		return func(project.Server) (bool, error) { return yes, nil }
	}
	for name, c := range map[string]struct {
		s     project.Server
		begin func(project.Server) (bool, error)
		token string
		class evidence.Class
		says  string
	}{
		"a variable":        {s, answer(true), "s3cret", evidence.Refused, "--allow-env TOKEN=mcp.example.com"},
		"one that is unset": {s, answer(true), "", evidence.Operation, "TOKEN"},
		"nobody agreed":     {plain, answer(false), "", evidence.Refused, "nothing was sent"},
		"the caller agreed": {plain, answer(true), "", evidence.OK, ""},
		"nobody is asked":   {plain, nil, "", evidence.OK, ""},
		"an URL that is not": {project.Server{Name: "n", URL: "https://[x", Type: "http"}, nil, "", evidence.Validation,
			"URL"},
	} {
		variables := map[string]string{}
		if c.token != "" {
			variables["TOKEN"] = c.token
		}
		r, err := remote{}.Resolve(t.Context(),
			Declaration{Workspace: newWorkspace(t, variables), Server: c.s, Begin: c.begin})
		if evidence.ClassOf(err) != c.class || (r.Program != nil) != (err == nil) ||
			err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v, %v", name, r.Program, err)
		}
	}
	if p := PreviewOf(&host.Host{}, s); !slices.Equal(p.Sends, []string{"TOKEN to mcp.example.com"}) {
		t.Errorf("a person is told %+v", p)
	}
}

// An image is run by its digest and by the engine itself: a script in its place would start what nobody
// looked at.
func TestOpenImage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names of programs are others there")
	}
	w, bin, sum := newWorkspace(t, nil), t.TempDir(), digest.FromBytes(nil)
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path  string
		class evidence.Class
	}{"no engine": {t.TempDir(), evidence.Operation}, "a script": {bin, evidence.Refused}} {
		s := project.Server{Name: "n", Command: "docker", Arguments: []string{"run", "oci.example.com/a:1"}}
		p, err := openImage(w, s, sum, project.Approval{Path: c.path}, process.Open)
		if evidence.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
		if p != nil {
			p.Close()
		}
	}
	at, err := BlobRef(mustRef(t, "oci:oci.example.com/a:1"), sum)
	if err != nil || at.String() != "oci:oci.example.com/a@"+sum.String() {
		t.Errorf("%s, %v", at, err)
	}
	file := filepath.Join(bin, "manifest")
	for _, text := range []string{"", "{}", `{"schemaVersion":1}`, strings.Repeat(" ", maxImageManifest+1)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadImage(file, at); err == nil {
			t.Errorf("%.20q is an image", text)
		}
	}
}
