package author

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/policy"
)

var write = flag.Bool("write", false, "write docs/troubleshooting.md")

// npmDoc has the npm package @acme/notes 1.0.0.
const npmDoc = `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",` +
	`"name":"io.github.acme/notes","description":"Notes","version":"1.0.0",` +
	`"packages":[{"registryType":"npm","identifier":"@acme/notes","version":"1.0.0","transport":{"type":"stdio"}}]}`

// mistake is one of an author, and what comes of it.
type mistake struct {
	cause    string   // for the page
	line     string   // the command; "" is validate
	replace  []string // in npmDoc: old, new, old, new
	whole    string   // in place of npmDoc
	registry string   // what the npm registry does: "" is none, then as answers has it
	exit     int
	says     string // among what is printed; on the page, too
	lead     string // the hint, as it is printed; with "+" before it, what the page says to do
}

var mistakes = []struct {
	title string
	rows  []mistake
}{
	{"The document", []mistake{
		{cause: "a comma too many", replace: []string{`"Notes",`, `"Notes",,`}, exit: 2, says: "line 1, column", lead: "+look at that place"},
		{cause: "a byte order mark", replace: []string{`{"$schema"`, "\uFEFF" + `{"$schema"`}, exit: 2, says: "byte order mark", lead: "+save it as UTF-8 without the mark"},
		{cause: "a list in place of an object", whole: `[]`, exit: 2, says: "must be an object", lead: "+write one server in one file"},
		{cause: "a member twice", replace: []string{`"description":"Notes"`, `"description":"Notes","description":"x"`}, exit: 2, says: "stands twice in one object", lead: "+leave one"},
		{cause: "no $schema", replace: []string{`"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",`, ""}, exit: 2, says: "$schema is missing", lead: "+add the line that is shown"},
		{cause: "a schema that does not exist", replace: []string{"2025-12-11", "2026-99-99"}, exit: 2, says: "unknown schema", lead: "+name the current one"},
		{cause: "no name", replace: []string{`"name":"io.github.acme/notes",`, ""}, exit: 2, says: "name is missing", lead: "+io.github.OWNER/NAME, or that of your domain"},
		{cause: "a name without a namespace", replace: []string{"io.github.acme/notes", "notes"}, exit: 2, says: "/name", lead: "+io.github.OWNER/NAME, or that of your domain"},
		{cause: "a namespace of one character", replace: []string{"io.github.acme/notes", "a/notes"}, exit: 2, says: "two characters or more", lead: "+io.github.OWNER/NAME, or that of your domain"},
		{cause: "no description", replace: []string{`"description":"Notes",`, ""}, exit: 2, says: "description is missing", lead: "+say in at most 100 characters what the server does"},
		{cause: "a long description", replace: []string{"Notes", strings.Repeat("n", 101)}, exit: 2, says: "at most 100 characters, has 101", lead: "+shorten it"},
		{cause: "a title of spaces", replace: []string{`"Notes",`, `"Notes","title":"  ",`}, exit: 2, says: "the title is white space", lead: "+leave it out"},
		{cause: "a range for a version", replace: []string{`"Notes","version":"1.0.0"`, `"Notes","version":"^1.0.0"`}, exit: 2, says: "is a range, not one version", lead: "+write the version that is published"},
		{cause: "latest for a version", replace: []string{`"Notes","version":"1.0.0"`, `"Notes","version":"latest"`}, exit: 2, says: "is not a version", lead: "+write the version that is published"},
		{cause: "a placeholder that nobody filled", replace: []string{`"Notes","version":"1.0.0"`, `"Notes","version":"${VERSION}"`}, exit: 2, says: "holds the placeholder ${VERSION}", lead: "+`--set version=1.2.3` fills it"},
		{cause: "--set of what is not there", line: "validate server.json --set build=1", exit: 2, says: "has no placeholder ${build}", lead: "+compare the name with what stands in the document"},
		{cause: "an example that nobody replaced", replace: []string{`"Notes"`, `"It [describe what your server does]"`}, exit: 0, says: "is an example", lead: "+write what holds for your server"},
		{cause: "the spelling of an older schema", replace: []string{"registryType", "registry_type"}, exit: 2, says: "registryType", lead: "+use the spelling that is shown"},
		{cause: "a member that does not exist", replace: []string{`"Notes",`, `"Notes","license":"MIT",`}, exit: 2, says: `unknown member "license"`, lead: "+take it out, or put it into _meta"},
		{cause: "a repository without its service", replace: []string{`"Notes",`, `"Notes","repository":{"url":"https://github.com/acme/notes"},`}, exit: 2, says: "source is missing", lead: "+`\"source\": \"github\"`"},
		{cause: "a website over http", replace: []string{`"Notes",`, `"Notes","websiteUrl":"http://example.com",`}, exit: 2, says: "is not an https URL", lead: "+give the https address"},
		{cause: "no such file", line: "validate none.json", exit: 2, says: "none.json: no such file", lead: "name the file, or begin one with 'hallmark init'"},
		{cause: "a plugin in place of a server", line: "validate plugin.zip", exit: 2, says: "is a zip, as plugins are", lead: "run 'hallmark plugin validate plugin.zip'"},
	}},
	{"Packages", []mistake{
		{cause: "a type that does not exist", replace: []string{`"npm"`, `"docker"`}, exit: 2, says: "is not one of npm, pypi, oci, nuget, cargo, mcpb", lead: "+an image is of type oci"},
		{cause: "no identifier", replace: []string{`"identifier":"@acme/notes",`, ""}, exit: 2, says: "identifier is missing", lead: "+the name under which the package is published"},
		{cause: "no version of a package", replace: []string{`"@acme/notes","version":"1.0.0"`, `"@acme/notes"`}, exit: 2, says: "needs an exact version", lead: "+write the version that is published"},
		{cause: "no transport", replace: []string{`,"transport":{"type":"stdio"}`, ""}, exit: 2, says: "transport is missing", lead: "+`\"transport\": {\"type\": \"stdio\"}`"},
		{cause: "a transport that does not exist", replace: []string{`"stdio"`, `"http"`}, exit: 2, says: "is not one of stdio, streamable-http, sse", lead: "+over HTTP it is streamable-http"},
		{cause: "a URL for stdio", replace: []string{`{"type":"stdio"}`, `{"type":"stdio","url":"https://example.com/"}`}, exit: 2, says: "stdio has no URL", lead: "+take it out"},
		{cause: "an image with its version beside it", replace: []string{`"npm","identifier":"@acme/notes"`, `"oci","identifier":"oci.example.com/a/b:1"`}, exit: 2, says: "packages of type oci carry this in identifier", lead: "+take version out"},
		{cause: "an image by latest", replace: []string{`"npm","identifier":"@acme/notes","version":"1.0.0"`, `"oci","identifier":"oci.example.com/a/b:latest"`}, exit: 2, says: "without a digest is not exact", lead: "+name a tag of this version, or a digest"},
		{cause: "a bundle by its name", replace: []string{`"npm","identifier":"@acme/notes","version":"1.0.0"`, `"mcpb","identifier":"notes"`}, exit: 2, says: "the identifier of an mcpb package is the URL of its file", lead: "+write the URL of the .mcpb file"},
		{cause: "a bundle without its hash", replace: []string{`"npm","identifier":"@acme/notes","version":"1.0.0"`, `"mcpb","identifier":"https://github.com/acme/notes/releases/download/v1/notes.mcpb"`}, exit: 0, says: "the official registry demands fileSha256", lead: "+`hash-gen --write` writes it"},
		{cause: "a hash with its algorithm", replace: []string{`"npm","identifier":"@acme/notes","version":"1.0.0"`, `"mcpb","identifier":"https://github.com/acme/notes/releases/download/v1/notes.mcpb","fileSha256":"sha256:` + strings.Repeat("a", 64) + `"`}, exit: 2, says: "64 lower-case hex digits, without sha256: before them", lead: "+leave out sha256:"},
		{cause: "another registry", replace: []string{`"identifier":"@acme/notes"`, `"registryBaseUrl":"https://npm.example.com","identifier":"@acme/notes"`}, exit: 2, says: "are not asked for there", lead: "+leave the member out, or configure that registry for npm"},
		{cause: "a variable with a space in its name", replace: []string{`"transport":{`, `"environmentVariables":[{"name":"A B"}],"transport":{`}, exit: 2, says: "cannot name an environment variable", lead: "+A_B"},
		{cause: "a remote of stdio", replace: []string{`"packages":[`, `"remotes":[{"type":"stdio"}],"packages":[`}, exit: 2, says: "a remote is streamable-http or sse", lead: "+what is started on the user's machine is a package"},
		{cause: "a remote without its URL", replace: []string{`"packages":[`, `"remotes":[{"type":"sse"}],"packages":[`}, exit: 2, says: "sse needs a URL", lead: "+the https URL of the server"},
		{cause: "a remote on this machine", replace: []string{`"packages":[`, `"remotes":[{"type":"sse","url":"https://localhost/"}],"packages":[`}, exit: 2, says: "/remotes/0/url", lead: "+the URL under which users reach it"},
	}},
	{"Hashes", []mistake{
		{cause: "a hash that is none", replace: []string{`"packages":[`, `"file_hashes":{"npm:@acme/notes@1.0.0":"later"},"packages":[`}, exit: 2, says: "/file_hashes/npm:@acme~1notes@1.0.0", lead: "'hallmark hash-gen --write server.json' makes the hashes anew"},
		{cause: "a hash of an older version", replace: []string{`"packages":[`, `"file_hashes":{"npm:@acme/notes@0.9.0":"sha256:` + strings.Repeat("a", 64) + `"},"packages":[`}, exit: 2, says: "it may be of an older version", lead: "'hallmark hash-gen --write server.json' makes the hashes anew"},
		{cause: "a wrong hash", line: "verify server.json", registry: "right", replace: []string{`"packages":[`, `"file_hashes":{"npm:@acme/notes@1.0.0":"sha256:` + strings.Repeat("a", 64) + `"},"packages":[`}, exit: 3, says: "sha256 mismatch", lead: "the file changed after hashing, or was hashed elsewhere; run 'hallmark hash-gen server.json' and compare"},
		{cause: "a version that is not published", line: "hash-gen server.json", registry: "other version", exit: 1, says: "no such version", lead: "is this version published, and to this registry?"},
		{cause: "a package that does not exist", line: "hash-gen server.json", registry: "nothing", exit: 1, says: "answered 404 Not Found", lead: "is this version published, and to this registry?"},
		{cause: "a private package", line: "hash-gen server.json", registry: "private", exit: 1, says: "answered 401 Unauthorized", lead: "it may be private: check the credentials for this host"},
		{cause: "a registry that is down", line: "hash-gen server.json", registry: "down", exit: 1, says: "connection refused", lead: "nothing was decided; try again when the server can be reached"},
		{cause: "a registry with an authority that is not known", line: "hash-gen server.json", registry: "unknown authority", exit: 1, says: "certificate", lead: "if this network has a certificate authority of its own, name it in SSL_CERT_FILE"},
		{cause: "a package that does not name the server", line: "verify server.json", registry: "unnamed", exit: 0, says: "does not say that it is for io.github.acme/notes", lead: `put "mcpName": "io.github.acme/notes" into the package.json of the package`},
		{cause: "a package that names another server", line: "verify server.json", registry: "of another", exit: 0, says: "is for another server", lead: `put "mcpName": "io.github.acme/notes" into the package.json of the package`},
		{cause: "no package at all", line: "verify server.json", replace: []string{`,"packages":[{"registryType":"npm","identifier":"@acme/notes","version":"1.0.0","transport":{"type":"stdio"}}]`, ""}, exit: 0, says: "names no package, so that there is nothing to verify", lead: "+a remote server has no bytes to hash"},
		{cause: "a local file of another version", line: "hash-gen --local other.tgz server.json", exit: 2, says: "is npm:@acme/notes@2.0.0, and no package of server.json", lead: "give the file of one of these, or change the document"},
		{cause: "a local file that says nothing", line: "hash-gen --local plugin.zip server.json", exit: 2, says: "does not say which package it is", lead: "say what it is: --as npm:name@1.2.3"},
		{cause: "a file of which nothing is claimed", line: "verify server.json --file other.tgz --as npm:@acme/notes@1.0.0", exit: 2, says: "claims no hash of npm:@acme/notes@1.0.0", lead: "its author adds it with 'hallmark hash-gen --write'"},
		{cause: "--meta without --write", line: "hash-gen server.json --meta", exit: 2, says: "--meta says where --write puts the hashes", lead: "see 'mcp-publisher hash-gen --help'"},
	}},
	{"Publishing", []mistake{
		{cause: "no registry", line: "publish server.json", exit: 2, says: "name the registry with --registry URL, or log in", lead: "see 'mcp-publisher publish --help'"},
		{cause: "a registry without its scheme", line: "publish server.json --registry registry.example.com", exit: 2, says: "registry.example.com", lead: "+write https:// before it"},
		{cause: "a domain that is not named", line: "login dns", exit: 2, says: "name the domain with --domain", lead: "see 'mcp-publisher login dns --help'"},
		{cause: "a key that is not given", line: "login dns --domain example.com", exit: 2, says: "give the private key", lead: "see 'mcp-publisher login dns --help'"},
		{cause: "a status for nothing", line: "status --status deleted io.github.acme/notes", exit: 2, says: "--all-versions", lead: "+name the version, or say --all-versions"},
		{cause: "a server.json that is there already", line: "init --offline", exit: 2, says: "is there already", lead: "edit it, or remove it first"},
	}},
}

