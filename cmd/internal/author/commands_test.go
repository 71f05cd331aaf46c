package author

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

const (
	kit = `{"name":"kit","version":"1.0.0","agents":{"a":{"description":"x"}}}`
	doc = `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",` +
		`"name":"io.github.acme/notes","description":"Notes","version":"1.0.0",` +
		`"remotes":[{"type":"streamable-http","url":"https://mcp.example.com/"}]}`
)

// room makes a working directory with these files, and a home of its own without a login.
func room(t *testing.T, files map[string]string) {
	t.Helper()
	t.Setenv("HALLMARK_HOME", t.TempDir())
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("HALLMARK_REGISTRY", "")
	t.Setenv("HALLMARK_TOKEN", "")
	t.Chdir(t.TempDir())
	for name, text := range files {
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command line of mcp-publisher, and pack, as nobody at a terminal would.
func run(t *testing.T, line ...string) (stdout, stderr string, err error) {
	t.Helper()
	nobody, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	var out, says bytes.Buffer
	a := &app.App{Name: "hallmark", Stdin: nobody, Stdout: &out, Stderr: &says, Bars: app.NewBars(nobody)}
	root := Publisher(a)
	root.AddCommand(PackCommand(a))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(line)
	root.SetOut(&out)
	root.SetErr(&says)
	err = root.ExecuteContext(t.Context())
	var e *evidence.Error
	if errors.As(err, &e) {
		says.WriteString(err.Error() + "\n" + e.Hint)
	} else if err != nil {
		says.WriteString(err.Error())
	}
	return out.String(), says.String(), err
}

// What is wrong with a command line or a file is a mistake of who calls, says what to do, and nothing is asked.
func TestMistakes(t *testing.T) {
	room(t, map[string]string{"server.json": doc, "bad.json": `{"name":1}`, "plug/mcp-plugin.json": "{}", "p.zip": "x",
		"empty/x": ""})
	for line, says := range map[string]string{
		"status io.github.acme/notes 1.0.0":                                        "say with --status",
		"status --status deleted io.github.acme/notes":                             "--all-versions",
		"status --status deleted --all-versions io.github.acme/notes 1.0":          "either a version or --all-versions",
		"status --status deleted io.github.acme/notes 1.0.0":                       "name the registry with --registry",
		"publish server.json":                                                      "name the registry with --registry",
		"login dns google-kms --domain=example.com --resource=projects/p":          "keys in Google KMS and Azure Key Vault cannot sign here",
		"login http azure-key-vault --domain example.com --vault v --key k":        "whose session 'hallmark publish' takes",
		"login dns --domain example.com --private-key " + strings.Repeat("07", 48): "--algorithm ecdsap384 says so",
		"login dns --domain example.com --private-key-file server.json":            "neither hexadecimal nor PEM",
		"login dns more --domain example.com":                                      "takes no arguments",
		"publish none.json":                                                        "none.json",
		"publish bad.json":                                                         "bad.json",
		"validate bad.json":                                                        "not valid",
		"validate plug":                                                            "hallmark plugin validate plug",
		"validate plug/mcp-plugin.json":                                            "hallmark plugin validate plug",
		"validate p.zip":                                                           "hallmark plugin validate p.zip",
		"validate none.json":                                                       "hallmark init",
		"verify bad.json":                                                          "bad.json",
		"hash-gen bad.json --write":                                                "bad.json",
		"login dns":                                                                "name the domain with --domain",
		"login dns --domain x.example.com":                                         "give the private key",
		"login dns --domain x.example.com --private-key 00":                        "",
		"login dns --domain x.example.com --private-key-file none":                 "none",
		"login dns --domain x.example.com --private-key 00 --private-key-file -":   "give the private key",
		"pack empty": "holds neither facet.json nor server.json",
		"pack a b":   "",
	} {
		out, said, err := run(t, strings.Fields(line)...)
		if evidence.ClassOf(err) != evidence.Validation || !strings.Contains(said+out, says) {
			t.Errorf("%s: %v, %v\n%s%s", line, evidence.ClassOf(err), err, out, said)
		}
	}
	if data, err := os.ReadFile("bad.json"); err != nil || string(data) != `{"name":1}` {
		t.Errorf("a refused file was written: %s, %v", data, err)
	}
}

// Who sets a version that the hashes of the document are not of is led to make them of that version.
func TestHashesOfSetVersion(t *testing.T) {
	hashed := strings.Replace(doc, `"remotes":[{"type":"streamable-http","url":"https://mcp.example.com/"}]`,
		`"packages":[{"registryType":"npm","identifier":"@acme/notes","version":"1.0.0","transport":{"type":"stdio"}}],`+
			`"file_hashes":{"npm:@acme/notes@1.0.0":"sha256:`+strings.Repeat("0", 64)+`"}`, 1)
	room(t, map[string]string{"server.json": hashed})
	for _, command := range []string{"validate", "verify", "publish --registry http://127.0.0.1:9"} {
		_, said, err := run(t, append(strings.Fields(command), "--set", "version=1.1.0")...)
		if evidence.ClassOf(err) != evidence.Validation ||
			!strings.Contains(said, "'hallmark hash-gen --write --set version=1.1.0 server.json' makes the hashes anew") {
			t.Errorf("%s: %v\n%s", command, err, said)
		}
	}
}

// The server.json that lies in this directory must be a file, as a checkout may put a pipe there, which never ends; one
// that the user names may be anything.
func TestOwnDocument(t *testing.T) {
	room(t, map[string]string{"dir/other.json": doc})
	if err := os.Symlink(os.DevNull, "server.json"); err != nil {
		t.Fatal(err)
	}
	if _, said, err := run(t, "validate"); err == nil || !strings.Contains(said, "not a regular file") {
		t.Errorf("%v: %s", err, said)
	}
	if _, said, err := run(t, "validate", "server.json"); err == nil || strings.Contains(said, "not a regular file") {
		t.Errorf("named: %v: %s", err, said)
	}
	if _, said, err := run(t, "validate", "dir/other.json"); err != nil ||
		!strings.Contains(said, "other.json is valid") {
		t.Errorf("%v: %s", err, said)
	}
}

// Whoever packs is told what is in the archive, and a program reads the same from JSON.
func TestPackCommand(t *testing.T) {
	room(t, map[string]string{"kit/facet.json": kit, "kit/agents/a.md": "x", "kit/skills/x/y.md": "x"})
	text, said, err := run(t, "pack", "kit")
	if err != nil || !strings.Contains(said, "skills/x/y.md is not named by facet.json, and was left out") ||
		!strings.Contains(said, "packed facet kit@1.0.0, 2 files") {
		t.Errorf("%v: %s", err, said)
	}
	out, said, err := run(t, "pack", "kit", "--json", "-o", "other.facet")
	var got struct {
		OK                bool
		File              string
		Content_Integrity string
		Content_Hash      string
		Left_Out          []string
		Assets            map[string]string
	}
	if err := errors.Join(err, json.Unmarshal([]byte(out), &got)); err != nil || !got.OK || got.File != "other.facet" ||
		len(got.Assets) != 2 || len(got.Left_Out) != 1 || said != "" {
		t.Errorf("%v: %+v, %s", err, got, said)
	}
	if text != "content_integrity  "+got.Content_Integrity+"\ncontent_hash       "+got.Content_Hash+"\n" {
		t.Errorf("%s is not what JSON says: %s", text, out)
	}
}

// Where nobody is at the terminal nothing is confirmed.
func TestNobodyConfirms(t *testing.T) {
	room(t, nil)
	nobody, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	var says bytes.Buffer
	err = confirm(&app.App{Stdin: nobody, Stderr: &says}, "change all?")
	if evidence.ClassOf(err) != evidence.Refused || says.Len() > 0 {
		t.Errorf("%v, %s", err, &says)
	}
	if _, said, err := run(t, "logout"); err != nil || !strings.Contains(said, "not logged in") {
		t.Errorf("%v: %s", err, said)
	}
}

// What the registry says is shown in escapes, and what is no evidence is an error.
func TestRegistryEvidence(t *testing.T) {
	for text, want := range map[string]string{
		`[{"subject":"a\u001b[2J","scheme":"file","outcome":"match","actual":"x"}]`: `match         a\x1b[2J` +
			"  file  x\n",
		`[{"subject":"a","scheme":"file","outcome":"match","actual":"x","where":"file_hashes"},
		{"subject":"a","scheme":"file","outcome":"match","actual":"x","where":"the registry"}]`: "match         a  file  x\n",
		`[]`: "", `{`: "error",
	} {
		var out bytes.Buffer
		err := registryEvidence(&out, &registry.Envelope{Meta: registry.Meta{Integrity: &registry.Integrity{
			Evidence: json.RawMessage(text)}}})
		if (err != nil) != (want == "error") || err == nil && out.String() != want {
			t.Errorf("%s: %q, %v", text, &out, err)
		}
	}
}
