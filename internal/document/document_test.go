package document

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// text is a server.json with these packages and hashes.
func text(packages, hashes string) string {
	return fmt.Sprintf(`{ "$schema": %q, "name": "io.github.o/notes", "description": "d", "version": "1.0.0",
  "packages": [%s], "file_hashes": {%s} }`, model.CurrentSchemaURL, packages, hashes)
}

const (
	release = `{"registryType":"pypi","identifier":"my-notes","version":"1.0","transport":{"type":"stdio"}}`
	wheel   = "pypi:my-notes==1.0/my_notes-1.0-py3-none-any.whl"
)

// site serves a PyPI release with a wheel and a withdrawn sdist, whose bytes are their own names.
func site(t *testing.T) *host.Host {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
			io.WriteString(w, name)
			return
		}
		var files []string
		for name, more := range map[string]string{"my_notes-1.0-py3-none-any.whl": "",
			"my_notes-1.0.tar.gz": `,"yanked":true,"yanked_reason":"leaks"`} {
			files = append(files, fmt.Sprintf(`{"filename":%q,"url":"%s/files/%s","digests":{"sha256":"%s"}%s}`, name,
				s.URL, name, strings.TrimPrefix(digest.FromBytes([]byte(name)).String(), "sha256:"), more))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"info":{"name":"my-notes","version":"1.0"},"urls":[%s]}`, strings.Join(files, ","))
	}))
	t.Cleanup(s.Close)
	c := fetch.Config{Dir: t.TempDir(), RootCAs: x509.NewCertPool(), Limits: fetch.Limits{Retries: -1}}
	c.RootCAs.AddCert(s.Certificate())
	c.PyPI.Base = s.URL
	h := &host.Host{Fetch: fetch.New(c)}
	t.Cleanup(h.Fetch.CloseIdleConnections)
	return h
}

// verified is what the hashes of a document come to, if each file needs one.
func verified(t *testing.T, h *host.Host, data string) policy.Verdict {
	t.Helper()
	doc, err := Parse("server.json", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(t.Context(), h, doc, "server.json", policy.Settings{RequireHashes: true})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What is hashed and written is verified, keeps the other bytes and the mode of the file, and a hash
// of something else is a mismatch.
func TestHashAndVerify(t *testing.T) {
	h, file := site(t), filepath.Join(t.TempDir(), "server.json")
	raw := text(release, "")
	if err := os.WriteFile(file, []byte(raw), 0o640); err != nil {
		t.Fatal(err)
	}
	doc, err := Parse(file, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := HashFiles(t.Context(), h, doc, file)
	if err != nil || len(hashes.Files) != 2 || hashes.Files[0].Key != wheel {
		t.Fatalf("%+v, %v", hashes, err)
	}
	if _, err := WriteHashes(file, []byte(raw), []byte(raw), hashes.Files, false); err != nil {
		t.Fatal(err)
	}
	shown, data, err := ReadFile(file, os.Open)
	info, _ := os.Stat(file)
	if err != nil || shown != filepath.ToSlash(file) || info.Mode().Perm() != 0o640 ||
		!strings.HasPrefix(string(data), raw[:strings.Index(raw, `"file_hashes"`)]) {
		t.Errorf("%v, %v:\n%s", err, info.Mode(), data)
	}
	v := verified(t, h, string(data))
	if !v.Allowed() || !strings.Contains(fmt.Sprint(v.Findings), "withdrawn by its publisher: leaks") {
		t.Errorf("%v, %v", v.Err(), v.Findings)
	}
	v = verified(t, h, strings.Replace(string(data), hashes.Files[1].Value, digest.FromBytes(nil).String(), 1))
	if v.Class() != evidence.Integrity {
		t.Errorf("a hash of something else: %v", v.Err())
	}
	if v := verified(t, h, raw); v.Class() != evidence.Refused && v.Class() != evidence.Integrity {
		t.Errorf("no hash where each is required: %v", v.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, h, doc, file, policy.Settings{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A file that is not fetched has the name that its hash would have.
func TestUnhashedFileName(t *testing.T) {
	h := &host.Host{Fetch: fetch.New(fetch.Config{Dir: t.TempDir(), Limits: fetch.Limits{Retries: -1},
		Proxy: func(*url.URL) (*url.URL, error) { return nil, errors.New("no network") }})}
	doc, err := ParseUnhashed("server.json", []byte(text(`{"registryType":"mcpb","identifier":"`+model.RegistryURLGitHub+
		`/o/notes/releases/download/v1/notes.mcpb","transport":{"type":"stdio"}}`, "")))
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := HashFiles(t.Context(), h, doc, "server.json")
	if err != nil || hashes.Verdict.Allowed() ||
		!strings.HasPrefix(hashes.Verdict.Err().Error(), "github:o/notes/v1/notes.mcpb: sha256 cannot be verified: unreachable\n") {
		t.Errorf("%+v, %v", hashes, err)
	}
}

