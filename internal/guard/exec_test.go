package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/policy"
)

// build compiles a program that prints text, without cgo and so static.
func build(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	source := "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(os.Args[0] + \" " + text + "\\n\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	cmd := exec.Command("go", "build", "-o", out, filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out
}

// output runs c and returns all that it writes.
func output(t *testing.T, c Command, images ...*Image) (string, int) {
	t.Helper()
	adm, subjects := admit(t, images...)
	p, err := Exec(t.Context(), adm, subjects, c)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := p.stdout.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	p.end(nil, graceClose, graceTerm)
	p.stdout.close()
	return b.String(), p.ExitCode()
}

func needLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the guarantee is Linux's")
	}
}

// TestReplacedAfterOpen: what runs is what was hashed, whatever happens to the file.
func TestReplacedAfterOpen(t *testing.T) {
	needLinux(t)
	good, evil := build(t, "good"), build(t, "evil")
	replacement, err := os.ReadFile(evil)
	if err != nil {
		t.Fatal(err)
	}
	m := image(t, good)
	if !m.sealed {
		t.Fatal("a static program is not sealed")
	}
	if _, err := m.file.WriteAt([]byte{0}, 100); err == nil {
		t.Error("the copy can be written")
	}
	// In place: the same inode gets other bytes.
	if err := os.WriteFile(good, replacement, 0o700); err != nil {
		t.Fatal(err)
	}
	got, code := output(t, Command{Exe: m, Args: []string{"argv0"}}, m)
	if got != "argv0 good\n" || code != 0 {
		t.Errorf("ran %q, code %d", got, code)
	}
}

// TestSwappedFile: a dynamic program and a script run by descriptor, so that another
// file under their name does not.
func TestSwappedFile(t *testing.T) {
	needLinux(t)
	dir := t.TempDir()
	prog := filepath.Join(dir, "echo")
	copyFile(t, "/bin/echo", prog)
	m := image(t, prog)
	if m.sealed {
		t.Error("a dynamic program is sealed")
	}
	swap(t, prog, "#!/bin/false\n")
	if got, code := output(t, Command{Exe: m, Args: []string{"echo", "good"}}, m); got != "good\n" || code != 0 {
		t.Errorf("ran %q, code %d", got, code)
	}

	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!"+sh+" -u\necho good \"$@\"\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m = image(t, script)
	path, args, ok := m.Interpreter()
	if path != sh || len(args) != 1 || args[0] != "-u" || !ok {
		t.Errorf("interpreter %q %q %v", path, args, ok)
	}
	interp := image(t, path)
	swap(t, script, "#!"+sh+"\necho evil\n")
	got, code := output(t, Command{Exe: m, Interpreter: interp, Args: []string{"script", "a b"}}, m, interp)
	if got != "good a b\n" || code != 3 {
		t.Errorf("ran %q, code %d", got, code)
	}
}

// TestAlgorithms: further digests come from the same bytes, and sha256 always.
func TestAlgorithms(t *testing.T) {
	for _, path := range []string{build(t, "x"), "/bin/echo"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		algs := []digest.Algorithm{digest.SHA1, digest.SHA256, digest.SHA512}
		h := digest.NewHasher(algs...)
		h.Write(b)
		m, err := OpenImage(path, algs...)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		o := m.Observed()
		if len(o.Digests) != 3 || o.Digests[0].Algorithm() != digest.SHA256 || o.Size != int64(len(b)) || o.From != m.Path() {
			t.Errorf("%s: observed %v", path, o)
		}
		for _, d := range o.Digests {
			if d.String() != h.Digest(d.Algorithm()).String() {
				t.Errorf("%s: %s, want %s", path, d, h.Digest(d.Algorithm()))
			}
		}
		if len(image(t, path).Observed().Digests) != 1 {
			t.Errorf("%s: digests that nobody asked for", path)
		}
	}
	var unknown *digest.UnknownAlgorithmError
	if _, err := OpenImage("/bin/echo", "md5"); !errors.As(err, &unknown) {
		t.Errorf("md5: %v", err)
	}
}

// TestNodeByName: node opens a script by its name, so that name must still have the
// bytes that were verified, and is what the script sees.
func TestNodeByName(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "main.cjs")
	const source = "#!/usr/bin/env node\nconsole.log(process.argv[1] === __filename, require('./beside.cjs'), process.argv[2])\n"
	for name, content := range map[string]string{"main.cjs": source, "beside.cjs": "module.exports = 'beside'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m, interp := image(t, script), image(t, node)
	if !m.ByName(interp) {
		t.Error("node is said to run descriptors")
	}
	c := Command{Exe: m, Interpreter: interp, Args: []string{"main", "x"}, Env: os.Environ()}
	if got, code := output(t, c, m, interp); got != "true beside x\n" || code != 0 {
		t.Errorf("ran %q, code %d", got, code)
	}
	adm, subjects := admit(t, m, interp)
	for _, evil := range []string{"console.log('evil')\n", strings.Replace(source, "true", "evil", 1)[:len(source)-1] + " "} {
		swap(t, script, evil)
		if p, err := Exec(t.Context(), adm, subjects, c); err == nil || !strings.Contains(err.Error(), "changed after it was verified") {
			t.Errorf("another file under the name: %v", err)
			if err == nil {
				p.Kill()
			}
		}
	}
}

