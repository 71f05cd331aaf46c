package pin

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// config writes the hallmark.toml of a project, and returns its directory, and a way to read it.
func config(t *testing.T, text string) (dir string, read func() string) {
	t.Helper()
	dir = host.RealPath(t.TempDir())
	file := filepath.Join(dir, project.ConfigFile)
	write(t, file, text)
	return dir, func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

const head = "manifest_version = 1 # ours\n"

// A deprecated key becomes the block that it stands for, and every other byte stays; a second time there is
// nothing to do.
func TestMigrateConfig(t *testing.T) {
	sum := digest.FromBytes([]byte("x")).String()[len("sha256:"):]
	dir, read := config(t, head+"[providers.mcp.a]\ntype = 'stdio'\ncommand = 'node' # run\narguments = ['a.js']\n"+
		"checksum.value = '"+sum+"'\n")
	m, err := MigrateConfig(t.Context(), dir)
	if err != nil || !slices.Equal(m.Servers, []string{"a"}) || len(m.Kept) != 0 || m.LauncherOnly["a"] == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	after := read()
	if !strings.HasPrefix(after, head) || !strings.Contains(after, "# run\n") || !strings.Contains(after, "verify") ||
		strings.Contains(after, "checksum") {
		t.Errorf("got\n%s", after)
	}
	if m, err := MigrateConfig(t.Context(), dir); err != nil || len(m.Servers) != 0 || read() != after {
		t.Errorf("a second time: %+v, %v", m, err)
	}
	outside, _ := config(t, after)
	linked := t.TempDir()
	to, from := filepath.Join(outside, project.ConfigFile), filepath.Join(linked, project.ConfigFile)
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"none": t.TempDir(), "a link": linked} {
		_, migrated := MigrateConfig(t.Context(), dir)
		_, listed := ServersToVerify(dir)
		_, verified := VerifyServer(t.Context(), &host.Host{}, dir, "a", true)
		for _, err := range []error{migrated, listed, verified} {
			if c := evidence.ClassOf(err); c != evidence.Validation && c != evidence.Refused {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A block is filled with what the files hold, and then claims just that: a file that changes is a mismatch,
// and nothing is written unless it is asked for.
func TestVerifyServer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names of programs are others there")
	}
	dir, read := config(t, head+"[providers.mcp.a]\ntype = 'stdio'\ncommand = 'node'\narguments = ['a.js'] # mine\n"+
		"[providers.mcp.b]\ntype = \"stdio\"\ncommand = \"./tool\"\n"+
		"[providers.mcp.c]\ntype = \"stdio\"\ncommand = \"npx\"\narguments = [\"notes@1.0.0\"]\n"+
		"[providers.mcp.d]\ntype = \"stdio\"\ncommand = \"./none\"\n"+
		"[providers.mcp.e]\ntype = \"stdio\"\ncommand = \"./tool\"\nverify = { type = \"none\", reason = \"ours\" }\n")
	write(t, filepath.Join(dir, "a.js"), "one")
	write(t, filepath.Join(dir, "tool"), "tool")
	h := &host.Host{Getenv: func(string) string { return "" }}
	verify := func(name string, write bool) (*VerifyResult, error) {
		return VerifyServer(t.Context(), h, dir, name, write)
	}
	before := read()
	v, err := verify("a", false)
	if err != nil || v.Written || v.Type != project.VerifyFile || len(v.Files) != 1 || read() != before {
		t.Errorf("%+v, %v", v, err)
	}
	for _, name := range []string{"a", "b"} {
		if v, err := verify(name, true); err != nil || !v.Written {
			t.Fatalf("%s: %+v, %v", name, v, err)
		}
	}
	sum := digest.FromBytes([]byte("one")).String()
	if text := read(); !strings.Contains(text, "# mine\n") ||
		!strings.Contains(text, strings.TrimPrefix(sum, "sha256:")) {
		t.Errorf("got\n%s", text)
	}
	if names, err := ServersToVerify(dir); err != nil || !slices.Equal(names, []string{"a", "b", "e"}) {
		t.Errorf("%q, %v", names, err)
	}
	if v, err := verify("a", false); err != nil || !v.Verdict.Allowed() || len(v.Verdict.Warnings()) != 0 {
		t.Errorf("as it was written: %+v, %v", v, err)
	}
	write(t, filepath.Join(dir, "a.js"), "two")
	if v, err := verify("a", false); err != nil || v.Verdict.Class() != evidence.Integrity {
		t.Errorf("a file that changed: %+v, %v", v, err)
	}
	for name, class := range map[string]evidence.Class{"c": evidence.Refused, "d": evidence.Operation,
		"x": evidence.Validation} {
		if v, err := verify(name, true); evidence.ClassOf(err) != class {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if v, err := verify("e", true); err != nil || v.Written || v.Type != project.VerifyNone || len(v.Files) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}
