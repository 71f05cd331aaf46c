//go:build unix

package hashfile

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestHostilePeer is a client in another language that keeps to no rule: an SDK at both
// ends would hide what such a one can send.
func TestHostilePeer(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	self, err := os.Executable()
	must(t, err)
	base := dir(t)
	write(t, base, "allowed/file", "fine\n")
	write(t, base, "outside/secret", "SECRET\n")
	must(t, os.Symlink("../outside/secret", filepath.Join(base, "allowed/link")))
	config, err := json.Marshal(Config{Roots: []string{filepath.Join(base, "allowed")}, Locks: private(t)})
	must(t, err)
	cmd := exec.CommandContext(t.Context(), python, "testdata/hostile.py", base, self)
	cmd.Env = append(os.Environ(), "HASHFILE_TEST_SERVER="+string(config))
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^[1-9][0-9]+ transcripts ok\s*\z`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
