//go:build unix

package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
)

// What an attacker, or a crash, can do to the files of a project.

// forge LOCK [KEY... VALUE]
//
// Set the value under the keys of a lock to VALUE, which is JSON, or with "-" remove it;
// and then recompute its digests of itself, so that nothing but its content gives it away.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 1 || len(args) > 2), "forge LOCK [KEY... VALUE]")
	change(ts, args[0], func(data []byte) []byte {
		var lock map[string]any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		ts.Check(d.Decode(&lock))
		if len(args) > 1 {
			put(ts, lock, args[1:len(args)-1], args[len(args)-1])
		}
		ts.Check(hosttest.Seal(lock))
		out, err := json.MarshalIndent(lock, "", "  ")
		ts.Check(err)
		return append(out, '\n')
	})
}

func put(ts *testscript.TestScript, v map[string]any, keys []string, value string) {
	last := len(keys) - 1
	for _, key := range keys[:last] {
		next, ok := v[key].(map[string]any)
		if !ok {
			ts.Fatalf("there is nothing below %q of %q", key, keys)
		}
		v = next
	}
	if value == "-" {
		if _, ok := v[keys[last]]; !ok {
			ts.Fatalf("there is nothing at %q", keys)
		}
		delete(v, keys[last])
		return
	}
	var x any
	ts.Check(json.Unmarshal([]byte(value), &x))
	v[keys[last]] = x
}

// raced TIMES FILE GOOD BAD PROGRAM [ARGUMENT...]
//
// Run a program so often, while FILE is GOOD and BAD in turn, as fast as it can be
// replaced. The program may succeed or find that a file is not what it must be, with
// exit code 3; anything else is an error.
func raced(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 4, "raced TIMES FILE GOOD BAD PROGRAM [ARGUMENT...]")
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	file, stop, done := ts.MkAbs(args[1]), make(chan struct{}), make(chan error, 1)
	kinds := []string{ts.MkAbs(args[2]), ts.MkAbs(args[3])}
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
				err = replaceBy(file, kinds[i%2])
			}
		}
		done <- err
	}()
	codes := map[int]int{}
	for range times {
		err := ts.Exec(args[4], args[5:]...)
		var exit *exec.ExitError
		switch {
		case err == nil:
			codes[0]++
		case errors.As(err, &exit):
			codes[exit.ExitCode()]++
		default:
			ts.Check(err)
		}
	}
	close(stop)
	ts.Check(<-done)
	ts.Logf("exit codes and how often: %v", codes)
	if codes[0]+codes[3] != times {
		ts.Fatalf("exit codes and how often: %v; only 0 and 3 may be", codes)
	}
}

// replaceBy makes name a link to the file other, in one step.
func replaceBy(name, other string) error {
	temp := name + ".next"
	if err := os.Link(other, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	// Renamed over another link to itself it stays.
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// interrupted FILE NEW
//
// Leave behind what a crash leaves of a replacement of FILE by NEW that was decided, but
// not begun: the journal in the state directory of the only project there.
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "interrupted FILE NEW")
	path, err := filepath.EvalSymlinks(ts.MkAbs(args[0]))
	ts.Check(err)
	body, err := json.Marshal([]durable.File{{
		Path: path, Data: []byte(ts.ReadFile(args[1])), Perm: 0o644,
		Was: digest.FromBytes([]byte(ts.ReadFile(args[0]))),
	}})
	ts.Check(err)
	states, err := filepath.Glob(filepath.Join(ts.Getenv("HALLMARK_HOME"), "state", "projects", "*"))
	ts.Check(err)
	if len(states) != 1 {
		ts.Fatalf("%d projects: %q", len(states), states)
	}
	head := "hallmark-journal-v1 " + digest.FromBytes(body).String() + "\n"
	ts.Check(os.WriteFile(filepath.Join(states[0], "journal"), append([]byte(head), body...), 0o600))
}
