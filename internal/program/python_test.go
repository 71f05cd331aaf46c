package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// TestHashSeed: a program that python runs gets one hash seed, unless its declaration names the
// variable; no other program gets one.
func TestHashSeed(t *testing.T) {
	const name = "PYTHONHASHSEED"
	environ := []string{name + "=7"}
	getenv := func(string) string { return "7" }
	for _, c := range []struct {
		file, want string
		variables  []string
		values     map[string]string
	}{
		{file: "python3.12", want: "0"},
		{file: "node"},
		{file: "python3", variables: []string{name}, want: "7"},
		{file: "python3", values: map[string]string{name: "random"}, want: "random"},
	} {
		p := &Program{Executable: &process.Image{Chain: []string{"/opt/" + c.file}},
			Variables: c.variables, Values: c.values}
		env, err := p.buildEnvironment(getenv, environ)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(env, " "); c.want != "" && strings.Count(got, name+"="+c.want) != 1 ||
			c.want == "" && strings.Contains(got, name) || strings.Count(got, name) > 1 {
			t.Errorf("%s, %v, %v: %s", c.file, c.variables, c.values, got)
		}
	}
}

// TestIsolatedPython: the options of a package's python leave it the hash seed, and keep it from
// modules in the working directory.
func TestIsolatedPython(t *testing.T) {
	for version, want := range map[string]string{
		"cp311-cp311-manylinux_2_36_x86_64": "-P -s", "cp313-cp313t-macosx_14_0_arm64": "-P -s",
		"pp311-pypy311_pp73-linux_x86_64": "-P -s", "cp310-cp310-linux_x86_64": "-I", "": "-I",
	} {
		if got := strings.Join(isolatePython(version), " "); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
	world.NeedsPython(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "functools.py"), []byte("print('found')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		c := exec.Command(python, append(args, "-S", "-B", "-c",
			"import sys, functools; print('cp%d%d-' % sys.version_info[:2], hash('a'))")...)
		c.Dir, c.Env = dir, append(os.Environ(), hashSeed+"=0")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	version, _, _ := strings.Cut(ask("-I"), " ")
	options := isolatePython(version)
	one, two := ask(options...), ask(options...)
	if strings.Contains(one, "found") || options[0] != "-I" && one != two { // -I keeps it from its hash seed, too
		t.Errorf("two starts print %q and %q", one, two)
	}
}
