package closure

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// machine is a project, and a directory of programs beside it.
type machine struct {
	t   *testing.T
	w   *workspace.Workspace
	bin string
	log bytes.Buffer
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are scripts")
	}
	base := host.RealPath(t.TempDir())
	m := &machine{t: t, bin: filepath.Join(base, "bin")}
	h := &host.Host{Dir: filepath.Join(base, "project"), Places: host.Places{Cache: filepath.Join(base, "cache")}}
	h.Getenv = func(name string) string { return map[string]string{"PATH": m.bin, "HOME": base}[name] }
	h.Environ = []string{"PATH=" + m.bin + ":/bin:/usr/bin", "HOME=" + base}
	h.Logger = slog.New(slog.NewTextHandler(&m.log, nil))
	m.w = workspace.Empty(h, h.Dir)
	return m
}

// write writes a file, which is a script if its text begins as one.
func (m *machine) write(name, text string) string {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
	return name
}

// says is a script that prints lines.
func says(lines ...string) string {
	return "#!/bin/sh\nprintf '%s\\n' '" + strings.Join(lines, "' '") + "'\n"
}

// starting is a script that leaves a file when it is started.
func (m *machine) starting() string { return "#!/bin/sh\n: >'" + m.bin + ".started'\n" }

// An interpreter is what it says that it is; whatever else answers under its name is refused as none.
func TestFindInterpreters(t *testing.T) {
	const python = `{"path":"/opt/python3.11","tag":"cp311-cp311-x","version":"3.11","chosen":[]}`
	find := map[string]func(*machine) (*project.Runtime, error){
		"node":    func(m *machine) (*project.Runtime, error) { return FindNode(m.t.Context(), m.w, m.bin) },
		"python3": func(m *machine) (*project.Runtime, error) { return FindPython(m.t.Context(), m.w, m.bin) },
		"go":      func(m *machine) (*project.Runtime, error) { return FindGo(m.t.Context(), m.w, m.bin) },
	}
	for _, c := range []struct{ program, text, want string }{
		{"node", says("/opt/node/bin/node", "20.11.1"), "/opt/node/bin/node 20"},
		{"node", says("/opt/node/bin/node"), "is not Node.js"},
		{"node", says("node", "20.11.1"), "is not Node.js"},
		{"node", "#!/bin/sh\nexit 3\n", "node: "},
		{"node", "", "install Node.js"},
		{"python3", says(python), "/opt/python3.11 cp311-cp311-x"},
		{"python3", says(strings.Replace(python, "/opt/", "", 1)), "is no python"},
		{"python3", says(strings.Replace(python, "[]", `["a"]`, 1)), "is no python"},
		{"python3", says("3.11"), "is no python"},
		{"python3", "#!/bin/sh\necho no pip >&2\nexit 1\n", "no pip"},
		{"go", says(`{"GOROOT":"/opt/go","GOVERSION":"go1.26.2"}`), "/opt/go go1.26.2"},
		{"go", says(`{"GOROOT":"go","GOVERSION":"go1.26.2"}`), "is no go"},
		{"go", says("go version go1.26.2"), "is no go"},
		{"go", "#!/bin/sh\necho checksum mismatch >&2\nexit 1\n", "checksum mismatch"},
		{"go", "", "install Go"},
	} {
		m := newMachine(t)
		if c.text != "" {
			m.write(filepath.Join(m.bin, c.program), c.text)
		}
		rt, err := find[c.program](m)
		got := ""
		if err == nil {
			got = rt.Path + " " + rt.Version
		} else {
			got = err.Error()
		}
		if (err == nil) != strings.HasPrefix(c.want, "/") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %q: %s, want %s", c.program, c.text, got, c.want)
		}
		if want := strings.Contains(c.want, "mismatch"); err != nil &&
			(evidence.ClassOf(err) == evidence.Integrity) != want {
			t.Errorf("%s, %q: %v", c.program, c.text, evidence.ClassOf(err))
		}
	}
}

