//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// puppet makes the project one with two servers that show what the file surface says.
func (s *stage) puppet(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(s.Project, 0o700); err != nil {
		t.Fatal(err)
	}
	s.show(t, "one")
	text := "manifest_version = 1\n"
	for _, name := range []string{"left", "right"} {
		text += fmt.Sprintf("[providers.mcp.%s]\ncommand = %q\narguments = [%q]\n", name, s.server(),
			filepath.Join(s.Dir, "surface"))
	}
	world.Write(t, filepath.Join(s.Project, "hallmark.toml"), text)
}

// show makes the servers a new version with another surface: of the same bytes it would
// be an alarm, which no consent given beforehand covers.
func (s *stage) show(t *testing.T, description string) {
	t.Helper()
	path := filepath.Join(s.Dir, "surface")
	world.Write(t, path+".new",
		fmt.Sprintf(`{"tools/list": {"tools": [{"name": "hello", "description": %q, "inputSchema": {"type": `+
			`"object"}}]}}`, description))
	server, err := os.ReadFile(filepath.Join(s.Bin, "puppet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.server()+".new", append(server, description...), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, s.server()} {
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
}

// server is the executable of the servers.
func (s *stage) server() string { return filepath.Join(s.Dir, "server") }

// described reads the description that is locked for a server out of its surface file.
func (s *stage) described(t *testing.T, server string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Project, "hallmark.surfaces", server+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var surface struct {
		Tools []struct{ Description string }
	}
	if err := json.Unmarshal(data, &surface); err != nil || len(surface.Tools) != 1 {
		t.Fatalf("%v: %s", err, data)
	}
	return surface.Tools[0].Description
}

// tidy demands that no file lies in the project that a whole pin does not leave, and
// no journal in the state directory.
func (s *stage) tidy(t *testing.T) {
	t.Helper()
	for path := range files(t, s.Project) {
		switch rel, _ := filepath.Rel(s.Project, path); rel {
		case "hallmark.toml", "hallmark.lock", "server.json",
			"hallmark.surfaces/left.json", "hallmark.surfaces/right.json", "hallmark.surfaces/notes.json",
			"hallmark.closures/notes.json":
		default:
			t.Errorf("%s is left in the project", rel)
		}
	}
	for path := range files(t, filepath.Join(s.Home, "state")) {
		switch base := filepath.Base(path); base {
		case "approvals.json", "writer", "files", "drift-left.json", "drift-right.json":
		default:
			t.Errorf("%s is left in the state directory", base)
		}
	}
}

// killAfter starts a pin and kills it, and nothing else, after d. It reports whether
// the pin ended before.
func (s *stage) killAfter(t *testing.T, d time.Duration) (ended bool) {
	t.Helper()
	return s.kill(t, func(<-chan struct{}) { time.Sleep(d) })
}

// kill starts a pin and kills it, and nothing else, when wait returns. wait is told when
// the pin ends by itself.
func (s *stage) kill(t *testing.T, wait func(ended <-chan struct{})) (ended bool) {
	t.Helper()
	cmd := s.Command(t.Context(), "hallmark", "pin", "--yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var err error
	go func() {
		err = cmd.Wait()
		close(done)
	}()
	wait(done)
	cmd.Process.Kill()
	<-done
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // npm, if it was running
	return err == nil
}

// testKilled kills a pin at many moments. After each the next command finds the project
// wholly as it was or wholly as it was to be, for both servers together.
func testKilled(t *testing.T, s *stage) {
	s.puppet(t)
	start := time.Now()
	s.Run(t, 0, "hallmark", "pin", "--yes")
	whole := time.Since(start)
	states, err := filepath.Glob(filepath.Join(s.Home, "state", "projects", "*"))
	if err != nil || len(states) != 1 {
		t.Fatalf("%q: %v", states, err)
	}
	journal := filepath.Join(states[0], "journal")
	exists := func() bool { _, err := os.Lstat(journal); return err == nil }
	var ended, before, after, journals int
	locked := "one"
	rounds := kills(t, 24)
	for round := range rounds {
		next := fmt.Sprintf("round %d", round)
		s.show(t, next)
		wait := func(<-chan struct{}) { time.Sleep(rand.N(whole * 5 / 4)) }
		if round%4 != 0 { // while the files are being replaced, which takes milliseconds of the whole
			wait = func(ended <-chan struct{}) {
				for !exists() {
					select {
					case <-ended:
						return
					default:
						time.Sleep(20 * time.Microsecond)
					}
				}
				time.Sleep(rand.N(2 * time.Millisecond))
			}
		}
		if s.kill(t, wait) {
			ended++
		}
		if exists() {
			journals++
		}
		check := s.Command(t.Context(), "hallmark", "check") // which finishes what was begun
		report, err := check.CombinedOutput()
		if code := check.ProcessState.ExitCode(); code != 0 && code != 3 {
			t.Fatalf("round %d: %v\n%s", round, err, report)
		}
		left, right := s.described(t, "left"), s.described(t, "right")
		switch {
		case left != right:
			t.Fatalf("round %d: left shows %q and right %q", round, left, right)
		case left == next:
			after++
		case left == locked:
			before++
		default:
			t.Fatalf("round %d: %q is locked, neither %q nor %q", round, left, locked, next)
		}
		if (left == next) != (err == nil) {
			t.Fatalf("round %d: %q is locked and %q is there, but check says\n%s", round, left, next, report)
		}
		locked = left
		s.tidy(t)
		s.show(t, locked)
		s.Run(t, 0, "hallmark", "check")
		if out, _ := s.Run(t, 0, "client", "hallmark", "run", "left"); !strings.Contains(out, "tool hello: "+locked) {
			t.Fatalf("round %d: run withholds %q:\n%s", round, locked, out)
		}
	}
	t.Logf("a pin takes %v; of %d pins %d ended, %d left a journal; %d were as before, %d as after", whole, rounds,
		ended, journals, before, after)
	s.show(t, "last")
	s.Run(t, 0, "hallmark", "pin", "--yes")
	if got := s.described(t, "right"); got != "last" {
		t.Errorf("%q is locked at last", got)
	}
}

// testKilledNPM kills pins of a package, whose store is filled on the way. What they
// leave there stops no later pin, which removes it.
func testKilledNPM(t *testing.T, s *stage) {
	s.publish(t, 1000)
	start := time.Now()
	s.Run(t, 0, "hallmark", "pin", "--yes")
	whole := time.Since(start)
	for round := range 4 {
		s.Home = filepath.Join(s.Dir, fmt.Sprintf("home%d", round))
		s.Env = append(s.Env, "HALLMARK_HOME="+s.Home)
		before := files(t, s.Project)
		if !s.killAfter(t, whole*time.Duration(2*round+1)/8) && round < 2 {
			same(t, before, files(t, s.Project))
		}
		s.Run(t, 0, "hallmark", "pin", "--yes")
		s.Run(t, 0, "hallmark", "check")
		s.tidy(t)
		empty(t, filepath.Join(s.Home, "cache", "store", "staging"))
	}
	s.Run(t, 0, "client", "-call", "hello", "hallmark", "run", "notes")
}

// testTwoPins starts two pins of one project at the same time: both are kept.
func testTwoPins(t *testing.T, s *stage) {
	s.puppet(t)
	for round := range 5 {
		s.show(t, fmt.Sprint("round ", round))
		var pins []*exec.Cmd
		for _, name := range []string{"left", "right", "left"} {
			cmd := s.Command(t.Context(), "hallmark", "pin", "--yes", name)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pins = append(pins, cmd)
		}
		for _, cmd := range pins {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%q: %v\n%s", cmd.Args, err, cmd.Stderr)
			}
		}
		s.Run(t, 0, "hallmark", "check")
		for _, name := range []string{"left", "right"} {
			if got := s.described(t, name); got != fmt.Sprint("round ", round) {
				t.Errorf("round %d: %s shows %q", round, name, got)
			}
		}
		s.tidy(t)
	}
}

// waited is all that a start may say while the files of its project are being replaced.
var waited = regexp.MustCompile(
	`^(hallmark: warning: waiting for a replacement of the files of \S+ by another process( process=\d+)?\n)?$`)

// testRunWhilePin starts servers while pins replace the lock again and again. None is
// refused for a lock that was half replaced; and a server that runs hinders no pin.
func testRunWhilePin(t *testing.T, s *stage) {
	s.puppet(t)
	s.Run(t, 0, "hallmark", "pin", "--yes")
	running := s.Command(t.Context(), "hallmark", "run", "left")
	stdin, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for i := range 15 {
			pin := s.Command(t.Context(), "hallmark", "pin", "--yes")
			if i%2 == 0 {
				pin.Args = append(pin.Args, "left")
			}
			if out, err := pin.CombinedOutput(); err != nil {
				done <- fmt.Errorf("pin: %w\n%s", err, out)
				return
			}
		}
		done <- nil
	}()
	for pinning := true; pinning; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			pinning = false
		default:
		}
		out, errs := s.Run(t, 0, "client", "-call", "hello", "hallmark", "run", "left")
		if !strings.Contains(out, "call hello: hello {}") || !waited.MatchString(errs) {
			t.Errorf("run: %s%s", out, errs)
		}
		s.Run(t, 0, "hallmark", "check")
	}
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := running.Wait(); err != nil {
		t.Errorf("the server that ran all the time: %v", err)
	}
}
