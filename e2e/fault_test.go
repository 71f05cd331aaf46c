//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
)

// TestFaults runs the built program where the network, the disk or the process itself
// fails. Whatever happens the exit code and the message are those of the design, and
// nothing is left half written.
func TestFaults(t *testing.T) {
	bin := t.TempDir()
	for _, from := range []string{"cmd/hallmark", "e2e/puppet", "e2e/client"} {
		built.Into(t, filepath.Join(bin, filepath.Base(from)), from)
	}
	for name, test := range map[string]func(*testing.T, *stage){
		"transfer":      testTransfers,
		"pin transfer":  testPinTransfer,
		"replaced":      testReplaced,
		"disk full":     testDiskFull,
		"killed":        testKilled,
		"killed npm":    testKilledNPM,
		"two pins":      testTwoPins,
		"run while pin": testRunWhilePin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newStage(t, bin))
		})
	}
}

// stage is a project with a home and a npm registry of its own.
type stage struct {
	bin, dir, project, home, tmp string
	npm                          *npmtest.Server
	env                          []string
}

func newStage(t *testing.T, bin string) *stage {
	t.Helper()
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	dir := t.TempDir()
	s := &stage{
		bin: bin, dir: dir, npm: npm,
		project: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), tmp: filepath.Join(dir, "tmp"),
	}
	for _, d := range []string{s.project, s.home, s.tmp, filepath.Join(dir, "user")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	authority := filepath.Join(dir, "authority.pem")
	write(t, authority, string(npm.Authority()))
	s.env = append(npm.Environ(authority), "PATH="+bin+":"+os.Getenv("PATH"),
		"HOME="+filepath.Join(dir, "user"), "HALLMARK_HOME="+s.home, "TMPDIR="+s.tmp)
	t.Cleanup(func() { // the store is read-only
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return s
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is a program of the stage, in the project's directory.
func (s *stage) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Env = s.project, s.env
	cmd.WaitDelay = 5 * time.Second // a killed program's children may hold its output
	return cmd
}

// run demands an exit code.
func (s *stage) run(t *testing.T, want int, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := s.command(t.Context(), name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("%s %q: exit code %d, want %d\n%s%s", name, args, got, want, &out, &errs)
	}
	return out.String(), errs.String()
}

// files are all files below dirs with their contents, but for locks, which stay.
func files(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			sum := sha256.Sum256(data)
			all[path] = hex.EncodeToString(sum[:])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// same demands that the files are as they were.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, sum := range after {
		if before[path] != sum {
			t.Errorf("%s is new or changed", path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			t.Errorf("%s is gone", path)
		}
	}
}

// empty demands that nothing lies below dir, which may be missing.
func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left in %s", e.Name(), dir)
	}
}