// A claim and a package are one subject, however the name is spelled; a release whose file is claimed
// counts as that file.
func TestSubjects(t *testing.T) {
	client, sum := fetch.New(fetch.Config{Limits: fetch.Limits{DocumentFiles: 2}}), digest.FromBytes(nil).String()
	const npm = `{"registryType":"npm","identifier":"%s","version":"1.0.0","transport":{"type":"stdio"}}`
	for name, c := range map[string]struct {
		packages, hashes string
		with             bool
		want             int // subjects; -1: too many files
	}{
		"a package":           {fmt.Sprintf(npm, "notes"), "", true, 1},
		"only what is hashed": {fmt.Sprintf(npm, "notes"), "", false, 0},
		"a hash of it":        {fmt.Sprintf(npm, "notes"), `"npm:notes@1.0.0":"` + sum + `"`, true, 1},
		"a hash of its file":  {release, `"` + strings.Replace(wheel, "my-", "My_", 1) + `":"` + sum + `"`, true, 2},
		"as another spells it": {strings.Replace(fmt.Sprintf(npm, "Notes"), `"npm"`, `"nuget"`, 1),
			`"nuget:notes@1.0.0":"` + sum + `"`, true, 1},
		"as many as allowed": {fmt.Sprintf(npm, "a") + "," + fmt.Sprintf(npm, "b"), "", true, 2},
		"too many": {fmt.Sprintf(npm, "a") + "," + fmt.Sprintf(npm, "b") + "," + fmt.Sprintf(npm, "c"), "", true,
			-1},
	} {
		doc, err := Parse("server.json", []byte(text(c.packages, c.hashes)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, _, err := Subjects(client, doc, "server.json", c.with)
		if c.want < 0 {
			if evidence.ClassOf(err) != evidence.Validation ||
				!strings.Contains(err.Error(), "3 files; the limit is 2") {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || len(all) != c.want {
			t.Errorf("%s: %d subjects, %v", name, len(all), err)
		}
	}
}

// All problems of a document are told at once, and a file that cannot be read is told for what it is.
func TestUnfitDocuments(t *testing.T) {
	_, err := Parse("server.json", []byte(`{"$schema":"x","name":"no slash","version":"","description":""}`))
	var e *evidence.Error
	if !errors.As(err, &e) || e.Kind != evidence.Validation || strings.Count(e.Detail, "\n") < 3 {
		t.Errorf("%v", err)
	}
	dir := t.TempDir()
	_, _, err = ReadFile(filepath.Join(dir, "none"), os.Open)
	if !errors.As(err, &e) || e.Kind != evidence.Validation || !strings.Contains(e.Hint, "hallmark init") {
		t.Errorf("%v", err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, maxDocument+100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, data, err := ReadFile(large, os.Open); err != nil || len(data) != maxDocument+1 {
		t.Errorf("%d bytes are read, %v", len(data), err)
	}
	if got := Clip("äöü", 2); got != "äö" || Clip("äö", 2) != "äö" {
		t.Errorf("cut to %q", got)
	}
}

// directory is one called dir with a file, which is a link to a file elsewhere if its content is "->".
func directory(t *testing.T, file, content string) string {
	t.Helper()
	dir, outside := filepath.Join(t.TempDir(), "dir"), filepath.Join(t.TempDir(), "package.json")
	err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(outside, []byte(`{"name":"secret"}`), 0o600))
	if content == "->" {
		err = errors.Join(err, os.Symlink(outside, filepath.Join(dir, file)))
	} else if file != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Init takes what manifests say, and passwords of addresses no further. It
// neither follows a link out of the project nor replaces what is there.
func TestInit(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		want          string // KIND IDENTIFIER of SERVER
		class         evidence.Class
	}{
		"npm": {"package.json", `{"name":"@acme/notes","version":"2.0.0","repository":` +
			`{"url":"git+ssh://git:s3cret@git.example.com/a/b.git"}}`,
			"npm @acme/notes@2.0.0 of io.github.acme/notes at https://git.example.com/a/b", evidence.OK},
		"shorthand": {"package.json", `{"name":"n","version":"1.0.0","repository":"github:acme/x"}`,
			"npm n@1.0.0 of io.github.acme/x at https://github.com/acme/x", evidence.OK},
		"shorter": {"package.json", `{"name":"n","version":"1.0.0","repository":"acme/x"}`,
			"npm n@1.0.0 of io.github.acme/x at https://github.com/acme/x", evidence.OK},
		"a branch": {"package.json", `{"name":"n","version":"1.0.0","repository":{"url":"git+ssh://git@github.com/acme/x.git#main"}}`,
			"npm n@1.0.0 of io.github.acme/x at https://github.com/acme/x", evidence.OK},
		"a page of it": {"package.json", `{"name":"n","version":"1.0.0","repository":{"url":"https://github.com/acme/mono/tree/main/x"}}`,
			"npm n@1.0.0 of io.github.acme/mono at https://github.com/acme/mono", evidence.OK},
		"an alias of ssh": {"package.json", `{"name":"n","version":"1.0.0","repository":"git@work:acme/x.git"}`, "npm n@1.0.0 of ", evidence.OK},
		"a mark":          {"package.json", "\uFEFF" + `{"name":"n","version":"1.0.0","private":false}`, "npm n@1.0.0 of ", evidence.OK},
		"private by text": {"package.json", `{"name":"n","private":"true"}`, "", evidence.OK},
		"poetry of today": {"pyproject.toml", "[project]\nname = \"n\"\ndynamic = [\"version\"]\n[tool.poetry]\nversion = \"3.1\"",
			"pypi n@3.1 of ", evidence.OK},
		"an example in a readme": {"README.md", "Write `mcp-name: io.github.YOUR/server` in it", "", evidence.OK},
		"its own name":           {"package.json", `{"name":"n","mcpName":"com.acme/n"}`, "npm n of com.acme/n", evidence.OK},
		"python":                 {"pyproject.toml", "[project]\nname = \"n\"\nversion = \"1.0\"", "pypi n@1.0 of ", evidence.OK},
		"poetry":                 {"pyproject.toml", "[tool.poetry]\nname = \"n\"\nversion = \"1.0\"", "pypi n@1.0 of ", evidence.OK},
		"setup":                  {"setup.py", "", "pypi  of ", evidence.OK},
		"crate":                  {"Cargo.toml", "[package]\nname = \"n\"\nversion = \"1.0.0\"", "cargo n@1.0.0 of ", evidence.OK},
		"crate of a workspace": {"Cargo.toml", "[package]\nname = \"n\"\nversion = { workspace = true }", "cargo n of ",
			evidence.OK},
		".NET": {"A.B.csproj", "<Project><PropertyGroup><Version>2.0.0</Version></PropertyGroup></Project>", "nuget A.B@2.0.0 of ",
			evidence.OK},
		".NET, its own": {"A.csproj", "<Project><PropertyGroup><PackageId>B</PackageId></PropertyGroup></Project>", "nuget B@1.0.0 of ",
			evidence.OK},
		".NET, computed": {"A.csproj", "<Project><PropertyGroup><PackageId>$(X)</PackageId></PropertyGroup></Project>", "nuget @1.0.0 of ",
			evidence.OK},
		".NET, as its template": {"A.csproj", "<Project><PropertyGroup><PackageId>B</PackageId><PackageVersion>0.1.0-beta</PackageVersion>" +
			"<Version>9.0.0</Version></PropertyGroup></Project>", "nuget B@0.1.0-beta of ", evidence.OK},
		".NET, in parts": {"A.csproj", "<Project><PropertyGroup><VersionPrefix>2.1.0</VersionPrefix></PropertyGroup><PropertyGroup>" +
			"<versionSuffix>rc.1</versionSuffix></PropertyGroup></Project>", "nuget A@2.1.0-rc.1 of ", evidence.OK},
		".NET, of itself": {"A.csproj", "<Project><PropertyGroup><Version>2.0.0</Version><PackageVersion>$(Version)</PackageVersion>" +
			"<AssemblyName>acme.$(MSBuildProjectName)</AssemblyName></PropertyGroup></Project>", "nuget acme.A@2.0.0 of ", evidence.OK},
		".NET, versioned by its build": {"A.csproj", "<Project><PropertyGroup><Version>2.0.0</Version><PackageVersion>$(GitVersion)" +
			"</PackageVersion></PropertyGroup></Project>", "nuget A of ", evidence.OK},
		"bundle":           {"manifest.json", `{"manifest_version":"0.3","version":"1.0.0"}`, "mcpb  of ", evidence.OK},
		"another manifest": {"manifest.json", `{"version":"1.0.0"}`, "", evidence.OK},
		"image":            {"Dockerfile", "", "oci  of ", evidence.OK},
		"private":          {"package.json", `{"name":"n","private":true}`, "", evidence.OK},
		"Go":               {"go.mod", "module example.com/n", "", evidence.OK},
		"nothing":          {"", "", "", evidence.OK},
		"no JSON":          {"package.json", `{"name":`, "", evidence.Validation},
		"there":            {"server.json", "{}", "", evidence.Validation},
		"elsewhere":        {"package.json", "->", "", evidence.Refused},
		"other JSON":       {"package.json", `{"name":1}`, "", evidence.Validation},
	} {
		dir := directory(t, c.file, c.content)
		file, err := Init(t.Context(), nil, dir, nil)
		data, _ := os.ReadFile(filepath.Join(dir, "server.json"))
		if c.class != evidence.OK {
			if evidence.ClassOf(err) != c.class || len(data) > 0 && string(data) != c.content {
				t.Errorf("%s: %v\n%s", name, err, data)
			}
			continue
		}
		var doc serverjson.Document
		if err := errors.Join(err, json.Unmarshal(data, &doc)); err != nil || file == "" || len(doc.Packages) > 1 {
			t.Errorf("%s: %v\n%s", name, err, data)
			continue
		}
		got := ""
		for _, p := range doc.Packages {
			if got = p.RegistryType + " " + p.Identifier; p.Version != "" {
				got += "@" + p.Version
			}
			got += " of " + doc.Name
		}
		if doc.Repository != nil {
			got += " at " + doc.Repository.URL
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Properties of .NET that double each other fill no memory, and are known to the build alone.
func TestDoubledProperties(t *testing.T) {
	var text strings.Builder
	text.WriteString("<Project><PropertyGroup><A0>1</A0><PackageId>B</PackageId>")
	for i := range 64 {
		fmt.Fprintf(&text, "<A%d>$(A%[2]d)$(A%[2]d)</A%[1]d>", i+1, i)
	}
	text.WriteString("<Version>$(A2)</Version><Description>$(A64)</Description></PropertyGroup></Project>")
	m := new(manifests)
	if err := m.readCsproj("A.csproj", []byte(text.String())); err != nil || len(m.packages) != 1 {
		t.Fatal(err, m.packages)
	}
	if p := m.packages[0]; p.name != "B" || p.version != "1111" || p.description != "" {
		t.Errorf("%.200q", p)
	}
}

// What a package that npm does not publish says of the server holds for its image, or where it runs.
func TestInitOfPrivatePackage(t *testing.T) {
	dir := directory(t, "package.json", `{"name":"n","private":true,"version":"3.0.0","description":"Notes","mcpName":"com.acme/n",
		"repository":"github:acme/x"}`)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Init(t.Context(), nil, dir, nil)
	data, _ := os.ReadFile(file)
	var doc serverjson.Document
	if err := errors.Join(err, json.Unmarshal(data, &doc)); err != nil || len(doc.Packages) != 1 || doc.Name != "com.acme/n" ||
		doc.Version != "3.0.0" || doc.Description != "Notes" || doc.Packages[0].RegistryType != "oci" {
		t.Errorf("%v\n%s", err, data)
	}
}

// A server.json that the template of .NET has elsewhere is named by whom none is named to, and beside a second one.
func TestDocumentOfTool(t *testing.T) {
	dir := directory(t, "A.csproj", "<Project/>")
	name := filepath.Join(dir, "server.json")
	_, _, err := ReadFile(name, os.Open)
	if err == nil || !strings.Contains(err.Error(), "'hallmark init'") {
		t.Errorf("none: %v", err)
	}
	err = errors.Join(os.Mkdir(filepath.Join(dir, ".mcp"), 0o700), os.WriteFile(filepath.Join(dir, toolDocument), []byte("{}"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = ReadFile(name, os.Open); err == nil || !strings.Contains(err.Error(), "/.mcp/server.json is there: name it, as 'hallmark validate ") {
		t.Errorf("there: %v", err)
	}
	if _, _, err = ReadFile(filepath.Join(dir, "other.json"), os.Open); err == nil || !strings.Contains(err.Error(), "'hallmark init'") {
		t.Errorf("another: %v", err)
	}
	if notes, err := InitNotes(dir, "a/b"); err != nil || !slices.ContainsFunc(notes, func(note string) bool {
		return strings.Contains(note, ".mcp/server.json is there too")
	}) {
		t.Errorf("%q, %v", notes, err)
	}
}

// Hashes are written into the file that a link leads to, and the link stays one.
func TestHashesOfLinkedDocument(t *testing.T) {
	dir := t.TempDir()
	link, real := filepath.Join(dir, "server.json"), filepath.Join(dir, "real.json")
	was := []byte(text(release, ""))
	err := errors.Join(os.WriteFile(real, was, 0o640), os.Symlink("real.json", link))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := artifact.Parse(wheel)
	if err == nil {
		_, err = WriteHashes(link, was, was, []serverjson.FileHash{{Key: wheel, Ref: ref, Value: digest.FromBytes(nil).String()}}, false)
	}
	linked, err2 := os.Readlink(link)
	if data, err3 := os.ReadFile(real); errors.Join(err, err2, err3) != nil || linked != "real.json" || !strings.Contains(string(data), wheel) {
		t.Errorf("%v, %v, %v: %s\n%s", err, err2, err3, linked, data)
	}
}

// A bundle whose manifest has another version than the document is warned of: it may be the one of the release before.
func TestBundleOfOtherVersion(t *testing.T) {
	h := site(t)
	for manifest, says := range map[string]string{
		`{"version":"1.0.0"}`:       "",
		`{"version":"v1.0.0"}`:      "",
		`{"version":"V1.0.0+x.1"}`:  "",
		`{"version":"2.0.0"}`:       "", // of the package
		`{}`:                        "",
		`[]`:                        "",
		`{"version":"0.9.0"}`:       `its manifest.json says version "0.9.0", and the document "2.0.0"`,
		`{"version":"0.9.0\u001b"}`: `says version "0.9.0\x1b"`,
	} {
		file := filepath.Join(t.TempDir(), "notes.mcpb")
		if err := os.WriteFile(file, forge.Wheel("a-1.0", "manifest.json", manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		doc, err := ParseUnhashed("server.json", []byte(text(`{"registryType":"mcpb","identifier":"`+model.RegistryURLGitHub+
			`/o/notes/releases/download/v1/notes.mcpb","version":"2.0.0","transport":{"type":"stdio"}}`, "")))
		if err != nil {
			t.Fatal(err)
		}
		ref, err := doc.Packages[0].Ref()
		if err != nil {
			t.Fatal(err)
		}
		with := *h
		with.Fetch = h.Fetch.WithFiles(map[artifact.Ref]string{ref: file})
		verdict, err := CheckOwner(t.Context(), &with, doc, ref)
		found := verdict.Warnings()
		found = slices.DeleteFunc(found, func(f policy.Finding) bool { return f.Evidence.Scheme != evidence.Form })
		switch {
		case err != nil || !verdict.Allowed() || (len(found) == 0) != (says == ""):
			t.Errorf("%s: %v, %v", manifest, found, err)
		case says != "" && (!strings.Contains(found[0].Evidence.Reason, says) ||
			verdict.Advice(found[0]) != "build the bundle of this version, or write the version that it has"):
			t.Errorf("%s: %s; %s", manifest, found[0].Evidence.Reason, verdict.Advice(found[0]))
		}
	}
}

// A bundle that is named otherwise than at its address leads on to the keys that it may have.
func TestLocalBundleOfAnotherName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes-1.0.0.mcpb")
	if err := os.WriteFile(file, forge.Wheel("a-1.0", "manifest.json", "{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := func(name string) string {
		return `{"registryType":"mcpb","identifier":"` + model.RegistryURLGitHub + `/o/notes/releases/download/v1/` + name +
			`","transport":{"type":"stdio"}}`
	}
	for packages, want := range map[string]string{
		bundle("notes.mcpb"):                        "say which one it is: --as " + model.RegistryURLGitHub + "/o/notes/releases/download/v1/notes.mcpb\n",
		bundle("a.mcpb") + "," + bundle("b.mcpb"):   "/v1/a.mcpb or --as ",
		bundle("notes-1.0.0.mcpb"):                  "",
		strings.Replace(release, "1.0", "1.0.0", 1): "say what it is: --as npm:name@1.2.3, or another key of file_hashes",
	} {
		doc, err := ParseUnhashed("server.json", []byte(text(packages, "")))
		if err != nil {
			t.Fatal(err)
		}
		_, err = LocalFiles(doc, "server.json", []string{file}, "")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("%s: %v", packages, err)
		}
	}
}

// What a directory has below it is listed, and nothing is written; what a package lacks is said for each kind.
func TestInitNotes(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		want          []string
	}{
		"npm":          {"package.json", `{"name":"n"}`, []string{`package.json needs the line "mcpName": "a/b"`}},
		"npm, named":   {"package.json", `{"name":"n","mcpName":"a/b"}`, nil},
		"npm, another": {"package.json", `{"name":"n","mcpName":"a/c"}`, []string{`the line "mcpName": "a/b"`}},
		"private":      {"package.json", `{"name":"n","private":true}`, []string{"npm does not publish it", "no package"}},
		"python":       {"pyproject.toml", "[project]\nname = \"n\"", []string{"'<!-- mcp-name: a/b -->'"}},
		"crate":        {"Cargo.toml", "[package]\nname = \"n\"", []string{"'mcp-name: a/b'"}},
		"crate, none":  {"Cargo.toml", "[package]\nname = \"n\"\npublish = false", []string{"cargo does not publish it", "no package"}},
		"image":        {"Dockerfile", "FROM scratch\n", []string{"oci.example.com", "LABEL io.modelcontextprotocol.server.name=a/b"}},
		"image, named": {"Dockerfile", "FROM scratch\nLABEL io.modelcontextprotocol.server.name=\"a/b\"\n", []string{"oci.example.com"}},
		"image, later": {"Dockerfile", "FROM scratch\nLABEL a=b \\\n  io.modelcontextprotocol.server.name=\"a/b\"\n", []string{"oci.example.com"}},
		"Go":           {"go.mod", "module x", []string{"a registry has no packages of Go", "no package"}},
	} {
		notes, err := InitNotes(directory(t, c.file, c.content), "a/b")
		ok := err == nil && len(notes) == len(c.want)
		for i := 0; ok && i < len(notes); i++ {
			ok = strings.Contains(notes[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, %v", name, notes, err)
		}
	}
	for file, content := range map[string]string{
		"package.json":        `{"private":true,"workspaces":["packages/*"]}`,
		"pnpm-workspace.yaml": "packages:\n  - 'packages/**'\n",
		"Cargo.toml":          "[workspace]\nmembers = [\"packages/a\"]\n",
		"pyproject.toml":      "[tool.uv.workspace]\nmembers = [\"packages/a\", \"../../etc\"]\n",
	} {
		dir := directory(t, file, content)
		if err := os.MkdirAll(filepath.Join(dir, "packages", "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Init(t.Context(), nil, dir, nil)
		if _, gone := os.Stat(filepath.Join(dir, "server.json")); evidence.ClassOf(err) != evidence.Validation || gone == nil ||
			!strings.Contains(err.Error(), "below it: packages/a\n") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
