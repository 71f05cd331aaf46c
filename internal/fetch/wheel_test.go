package fetch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// readBytes reads a wheel of hx-whl 1.0.0.
func readBytes(t testing.TB, data []byte) (*Wheel, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "wheel")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ref, err := artifact.NewPyPI("hx-whl", "1.0.0", "hx_whl-1.0.0-py3-none-any.whl")
	if err != nil {
		t.Fatal(err)
	}
	return ReadWheel(name, ref)
}

func TestReadWheel(t *testing.T) {
	const info = "hx_whl-1.0.0.dist-info/"
	const metadata = "Name: hx-whl\n\n<!-- mcp-name: io.github.acme/notes -->\n"
	const entries = "[gui_scripts]\ng = a:g\n; c\n[console_scripts]\n a-b = a.b : main [extra]\nx=a:run.it\n\n" +
		"[other]\ny = z\n"
	w, err := readBytes(t, forge.Wheel("hx_whl-1.0.0", "a/METADATA", "no", info+"METADATA", metadata,
		info+"entry_points.txt", entries))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a-b": "a.b:main", "x": "a:run.it"}; !maps.Equal(w.Scripts, want) ||
		w.MCPName != "io.github.acme/notes" {
		t.Errorf("%+v", w)
	}
	for want, files := range map[string][]string{
		"entry_points.txt has":         {info + "entry_points.txt", "[console_scripts]\nx\n"},
		`METADATA" is larger than 4`:   {info + "METADATA", strings.Repeat("a", maxWheelText+1)},
		"no hash of SHA-256":           {info + "RECORD", "a,md5=AAAA,\n"},
		`no hash of "hx_whl-1.0.0.dis`: {info + "RECORD", ""},
	} {
		_, err := readBytes(t, forge.Wheel("hx_whl-1.0.0", files...))
		if err == nil || !strings.Contains(err.Error(), want) || evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestWheelVectors runs spec/wheel.json.
func TestWheelVectors(t *testing.T) {
	data, err := os.ReadFile("../../spec/wheel.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Wheels []struct {
			Name    string
			Files   []string
			Outcome string
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, w := range v.Wheels {
		outcome := "ok"
		_, err := readBytes(t, forge.Pack(w.Files...))
		if err != nil {
			outcome = evidence.ClassOf(err).String()
		}
		if outcome != w.Outcome {
			t.Errorf("%s: %v; want %s", w.Name, err, w.Outcome)
		}
		count[outcome]++
	}
	if count["ok"] < 10 || count["integrity"] < 3 || count["validation"] < 40 {
		t.Error("vectors are missing:", count)
	}
}

func FuzzReadWheel(f *testing.F) {
	f.Add(forge.Wheel("hx_whl-1.0.0", "hx/__init__.py", "", "hx_whl-1.0.0.data/scripts/tool", "",
		"hx_whl-1.0.0.dist-info/METADATA", "Name: hx-whl\n\nmcp-name: io.example/a\n",
		"hx_whl-1.0.0.dist-info/entry_points.txt", "[console_scripts]\na = a.main:run [x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := readBytes(t, data)
		if err != nil {
			return
		}
		for script, target := range w.Scripts {
			if script == "" || strings.ContainsAny(script+target, "\n") {
				t.Errorf("%q = %q", script, target)
			}
		}
	})
}

// TestInstallShared: of two wheels that have one path with other bytes one is chosen, in whichever order they come.
func TestInstallShared(t *testing.T) {
	read := func(name string, files ...string) *Wheel {
		t.Helper()
		path := filepath.Join(t.TempDir(), "wheel")
		data := forge.Wheel(name+"-1.0", append(files, name+"-1.0.dist-info/METADATA", "Name: "+name+"\n")...)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ref, err := artifact.NewPyPI(name, "1.0", name+"-1.0-py3-none-any.whl")
		if err != nil {
			t.Fatal(err)
		}
		w, err := ReadWheel(path, ref)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	const command = "[console_scripts]\nrun = m:main\n"
	for name, c := range map[string]struct {
		one, two []string
		shared   bool
		refused  string // the path that is said
	}{
		"other bytes": {one: []string{"m/a.py", "one"}, two: []string{"m/a.py", "two"}, shared: true},
		"equal bytes": {one: []string{"m/__init__.py", "", "m/a.py", "1"}, two: []string{"m/__init__.py", "", "m/b.py", "2"}},
		"scripts of one name": {one: []string{"one-1.0.dist-info/entry_points.txt", command},
			two: []string{"two-1.0.dist-info/entry_points.txt", command}},
		"another spelling": {one: []string{"m/a.py", "1"}, two: []string{"M/A.py", "2"}, refused: "m/a.py"},
		"from .data":       {one: []string{"m.py", "1"}, two: []string{"two-1.0.data/purelib/m.py", "2"}, refused: "m.py"},
		"a program": {one: []string{"one-1.0.data/scripts/run", "1"}, two: []string{"two-1.0.dist-info/entry_points.txt", command},
			refused: "bin/run"},
		"a file and a directory": {one: []string{"m/a.py", "1"}, two: []string{"m", "2"}, refused: "m"},
		"packages and prefix":    {one: []string{"m/a.py", "1"}, two: []string{"two-1.0.data/data/m/b", "2"}, refused: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := read("one", c.one...), read("two", c.two...)
			for root, want := range map[artifact.Ref]string{one.ref: "one", two.ref: "two", {}: "two"} {
				for _, wheels := range [][]*Wheel{{one, two}, {two, one}} {
					dir := t.TempDir()
					shared, err := InstallWheels(t.Context(), wheels, root, dir)
					if c.refused != "" {
						if evidence.ClassOf(err) != evidence.Refused ||
							!strings.Contains(err.Error(), `installs "`+c.refused+`" otherwise than pypi:`) {
							t.Errorf("root %q: %v", root, err)
						}
						continue
					}
					if err != nil || (len(shared) == 1) != c.shared {
						t.Fatalf("root %q: %v, %v", root, shared, err)
					}
					if got, err := os.ReadFile(filepath.Join(dir, "m", "a.py")); c.shared && (err != nil || string(got) != want) {
						t.Errorf("root %q: %q, %v, want %q", root, got, err, want)
					}
				}
			}
		})
	}
}

// TestInstallWheels: each file is where uv installs it, and what differs between machines is left out.
func TestInstallWheels(t *testing.T) {
	const info, data = "hx_whl-1.0.0.dist-info/", "hx_whl-1.0.0.data/"
	w, err := readBytes(t, forge.Wheel("hx_whl-1.0.0", "m/A.py", "a", "m/INSTALLER", "kept", "m/x.data/scripts/y", "y", data+"data/bin/program", "kept", data+"data/bin/tool", "#!/bin/sh",
		data+"purelib/m/b.py", "b", data+"scripts/run", "program", data+"scripts/script", "#!python\n", data+"scripts/x", "x",
		data+"headers/h.h", "h", data+"data/lib/l.so", "l", data+"data/share/s", "s", info+"METADATA", "Name: hx-whl\n",
		info+"entry_points.txt", "[console_scripts]\nc = m:main\n", info+"INSTALLER", "forged", info+"licenses/INSTALLER", "kept"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := InstallWheels(t.Context(), []*Wheel{w}, w.ref, dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"m/A.py": "a", "m/INSTALLER": "kept", "m/x.data/scripts/y": "y", "m/b.py": "b", "bin/program": "kept", "bin/run": "program", "bin/x": "x",
		"include/hx-whl/h.h": "h", "lib/l.so": "l", "share/s": "s", info + "METADATA": "Name: hx-whl\n",
		info + "entry_points.txt": "[console_scripts]\nc = m:main\n", info + "licenses/INSTALLER": "kept",
		info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
	if runtime.GOOS == "windows" {
		maps.DeleteFunc(want, func(place, _ string) bool { return isProgram(place) })
	}
	for place := range want {
		mode := fs.FileMode(0o644)
		if place == "bin/run" || place == "bin/x" {
			mode = 0o755
		}
		if info, err := os.Stat(filepath.Join(dir, place)); err != nil || runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("%s: %v, %v", place, info.Mode(), err)
		}
	}
	if got := readAll(t, dir); !maps.Equal(got, want) {
		t.Errorf("installed are %q, want %q", got, want)
	}
}

// TestInstallChanged: a wheel that is another one by the time that it is unpacked is no longer what was read.
func TestInstallChanged(t *testing.T) {
	const metadata = "hx_whl-1.0.0.dist-info/METADATA"
	w, err := readBytes(t, forge.Wheel("hx_whl-1.0.0", "m.py", "good", metadata, "Name: hx-whl\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.file, forge.Wheel("hx_whl-1.0.0", "m.py", "evil", metadata, "Name: hx-whl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = InstallWheels(t.Context(), []*Wheel{w}, w.ref, t.TempDir())
	if _, differs := errors.AsType[*digest.MismatchError](err); !differs || !strings.Contains(err.Error(), "m.py") {
		t.Errorf("%v", err)
	}
}

// readAll reads all files below dir.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
