package workspace

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/project"
)

const hex64 = "9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e"

func TestMigrateConfig(t *testing.T) {
	const head = "manifest_version = 1\n"
	for _, c := range []struct{ name, before, after string }{
		{"dotted", "[providers.mcp.a]\r\n\tcommand = 'x'\r\n\tchecksum.value = '" + hex64 + "'\r\n",
			"[providers.mcp.a]\r\n\tcommand = 'x'\r\n\tverify.type = \"command\"\r\n\tverify.value = '" + hex64 + "'\r\n"},
		{"quoted", "[providers.mcp.\"a\"]\ncommand = 'x'\n\"checksum\" = {value='" + hex64 + "'}#c\n",
			"[providers.mcp.\"a\"]\ncommand = 'x'\nverify = { type = \"command\",value='" + hex64 + "'}#c\n"},
		{"from the root", "providers.mcp.a.command = 'x'\nproviders.mcp.a.checksum.value = '" + hex64 + "'",
			"providers.mcp.a.command = 'x'\nproviders.mcp.a.verify.type = \"command\"\nproviders.mcp.a.verify.value = '" + hex64 + "'"},
		{"table", "[providers.mcp.a]\ncommand = 'x'\n[ providers . mcp . a . checksum ] # c\nvalue = '" + hex64 + "'\n",
			"[providers.mcp.a]\ncommand = 'x'\n[ providers . mcp . a . verify ] # c\ntype = \"command\"\nvalue = '" + hex64 + "'\n"},
		{"nothing", "[providers.mcp.a]\ncommand = 'checksum' # checksum\n", "[providers.mcp.a]\ncommand = 'checksum' # checksum\n"},
		{"a server called checksum", "[providers.mcp.checksum]\ncommand = 'x'\n", "[providers.mcp.checksum]\ncommand = 'x'\n"},
	} {
		out, migrated, _, err := MigrateConfig([]byte(head + c.before))
		if err != nil || string(out) != head+c.after {
			t.Errorf("%s: %v\n%s", c.name, err, out)
			continue
		}
		if (len(migrated) == 0) != (c.before == c.after) {
			t.Errorf("%s: migrated %q", c.name, migrated)
		}
		again, migrated, _, err := MigrateConfig(out)
		if err != nil || string(again) != string(out) || len(migrated) != 0 {
			t.Errorf("%s: migrated again: %v\n%s", c.name, err, again)
		}
	}
	if _, _, _, err := MigrateConfig([]byte("manifest_version = 2\n")); err == nil {
		t.Error("an invalid file is migrated")
	}
}

