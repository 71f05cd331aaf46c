package world

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// FacetStage is a project with facets and a home of its own.
type FacetStage struct {
	T             *testing.T
	Bin, Dir      string
	Home, Project string
}

// NewFacetStage makes a stage whose program is bin, with what config adds to its hallmark.toml.
func NewFacetStage(t *testing.T, bin, config string) *FacetStage {
	t.Helper()
	dir := t.TempDir()
	s := &FacetStage{T: t, Bin: bin, Dir: dir, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", dir).Run() })
	s.Write("project/hallmark.toml", "manifest_version = 1\n"+config)
	return s
}

// Write writes a file below Dir.
func (s *FacetStage) Write(name, text string) {
	s.T.Helper()
	path := filepath.Join(s.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.T.Fatal(err)
	}
	Write(s.T, path, text)
}

// Command is the program in the project.
func (s *FacetStage) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.Bin, args...)
	cmd.Dir = s.Project
	cmd.Env = append(os.Environ(), "HALLMARK_HOME="+s.Home)
	return cmd
}

// Run runs the program, which must succeed, and gives what it printed.
func (s *FacetStage) Run(args ...string) string {
	s.T.Helper()
	out, err := s.Command(args...).CombinedOutput()
	if err != nil {
		s.T.Fatalf("hallmark %q: %v\n%s", args, err, out)
	}
	return string(out)
}
