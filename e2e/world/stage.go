package world

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
)

// Stage is a project with a home and a npm registry of its own.
type Stage struct {
	Bin, Dir, Project, Home, Tmp string
	NPM                          *npmtest.Server
	Env                          []string
}

// NewStage makes a stage whose programs lie in bin.
func NewStage(t *testing.T, bin string) *Stage {
	t.Helper()
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	dir := t.TempDir()
	s := &Stage{
		Bin: bin, Dir: dir, NPM: npm,
		Project: filepath.Join(dir, "project"), Home: filepath.Join(dir, "home"), Tmp: filepath.Join(dir, "tmp"),
	}
	for _, d := range []string{s.Project, s.Home, s.Tmp, filepath.Join(dir, "user")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	authority := filepath.Join(dir, "authority.pem")
	Write(t, authority, string(npm.Authority()))
	s.Env = append(npm.Environ(authority), "PATH="+bin+":"+os.Getenv("PATH"),
		"HOME="+filepath.Join(dir, "user"), "HALLMARK_HOME="+s.Home, "TMPDIR="+s.Tmp)
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

// Command is a program of the stage, in the project's directory.
func (s *Stage) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.Bin, name), args...)
	cmd.Dir, cmd.Env = s.Project, s.Env
	cmd.WaitDelay = 5 * time.Second // a killed program's children may hold its output
	return cmd
}

// Run demands an exit code.
func (s *Stage) Run(t *testing.T, want int, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := s.Command(t.Context(), name, args...)
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