func TestSetVerify(t *testing.T) {
	const head = "manifest_version = 1\n"
	want, err := digest.ParseHex(digest.SHA256, hex64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, before, after string }{
		{"in the block", "[providers.mcp.a]\ncommand = 'x'\n[providers.mcp.a.verify] # c\ntype = 'command'\nvalue = '' # v\n",
			"[providers.mcp.a]\ncommand = 'x'\n[providers.mcp.a.verify] # c\ntype = 'command'\nvalue = \"" + hex64 + "\" # v\n"},
		{"in braces", "[providers.mcp]\na = {command = 'x'}\n", "[providers.mcp]\na = {command = 'x', verify = { type = \"command\", algorithm = \"sha256\", value = \"" + hex64 + "\" }}\n"},
		{"at the end", "[providers.mcp.a]\ncommand = 'x'", "[providers.mcp.a]\ncommand = 'x'\nverify = { type = \"command\", algorithm = \"sha256\", value = \"" + hex64 + "\" }"},
	} {
		out, err := SetVerify([]byte(head+c.before), "a", project.Verify{Type: project.VerifyCommand, Claims: []project.FileClaim{{Want: want}}})
		if err != nil || string(out) != head+c.after {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
	for name, text := range map[string]string{
		"a checksum":        "[providers.mcp.a]\ncommand = 'x'\nchecksum.value = '" + hex64 + "'\n",
		"no value":          "[providers.mcp.a]\ncommand = 'x'\nverify = {type = 'none'}\n",
		"no such server":    "[providers.mcp.b]\ncommand = 'x'\n",
		"run by its record": "[providers.mcp.a]\nserver = 'x@1.0.0'\n",
	} {
		if out, err := SetVerify([]byte(head+text), "a", project.Verify{Type: project.VerifyCommand, Claims: []project.FileClaim{{Want: want}}}); err == nil {
			t.Errorf("%s: written\n%s", name, out)
		}
	}
}

func TestSetTree(t *testing.T) {
	const head = "manifest_version = 1\n[providers.mcp.other]\ncommand = 'y'\ntree = 'y'\n"
	for _, c := range []struct{ name, before, after string }{
		{"behind the command", "[providers.mcp.a]\n  command = \"x\" # c\n  arguments = [\"s\"]\n",
			"[providers.mcp.a]\n  command = \"x\" # c\n  tree = \"a b\"\n  arguments = [\"s\"]\n"},
		{"in the place of another", "[providers.mcp.a]\ntree = 'old' # t\ncommand = 'x'\n",
			"[providers.mcp.a]\ntree = 'a b' # t\ncommand = 'x'\n"},
		{"in braces", "[providers.mcp]\na = {command = 'x'}\n", "[providers.mcp]\na = {command = 'x', tree = 'a b'}\n"},
		{"by dotted keys", "[providers.mcp]\na.command = 'x'", "[providers.mcp]\na.command = 'x'\na.tree = 'a b'"},
		{"with other line ends", "[providers.mcp.a]\r\ncommand = 'x'\r\n", "[providers.mcp.a]\r\ncommand = 'x'\r\ntree = 'a b'\r\n"},
	} {
		out, err := SetTree([]byte(head+c.before), "a", "a b")
		if err != nil || string(out) != head+c.after {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
	for name, text := range map[string]string{
		"no such server":      "[providers.mcp.b]\ncommand = 'x'\n",
		"run by its record":   "[providers.mcp.a]\nserver = 'x@1.0.0'\n",
		"a package":           "[providers.mcp.a]\ncommand = 'npx'\narguments = ['x']\n",
		"nothing can be read": "[providers.mcp.a\n",
	} {
		if out, err := SetTree([]byte(head+text), "a", "a b"); err == nil {
			t.Errorf("%s: written\n%s", name, out)
		}
	}
}

func TestUnfilled(t *testing.T) {
	text := "manifest_version = 1\n[providers.mcp.a]\ncommand = 'x'\nverify = {type = 'command', algorithm = 'sha1', value = ''}\n"
	s, err := UnfilledServer([]byte(text), "a")
	if err != nil || len(s.Verify.Claims) != 1 || s.Verify.Claims[0].Want.Algorithm() != digest.SHA1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := project.ParseConfig([]byte(text)); err == nil {
		t.Error("an empty value is a digest")
	}
	if _, err := UnfilledServer([]byte(strings.Replace(text, "'sha1'", "'md5'", 1)), "a"); err == nil {
		t.Error("md5 is an algorithm")
	}
	if _, err := UnfilledServer([]byte(text), "b"); err == nil || !strings.Contains(err.Error(), "no such server") {
		t.Error(err)
	}
}

// FuzzMigrateConfig never changes what a file means, nor panics.
func FuzzMigrateConfig(f *testing.F) {
	f.Add([]byte("manifest_version = 1\n[providers.mcp.a]\ncommand = 'x'\nchecksum.value = '" + hex64 + "'\n"))
	f.Add([]byte("manifest_version = 1\n[providers.mcp]\na = {command = 'x', checksum = {value = '" + hex64 + "'}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, migrated, _, err := MigrateConfig(data)
		if err == nil && len(migrated) == 0 && string(out) != string(data) {
			t.Errorf("nothing is migrated, and yet\n%q\nbecame\n%q", data, out)
		}
	})
}

func TestSetLaunch(t *testing.T) {
	const text = `manifest_version = 1 # one
[providers.mcp.notes]
command = "npx" # the launcher
arguments = [
  "-y", # do not ask
  '@acme/notes@1.4.0', # pinned
  "a \" b",
]
[providers.mcp]
tasks = { server = "io.github.acme/tasks@2.0.1", variables = ["KEY"] }
`
	c, err := project.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := c.Servers["notes"]
	s.Arguments = []string{"-y", "@acme/notes@1.5.0", `a " b`}
	out, err := SetLaunch([]byte(text), s)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(text, "@acme/notes@1.4.0", "@acme/notes@1.5.0", 1)
	if string(out) != want {
		t.Errorf("got %s\nwant %s", out, want)
	}
	r := c.Servers["tasks"]
	r.Record = "io.github.acme/tasks@2.1.0"
	if out, err = SetLaunch(out, r); err != nil {
		t.Fatal(err)
	}
	if want = strings.Replace(want, `"io.github.acme/tasks@2.0.1"`, `"io.github.acme/tasks@2.1.0"`, 1); string(out) != want {
		t.Errorf("got %s\nwant %s", out, want)
	}
	s.Arguments = append(s.Arguments, "more")
	if _, err := SetLaunch([]byte(text), s); err == nil {
		t.Error("an argument more has no place to stand at")
	}
	s.Name = "nobody"
	if _, err := SetLaunch([]byte(text), s); err == nil {
		t.Error("a server that is not declared was set")
	}
}

// A server that was taken over is declared as its client declared it.
func TestAddServers(t *testing.T) {
	servers := []project.Server{{Name: "a.b", Command: `say "hi"`, Arguments: []string{"x'y", "\t\\"}, Variables: []string{"KEY"}}, {Name: "c", Command: "c"}}
	for _, before := range []string{"", "manifest_version = 1", "manifest_version = 1\r\n[providers.mcp.z] # z\r\ncommand = \"z\"\r\n"} {
		data := []byte(before)
		if before == "" {
			data = nil
		}
		out, err := AddServers(data, servers)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(out, data) || strings.Contains(before, "\r\n") != (bytes.Count(out, []byte("\r\n")) == bytes.Count(out, []byte("\n"))) {
			t.Errorf("%q became %q", before, out)
		}
	}
	for _, x := range []struct {
		before string
		server project.Server
	}{
		{"manifest_version = 1\n[providers.mcp.c]\ncommand = \"c\"\n", servers[1]},
		{"manifest_version = 1\nproviders = {mcp = {z = {command = \"z\"}}}\n", servers[1]},
		{"", project.Server{Name: "a b", Command: "c"}},
		{"", project.Server{Name: "c", Command: "c", Variables: []string{"no name"}}},
	} {
		if out, err := AddServers([]byte(x.before), []project.Server{x.server}); err == nil {
			t.Errorf("%q, %+v: %s", x.before, x.server, out)
		}
	}
}

// Only the tables of the servers go, with the empty line before them.
func TestRemoveServers(t *testing.T) {
	const (
		head = "manifest_version = 1 # ours\n"
		a    = "\n[providers.mcp.a]\ncommand = \"x\" # run\narguments = [\n  \"1\", # one\n]\n"
		b    = "\n[providers.mcp.b]\ntype = \"http\"\nurl = \"https://mcp.example.com\"\nheaders = { X = \"${Y}\" }\n"
		c    = "\n[providers.mcp.c]\ncommand = \"x\"\n[providers.mcp.c.verify]\ntype = \"none\"\nreason = \"ours\"\n"
		last = "\n[registry] # and more\nurl = \"https://mcp.example.com\"\n"
	)
	for _, x := range []struct {
		text  string
		names []string
		want  string
	}{
		{head + a + b + c + last, []string{"b"}, head + a + c + last},
		{head + a + b + c + last, []string{"a", "c"}, head + b + last},
		{head + a + b + c, []string{"a", "b", "c", "none"}, head},
		{head + last + c, []string{"c"}, head + last},
		{head + "# about a\n" + a[1:] + b, []string{"a"}, head + "# about a\n" + b},
		{strings.ReplaceAll(head+a+b, "\n", "\r\n"), []string{"a"}, strings.ReplaceAll(head+b, "\n", "\r\n")},
	} {
		if got, err := RemoveServers([]byte(x.text), x.names); err != nil || string(got) != x.want {
			t.Errorf("%q: %v, got\n%s\nwant\n%s", x.names, err, got, x.want)
		}
	}
	for _, text := range []string{
		head + "[providers.mcp]\na = { command = \"x\" }\n",
		head + "[providers.mcp.a]\ncommand = \"x\"\n[registry]\nurl = \"https://mcp.example.com\"\n[providers.mcp.a.verify]\ntype = \"none\"\nreason = \"r\"\n",
	} {
		if got, err := RemoveServers([]byte(text), []string{"a"}); err == nil {
			t.Errorf("got %q", got)
		}
	}
}
