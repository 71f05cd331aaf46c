//go:build unix

package pin_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
)

// A server that reads and never answers, or that answers without end, does not hold up
// a pin: it is given its time, ended with all that it started, and nothing is written.
func TestPinOfServerWithoutAnswer(t *testing.T) {
	for name, script := range map[string]string{
		"silent":   "cat >/dev/null",
		"deaf":     "exec sleep 600",
		"stubborn": "trap '' TERM INT HUP; while :; do sleep 1; done",
		"chatty": `while :; do echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'; sleep 0.01; ` +
			`done`,
		"parent": "sleep 600 & echo $! >child; cat >/dev/null; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project, home := t.TempDir(), t.TempDir()
			put(t, filepath.Join(project, "server"), "#!/bin/sh\necho $$ >pid\necho >>starts\n"+script+"\n", 0o755)
			put(t, filepath.Join(project, "hallmark.toml"),
				"manifest_version = 1\n[providers.mcp.x]\ncommand = \"./server\"\n", 0o644)
			var doing []string
			h := &host.Host{
				Places: host.Places{Cache: filepath.Join(home, "cache"), State: filepath.Join(home, "state")},
				Getenv: func(name string) string {
					if name == "PATH" {
						return os.Getenv("PATH")
					}
					return ""
				},
				Logger:     slog.New(slog.DiscardHandler),
				Now:        time.Now,
				ShowStatus: func(what string) { doing = append(doing, what) },
			}
			var pinned []*pin.Pinned
			var err error
			hang.Ends(t, "the pin", func() {
				pinned, err = pin.Pin(t.Context(), h, project, nil, pin.Options{
					Capture: 600 * time.Millisecond, // so long that all four are started
					Confirm: func(*pin.Pinned) (host.Consent, error) {
						t.Error("consent was asked for")
						return host.InformedConsent, nil
					},
				})
			})
			if err == nil || !strings.Contains(err.Error(), "took too long") ||
				evidence.ClassOf(err) != evidence.Operation {
				t.Fatalf("%v, of class %v", err, evidence.ClassOf(err))
			}
			if len(pinned) != 1 || pinned[0].Written {
				t.Errorf("%d servers, written", len(pinned))
			}
			if want := []string{"capturing what x shows: 4 starts", ""}; !slices.Equal(doing, want) {
				t.Errorf("a person was told %q, want %q", doing, want)
			}
			starts, err := os.ReadFile(filepath.Join(project, "starts"))
			if len(starts) > 4+1 || err != nil {
				t.Errorf("it was started %d times, which are four and once alone: %v", len(starts), err)
			}
			for _, file := range []string{"hallmark.lock", "hallmark.surfaces"} {
				if _, err := os.Lstat(filepath.Join(project, file)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", file, err)
				}
			}
			gone(t, filepath.Join(project, "pid"))
			if name == "parent" {
				gone(t, filepath.Join(project, "child"))
			}
		})
	}
}

// gone demands that the process whose id a file holds ends soon.
func gone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	hang.Until(t, "the process of "+file+" ends", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid)
	})
}

// zombie reports whether a process has ended, and only waits for a parent to ask. An
// orphan does where nobody is there to ask, as in many containers.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func put(t *testing.T, path, data string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
}
