package process_test

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
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/policy"
)

func TestMain(m *testing.M) { guardtest.Main(m) }

// output runs c and returns all that it writes.
func output(t *testing.T, c process.Command, images ...*process.Image) (string, int) {
	t.Helper()
	adm, subjects := guardtest.Admit(t, images...)
	p, err := process.Exec(t.Context(), adm, subjects, c)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := p.Stdout.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	p.End(nil, process.GraceClose, process.GraceTerm)
	p.Stdout.Close()
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
	good, evil := built.Greeter(t, "good"), built.Greeter(t, "evil")
	replacement, err := os.ReadFile(evil)
	if err != nil {
		t.Fatal(err)
	}
	m := guardtest.Open(t, good)
	if !m.Sealed() {
		t.Fatal("a static program is not sealed")
	}
	if _, err := m.File().WriteAt([]byte{0}, 100); err == nil {
		t.Error("the copy can be written")
	}
	// In place: the same inode gets other bytes.
	if err := os.WriteFile(good, replacement, 0o700); err != nil {
		t.Fatal(err)
	}
	got, code := output(t, process.Command{Exe: m, Args: []string{"argv0"}}, m)
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
	m := guardtest.Open(t, prog)
	if m.Sealed() {
		t.Error("a dynamic program is sealed")
	}
	swap(t, prog, "#!/bin/false\n")
	if got, code := output(t, process.Command{Exe: m, Args: []string{"echo", "good"}}, m); got != "good\n" ||
		code != 0 {
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
	m = guardtest.Open(t, script)
	path, args, ok := m.Interpreter()
	if path != sh || len(args) != 1 || args[0] != "-u" || !ok {
		t.Errorf("interpreter %q %q %v", path, args, ok)
	}
	interp := guardtest.Open(t, path)
	swap(t, script, "#!"+sh+"\necho evil\n")
	got, code := output(t, process.Command{Exe: m, Interpreter: interp, Args: []string{"script", "a b"}}, m, interp)
	if got != "good a b\n" || code != 3 {
		t.Errorf("ran %q, code %d", got, code)
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
	const source = "#!/usr/bin/env node\nconsole.log(process.argv[1] === __filename, require('./beside.cjs')," +
		" process.argv[2])\n"
	for name, content := range map[string]string{"main.cjs": source, "beside.cjs": "module.exports = 'beside'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m, interp := guardtest.Open(t, script), guardtest.Open(t, node)
	if !m.ByName(interp) {
		t.Error("node is said to run descriptors")
	}
	c := process.Command{Exe: m, Interpreter: interp, Args: []string{"main", "x"}, Env: os.Environ()}
	if got, code := output(t, c, m, interp); got != "true beside x\n" || code != 0 {
		t.Errorf("ran %q, code %d", got, code)
	}
	adm, subjects := guardtest.Admit(t, m, interp)
	for _, evil := range []string{"console.log('evil')\n",
		strings.Replace(source, "true", "evil", 1)[:len(source)-1] + " "} {
		swap(t, script, evil)
		if p, err := process.Exec(t.Context(), adm, subjects, c); err == nil ||
			!strings.Contains(err.Error(), "changed after it was verified") {
			t.Errorf("another file under the name: %v", err)
			if err == nil {
				p.Kill()
			}
		}
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
	m := guardtest.Open(t, link)
	if want := []string{link, filepath.Join(dir, "second"), filepath.Join(dir, "a")}; !slices.Equal(m.Chain, want) {
		t.Errorf("chain %q", m.Chain)
	}
	os.Remove(link)
	os.Symlink("b", link)
	if got, code := output(t, process.Command{Exe: m, Args: []string{"echo", "x"}}, m); got != "x\n" || code != 0 {
		t.Errorf("ran %q, code %d", got, code)
	}
	os.Symlink("loop", filepath.Join(dir, "loop"))
	for _, bad := range []string{filepath.Join(dir, "loop"), dir, filepath.Join(dir, "none")} {
		if _, err := process.Open(bad); err == nil {
			t.Errorf("%s was opened", bad)
		}
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Open(plain); err == nil || !strings.Contains(err.Error(), "not executable") {
		t.Errorf("got %v", err)
	}
}

// TestLookedAt: what was only looked at does not start, admitted or not.
func TestLookedAt(t *testing.T) {
	m, err := new(process.Seen).Look("/bin/echo")
	if err != nil {
		t.Fatal(err)
	}
	adm, subjects := guardtest.Admit(t, m)
	_, err = process.Exec(t.Context(), adm, subjects, process.Command{Name: "srv", Exe: m, Args: []string{"echo"}})
	if !errors.Is(err, process.ErrLookedAt) {
		t.Errorf("got %v", err)
	}
}

// TestNotAdmitted: nothing starts without the proof for these bytes.
func TestNotAdmitted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, other := guardtest.Open(t, self), guardtest.Open(t, "/bin/sh")
	adm, subjects := guardtest.Admit(t, m)
	otherAdm, otherSubjects := guardtest.Admit(t, other)
	c := process.Command{Name: "srv", Exe: m, Args: []string{self}, Env: []string{"GUARD_TEST_SERVER=args"}}
	wrong := []process.Subject{{Name: subjects[0].Name, Digest: digest.FromBytes([]byte("other"))}}
	for name, x := range map[string]struct {
		adm      policy.Admitted
		subjects []process.Subject
	}{
		"zero Admitted":        {policy.Admitted{}, subjects},
		"no subjects":          {adm, nil},
		"other digest":         {adm, wrong},
		"zero digest":          {adm, []process.Subject{{Name: subjects[0].Name}}},
		"other subject's":      {otherAdm, subjects},
		"image not a subject":  {otherAdm, otherSubjects},
		"one subject too many": {adm, append(slices.Clone(subjects), otherSubjects...)},
		"other name":           {adm, []process.Subject{{Name: "other", Digest: subjects[0].Digest}}},
	} {
		if p, err := process.Exec(t.Context(), x.adm, x.subjects, c); !errors.Is(err, policy.ErrNotAdmitted) {
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
	s := guardtest.Open(t, script)
	adm, subjects = guardtest.Admit(t, s)
	if _, err := process.Exec(t.Context(), adm, subjects, process.Command{Exe: s, Args: []string{"s"}}); !errors.Is(err,
		process.ErrScript) {
		t.Errorf("script alone: %v", err)
	}
	if _, err := process.Exec(t.Context(), adm, subjects,
		process.Command{Exe: s, Interpreter: other, Args: []string{"s"}}); !errors.Is(err, policy.ErrNotAdmitted) {
		t.Errorf("interpreter that was not judged: %v", err)
	}
	adm, subjects = guardtest.Admit(t, m, other)
	if _, err := process.Exec(t.Context(), adm, subjects,
		process.Command{Exe: m, Interpreter: other, Args: []string{"s"}}); !errors.Is(err, process.ErrNotScript) {
		t.Errorf("interpreter of a program: %v", err)
	}
}

// TestEnvironment: the child gets the environment and arguments that are given, and
// no descriptor of the guard.
func TestEnvironment(t *testing.T) {
	needLinux(t)
	sh := guardtest.Open(t, "/bin/sh")
	got, _ := output(t, process.Command{Exe: sh,
		Args: []string{"sh", "-c", `echo "$A|$HOME|$0|$(pwd)"; for f in /proc/$$/fd/*; do readlink $f; done`, "zero"},
		Env:  []string{"A=b", "PATH=/usr/bin:/bin"}, Dir: "/"}, sh)
	if !strings.HasPrefix(got, "b||zero|/\n") || strings.Contains(got, "memfd") || strings.Contains(got, "eventfd") ||
		strings.Contains(got, "bin/") {
		t.Errorf("got %q", got)
	}
}

// TestConnectNotAdmitted: nothing is connected to without the proof for this URL.
func TestConnectNotAdmitted(t *testing.T) {
	d := digest.FromBytes(nil)
	if _, err := process.Connect(t.Context(), policy.Admitted{}, process.Subject{Name: "srv", Digest: d},
		process.Remote{URL: "http://127.0.0.1:1"}); err == nil {
		t.Error("connected")
	}
}