// Nothing of the checkout is started, also not to ask it: neither a program, nor one that would take its
// library from there. What is refused is not said to be missing.
func TestCheckoutIsNotAsked(t *testing.T) {
	for name, prepare := range map[string]func(*machine) (path string){
		"in the project": func(m *machine) string {
			m.write(m.w.Path("bin", "python3"), m.starting())
			return m.w.Path("bin")
		},
		"a link to it": func(m *machine) string {
			at := m.write(m.w.Path("bin", "python3"), m.starting())
			if err := os.MkdirAll(m.bin, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(at, filepath.Join(m.bin, "python3")); err != nil {
				t.Fatal(err)
			}
			return m.bin
		},
		"its library": func(m *machine) string {
			m.write(filepath.Join(m.bin, "python3"), m.starting())
			m.write(filepath.Join(m.bin, "pyvenv.cfg"), "home = "+m.w.Path("lib")+"\n")
			return m.bin
		},
		"two homes": func(m *machine) string {
			m.write(filepath.Join(m.bin, "python3"), m.starting())
			m.write(filepath.Join(filepath.Dir(m.bin), "pyvenv.cfg"), "home = /usr\rHome = "+m.w.Path("lib")+"\n")
			return m.bin
		},
	} {
		m := newMachine(t)
		path := prepare(m)
		_, err := FindPython(t.Context(), m.w, path)
		if evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(m.bin + ".started"); err == nil {
			t.Errorf("%s: it was started", name)
		}
	}
}

// The python of a virtual environment starts under its own path, so that it finds its packages; one of the
// project needs the library of the machine that its configuration names.
func TestInterpreterPath(t *testing.T) {
	m := newMachine(t)
	real := m.write(filepath.Join(m.bin, "python3.11"), "")
	for name, home := range map[string]string{"venv": m.bin, "lies": filepath.Dir(m.bin), "own": m.w.Path("lib")} {
		if err := os.MkdirAll(m.w.Path(name, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		m.write(m.w.Path(name, "pyvenv.cfg"), "home = "+home+"\n")
		found := m.w.Path(name, "bin", "python")
		if err := os.Symlink(real, found); err != nil {
			t.Fatal(err)
		}
		start, err := InterpreterPath(m.w, "notes", found, real)
		if name == "venv" && (err != nil || start != found) || name != "venv" &&
			evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: %s, %v", name, start, err)
		}
	}
	for name, ok := range map[string]bool{"ruby": false, "python3": false, "perl5.36": false, "tool": true,
		"node": true} {
		own := m.write(m.w.Path("bin", name), "")
		if _, err := InterpreterPath(m.w, "notes", own, own); (err == nil) != ok {
			t.Errorf("%s of the project: %v", name, err)
		}
	}
	m.write(m.w.Path("bin", "python3._pth"), "lib\n")
	if _, err := InterpreterPath(m.w, "notes", m.w.Path("bin", "python3"),
		real); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("with a ._pth: %v", err)
	}
}

// pip is asked where uv is none of the machine, and a person is told why.
func TestFindUV(t *testing.T) {
	m := newMachine(t)
	if uv := FindUV(t.Context(), m.w.Host, t.TempDir()); uv != "" || m.log.Len() > 0 {
		t.Errorf("%q, %s", uv, &m.log)
	}
	at := m.write(m.w.Path("uv"), says("uv"))
	m.bin = m.w.Dir
	if uv := FindUV(t.Context(), m.w.Host, t.TempDir()); uv != "" || !strings.Contains(m.log.String(), at) {
		t.Errorf("%q, %s", uv, &m.log)
	}
}

// A version manager that has no version for the whole user says so, and nobody is told to install what is there.
func TestFindShimWithoutVersion(t *testing.T) {
	m := newMachine(t)
	m.write(filepath.Join(m.bin, "npm"), "#!/bin/sh\nexec asdf exec \"npm\" \"$@\"\n")
	m.write(filepath.Join(m.bin, "uv"), "#!/bin/sh\nexec asdf exec \"uv\" \"$@\"\n")
	m.write(filepath.Join(m.bin, "asdf"), "#!/bin/sh\necho 'No version is set for command' $2 >&2\nexit 126\n")
	_, err := Find(t.Context(), m.w.Host, "npm", t.TempDir())
	err = NotFoundError(err, "npm:notes", "install Node.js")
	if text := fmt.Sprint(err); !strings.Contains(text, "No version is set for command npm") ||
		!strings.Contains(text, "hint: run 'asdf which npm' in your home directory") ||
		strings.Contains(text, "install") {
		t.Error(err)
	}
	for name, ask := range map[string]func(context.Context, *workspace.Workspace, string) (*project.Runtime, error){
		"node": FindNode, "python3": FindPython} {
		m.write(filepath.Join(m.bin, name), "#!/bin/sh\nexec asdf exec \""+name+"\" \"$@\"\n")
		_, err := ask(t.Context(), m.w, m.bin+":/bin:/usr/bin")
		if text := fmt.Sprint(err); !strings.Contains(text, "No version is set for command "+name) ||
			!strings.Contains(text, "hint: run 'asdf which "+name+"' in your home directory") {
			t.Error(err)
		}
	}
	if uv := FindUV(t.Context(), m.w.Host, t.TempDir()); uv != "" || !strings.Contains(m.log.String(), "for command uv") {
		t.Errorf("%q, %s", uv, &m.log)
	}
}

// Programs get the user's logins by a path that works from any directory, and of a file alone.
func TestNetrcVariable(t *testing.T) {
	m := newMachine(t)
	home, named := filepath.Dir(m.bin), ""
	m.w.Host.Getenv = func(name string) string { return map[string]string{"HOME": home, "NETRC": named}[name] }
	if got := NetrcVariable(m.w.Host); got != nil {
		t.Errorf("%q without a file", got)
	}
	usual, mine := m.write(filepath.Join(home, "_netrc"), ""), m.write(filepath.Join(home, "mine"), "")
	for name, want := range map[string]string{"": usual, "~/mine": mine, mine: mine, "mine": usual, home: usual} {
		if named = name; !slices.Equal(NetrcVariable(m.w.Host), []string{"NETRC=" + want}) {
			t.Errorf("%q: %q", name, NetrcVariable(m.w.Host))
		}
	}
}

// What a program says is shown line by line, in escapes.
func TestOutputDetail(t *testing.T) {
	if got := OutputDetail("pip", []byte("a\x1b[2J\r\n\nb")); got != "  pip: a\\x1b[2J\n  pip: \n  pip: b\n" {
		t.Errorf("%q", got)
	}
}

// TestOtherPythons: what may take the place of python3 are the python3.N of the path from the
// highest on, then the one that uv has; what does not answer, takes the same wheels as one before
// or lies in the checkout is left out.
func TestOtherPythons(t *testing.T) {
	m := newMachine(t)
	python := func(tag, path string) string {
		return says(`{"path":"` + path + `","tag":"` + tag + `","version":"3","chosen":[]}`)
	}
	m.write(filepath.Join(m.bin, "python3.13"), "#!/bin/sh\necho python3.13: command not found >&2\nexit 127\n")
	m.write(filepath.Join(m.bin, "python3.9"), python("cp39-cp39-x", "/opt/python3.9"))
	m.write(filepath.Join(m.bin, "python3.12"), python("cp312-cp312-x", "/opt/python3.12"))
	m.write(filepath.Join(m.bin, "python3.11"), python("cp312-cp312-x", "/opt/again"))
	m.write(m.w.Path("bin", "python3.14"), m.starting())
	managed := m.write(filepath.Join(m.bin, "managed", "python3.10"), python("cp310-cp310-x", "/opt/managed"))
	m.write(filepath.Join(m.bin, "uv"), "#!/bin/sh\ncase \"$*\" in *--no-python-downloads*'>=3.9') echo "+managed+" ;; "+
		"*) exit 2 ;; esac\n")
	for requires, want := range map[string]string{
		">=3.9":  "/opt/python3.12 /opt/python3.9 /opt/managed",
		">=3.99": "/opt/python3.12 /opt/python3.9",
	} {
		var got []string
		for rt := range OtherPythons(t.Context(), m.w, m.w.Path("bin")+":"+m.bin, requires) {
			got = append(got, rt.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", requires, got, want)
		}
	}
	if _, err := os.Stat(m.bin + ".started"); err == nil {
		t.Error("a python of the checkout was started")
	}
}

func TestPythonVersion(t *testing.T) {
	for tag, want := range map[string]string{
		"cp312-cp312-manylinux_2_36_x86_64": "3.12", "cp39-cp39-x": "3.9", "cp313-cp313t-x": "3.13",
		"pp311-pypy311_pp73-x": "3.11", "cp27-cp27mu-x": "", "": "", "x": "",
	} {
		if got := PythonVersion(tag); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}