// TestByName tells by any of the interpreter's names.
func TestByName(t *testing.T) {
	needLinux(t)
	for path, want := range map[string]bool{
		"/usr/bin/node": true, "/opt/node-22.1": true, "/usr/bin/nodejs": true, "/x/deno": true, "/x/bun": true,
		"/usr/bin/python3": false, "/bin/sh": false, "/x/nodemon": false, "/x/node/bin/ruby": false,
	} {
		if got := (&Image{}).ByName(&Image{Chain: []string{path}}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !(&Image{}).ByName(&Image{Chain: []string{"/home/u/shims/node", "/opt/shim"}}) {
		t.Error("a shim called node")
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func swap(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestSymlinkSwap: the chain is followed once, when the image is opened.
func TestSymlinkSwap(t *testing.T) {
	needLinux(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		copyFile(t, map[string]string{"a": "/bin/echo", "b": "/bin/false"}[name], filepath.Join(dir, name))
	}
	link := filepath.Join(dir, "link")
	for name, to := range map[string]string{"link": "second", "second": filepath.Join(dir, "a")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	m := image(t, link)
	if want := []string{link, filepath.Join(dir, "second"), filepath.Join(dir, "a")}; !slices.Equal(m.Chain, want) {
		t.Errorf("chain %q", m.Chain)
	}
	os.Remove(link)
	os.Symlink("b", link)
	if got, code := output(t, Command{Exe: m, Args: []string{"echo", "x"}}, m); got != "x\n" || code != 0 {
		t.Errorf("ran %q, code %d", got, code)
	}
	os.Symlink("loop", filepath.Join(dir, "loop"))
	for _, bad := range []string{filepath.Join(dir, "loop"), dir, filepath.Join(dir, "none")} {
		if _, err := OpenImage(bad); err == nil {
			t.Errorf("%s was opened", bad)
		}
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenImage(plain); err == nil || !strings.Contains(err.Error(), "not executable") {
		t.Errorf("got %v", err)
	}
}

// TestNotAdmitted: nothing starts without the proof for these bytes.
func TestNotAdmitted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, other := image(t, self), image(t, "/bin/sh")
	adm, subjects := admit(t, m)
	otherAdm, otherSubjects := admit(t, other)
	c := Command{Name: "srv", Exe: m, Args: []string{self}, Env: []string{"GUARD_TEST_SERVER=args"}}
	wrong := []Subject{{subjects[0].Name, digest.FromBytes([]byte("other"))}}
	for name, x := range map[string]struct {
		adm      policy.Admitted
		subjects []Subject
	}{
		"zero Admitted":        {policy.Admitted{}, subjects},
		"no subjects":          {adm, nil},
		"other digest":         {adm, wrong},
		"zero digest":          {adm, []Subject{{Name: subjects[0].Name}}},
		"other subject's":      {otherAdm, subjects},
		"image not a subject":  {otherAdm, otherSubjects},
		"one subject too many": {adm, append(slices.Clone(subjects), otherSubjects...)},
		"other name":           {adm, []Subject{{"other", subjects[0].Digest}}},
	} {
		if p, err := Exec(t.Context(), x.adm, x.subjects, c); !errors.Is(err, policy.ErrNotAdmitted) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				p.Kill()
			}
		}
	}
	script := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := image(t, script)
	adm, subjects = admit(t, s)
	if _, err := Exec(t.Context(), adm, subjects, Command{Exe: s, Args: []string{"s"}}); !errors.Is(err, ErrScript) {
		t.Errorf("script alone: %v", err)
	}
	if _, err := Exec(t.Context(), adm, subjects, Command{Exe: s, Interpreter: other, Args: []string{"s"}}); !errors.Is(err, policy.ErrNotAdmitted) {
		t.Errorf("interpreter that was not judged: %v", err)
	}
	adm, subjects = admit(t, m, other)
	if _, err := Exec(t.Context(), adm, subjects, Command{Exe: m, Interpreter: other, Args: []string{"s"}}); !errors.Is(err, ErrNotScript) {
		t.Errorf("interpreter of a program: %v", err)
	}
}

// TestEnvironment: the child gets the environment and arguments that are given, and
// no descriptor of the guard's.
func TestEnvironment(t *testing.T) {
	needLinux(t)
	sh := image(t, "/bin/sh")
	got, _ := output(t, Command{Exe: sh, Args: []string{"sh", "-c", `echo "$A|$HOME|$0|$(pwd)"; for f in /proc/$$/fd/*; do readlink $f; done`, "zero"}, Env: []string{"A=b", "PATH=/usr/bin:/bin"}, Dir: "/"}, sh)
	if !strings.HasPrefix(got, "b||zero|/\n") || strings.Contains(got, "memfd") || strings.Contains(got, "eventfd") || strings.Contains(got, "bin/") {
		t.Errorf("got %q", got)
	}
}

func TestShebang(t *testing.T) {
	for _, x := range []struct {
		head string
		want []string
		ok   bool
	}{
		{"\x7fELF", nil, true},
		{"#!/bin/sh\n", []string{"/bin/sh"}, true},
		{"#! /bin/sh \t-e -x \n", []string{"/bin/sh", "-e -x"}, true},
		{"#!/usr/bin/env python3\n", []string{"python3"}, true},
		{"#!/usr/bin/env -S node --flag x\n", []string{"node", "--flag", "x"}, true},
		{"#!/usr/bin/env\n", []string{"/usr/bin/env"}, true},
		{"#!/usr/bin/env -i sh\n", nil, false},
		{"#!/usr/bin/env A=b sh\n", nil, false},
		{"#!/usr/bin/env -S sh -c 'x y'\n", nil, false},
		{"#!/usr/bin/env python3 -u\n", nil, false},
		{"#!\n", nil, false},
		{"#!/" + strings.Repeat("x", 300), nil, false},
	} {
		got, err := parseShebang(x.head)
		if !slices.Equal(got, x.want) || (err == nil) != x.ok {
			t.Errorf("%q: %q, %v", x.head, got, err)
		}
	}
}