// TestTroubleshooting: each mistake of an author says what is wrong and leads on, and docs/troubleshooting.md is the table of
// them. go test ./cmd/internal/author -run TestTroubleshooting -write writes it.
func TestTroubleshooting(t *testing.T) {
	var page strings.Builder
	page.WriteString("# When something is refused\n\nWhat an author meets between the first `init` and a published server, by what is printed. " +
		"Each line of this page is tried: it is written by the test that provokes the refusal.\n")
	count := 0
	for _, group := range mistakes {
		fmt.Fprintf(&page, "\n## %s\n\n| it says | exit code | because of | what leads on |\n|---|---|---|---|\n", group.title)
		for _, m := range group.rows {
			count++
			t.Run(m.cause, func(t *testing.T) { m.try(t) })
			escape := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace
			lead := strings.TrimPrefix(m.lead, "+")
			fmt.Fprintf(&page, "| `%s` | %d | %s | %s |\n", escape(m.says), m.exit, escape(m.cause), escape(lead))
		}
	}
	if count < 60 {
		t.Errorf("%d mistakes", count)
	}
	const name = "../../../docs/troubleshooting.md"
	if *write {
		if err := os.WriteFile(name, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, []byte(page.String())) {
		t.Errorf("docs/troubleshooting.md is not what the table says, %v; run this test with -write", err)
	}
}

func (m mistake) try(t *testing.T) {
	text := cmp.Or(m.whole, npmDoc)
	for i := 0; i < len(m.replace); i += 2 {
		if !strings.Contains(text, m.replace[i]) {
			t.Fatalf("%s is not in %s", m.replace[i], text)
		}
		text = strings.Replace(text, m.replace[i], m.replace[i+1], 1)
	}
	room(t, map[string]string{"server.json": text, "plugin.zip": "x",
		"other.tgz": string(tarball(`{"name":"@acme/notes","version":"2.0.0"}`))})
	if base := m.serve(t); base != "" {
		if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".npmrc"), []byte("registry="+base+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, said, err := run(t, strings.Fields(cmp.Or(m.line, "validate server.json"))...)
	if refusal, ok := err.(*policy.Refusal); ok {
		said += refusal.Error()
	}
	if code := program.ExitCode(err); err == nil && m.exit != 0 || err != nil && code != m.exit {
		t.Errorf("exit code %d, want %d", code, m.exit)
	}
	if !strings.Contains(out+said, m.says) {
		t.Errorf("does not say %q", m.says)
	}
	if !strings.HasPrefix(m.lead, "+") && !strings.Contains(out+said, m.lead) {
		t.Errorf("does not lead on with %q", m.lead)
	}
	if t.Failed() {
		t.Logf("%v\n%s%s", err, out, said)
	}
}

// tarball is that of an npm package with this package.json.
func tarball(manifest string) []byte {
	return (&forge.Tar{Gzip: true, End: make([]byte, 1024),
		Members: []*forge.Member{forge.NewMember("package/package.json", '0', []byte(manifest))}}).Bytes()
}

// serve starts the npm registry of m and returns its URL, "" if it needs none.
func (m mistake) serve(t *testing.T) string {
	manifest := map[string]string{
		"right": `{"name":"@acme/notes","version":"1.0.0","mcpName":"io.github.acme/notes"}`, "unnamed": `{"name":"@acme/notes","version":"1.0.0"}`,
		"of another": `{"name":"@acme/notes","version":"1.0.0","mcpName":"io.github.acme/other"}`,
	}[m.registry]
	var s *httptest.Server
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); {
		case m.registry == "private":
			w.WriteHeader(http.StatusUnauthorized)
		case m.registry == "other version" && path == "/@acme%2Fnotes":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"name":"@acme/notes","dist-tags":{"latest":"0.9.0"},"versions":{"0.9.0":{}}}`)
		case manifest != "" && path == "/@acme%2Fnotes/1.0.0":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `%s,"dist":{"tarball":"%s/notes.tgz"}}`, strings.TrimSuffix(manifest, "}"), s.URL)
		case manifest != "" && path == "/notes.tgz":
			w.Write(tarball(manifest))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	switch m.registry {
	case "":
		return ""
	case "unknown authority":
		s = httptest.NewTLSServer(handler)
	default:
		s = httptest.NewServer(handler)
	}
	t.Cleanup(s.Close)
	if m.registry == "down" {
		s.Close()
	}
	return s.URL
}

// What the user's own configuration makes the registry of a package is valid, as it is for verify and publish.
func TestOwnRegistry(t *testing.T) {
	named := strings.Replace(npmDoc, `"identifier"`, `"registryBaseUrl":"https://npm.example.com","identifier"`, 1)
	room(t, map[string]string{"server.json": named})
	if out, _, err := run(t, "validate"); err == nil {
		t.Errorf("valid: %s", out)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".npmrc"), []byte("registry=https://npm.example.com/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, said, err := run(t, "validate"); err != nil {
		t.Errorf("%v: %s%s", err, out, said)
	}
}
