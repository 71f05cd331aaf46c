//go:build unix

package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
)

// daemon is a registry that runs beside a script.
type daemon struct {
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	log  bytes.Buffer
}

var daemons sync.Map // *testscript.TestScript to *daemon

// registry [FLAG...]
//
// Start 'hallmark-registry serve' on a free port, allowed to fetch from the script's
// npm registry, and set REGISTRY to its URL, ADDR to its address and LOGKEY to the key
// of its log, and HALLMARK_ALLOW_HOSTS so that the script's user agreed to ask it.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "registry [FLAG...]")
	bin, err := exec.LookPath("hallmark-registry") // SetPath puts it into PATH
	ts.Check(err)
	d := &daemon{done: make(chan struct{})}
	d.cmd = exec.Command(bin, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", ts.MkAbs("registry"),
		"--npm-registry", ts.Getenv("NPM"), "--allow-host", "127.0.0.1"}, args...)...)
	for _, name := range []string{"PATH", "HOME", "HALLMARK_HOME", "SSL_CERT_FILE", "TMPDIR"} {
		d.cmd.Env = append(d.cmd.Env, name+"="+ts.Getenv(name))
	}
	pipe, err := d.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(d.cmd.Start())
	ready := make(chan string, 1)
	go func() {
		defer close(d.done)
		url := regexp.MustCompile(`registry at (http://\S+),`)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			d.mu.Lock()
			fmt.Fprintln(&d.log, lines.Text())
			d.mu.Unlock()
			if m := url.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
	}()
	daemons.Store(ts, d)
	ts.Defer(func() {
		d.cmd.Process.Kill()
		<-d.done
		d.cmd.Wait()
		daemons.Delete(ts)
	})
	select {
	case url := <-ready:
		ts.Setenv("REGISTRY", url)
		ts.Setenv("ADDR", strings.TrimPrefix(url, "http://"))
		ts.Setenv("HALLMARK_ALLOW_HOSTS", ts.Getenv("ADDR")) // as a user says it of a registry at work
		about, err := (&client.Client{Base: url}).About(context.Background())
		ts.Check(err)
		ts.Setenv("LOGKEY", about.LogKey)
	case <-d.done:
		ts.Fatalf("the registry ended:\n%s", d.log.String())
	case <-time.After(hang.Long):
		ts.Fatalf("the registry does not start")
	}
}

// terminate [FILE]
//
// End the registry with SIGTERM. Its exit code must be 0. Its log goes to FILE.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "terminate [FILE]")
	v, ok := daemons.Load(ts)
	if !ok {
		ts.Fatalf("no registry runs")
	}
	d := v.(*daemon)
	ts.Check(d.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-d.done:
	case <-time.After(hang.Long):
		ts.Fatalf("the registry does not end")
	}
	err := d.cmd.Wait()
	if len(args) == 1 {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), d.log.Bytes(), 0o600))
	}
	if err != nil {
		ts.Fatalf("the registry: %v\n%s", err, d.log.String())
	}
}

func npmOf(ts *testscript.TestScript) *npmtest.Server { return ts.Value(npmKey{}).(*npmtest.Server) }

// republish DIR
//
// Publish npm/NAME@VERSION as it is on disk now, also over what was published.
func republish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "republish NAME@VERSION")
	root := filepath.Join(ts.Getenv("WORK"), "npm")
	ts.Check(publish(npmOf(ts), root, filepath.Join(root, args[0]), time.Time{}))
}

// serve PATH FILE
//
// The npm registry has FILE at PATH, too: a package elsewhere, the page of an index, what GitHub's API says of a
// release.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "serve PATH FILE")
	npmOf(ts).File(args[0], []byte(ts.ReadFile(args[1])))
}

// deprecate NAME@VERSION WORDS
//
// Deprecate says something against a version that the npm registry has.
func deprecate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "deprecate NAME@VERSION WORDS")
	at := strings.LastIndexByte(args[0], '@')
	npmOf(ts).Deprecate(args[0][:at], args[0][at+1:], args[1])
}

// unpublish NAME@VERSION
//
// Unpublish takes a version out of the npm registry.
func unpublish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "unpublish NAME@VERSION")
	at := strings.LastIndexByte(args[0], '@')
	npmOf(ts).Unpublish(args[0][:at], args[0][at+1:])
}

// publish publishes a package of dir as having been published at a time; zero: now.
func publish(s *npmtest.Server, root, dir string, at time.Time) error {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	i := strings.LastIndexByte(rel, '@')
	p := npmtest.Package{Name: filepath.ToSlash(rel[:i]), Version: rel[i+1:], Files: map[string]string{}, At: at}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name == "package.json" {
			return json.Unmarshal(data, &p.Manifest)
		}
		p.Files[filepath.ToSlash(name)] = string(data)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Publish(p)
}

// fault PATH TIMES KIND [ARGUMENT]
//
// The next TIMES requests for PATH (-1: all) to the npm registry go wrong:
//
//	status CODE      redirect URL      body FILE      problem FILE
func faulty(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 4, "fault PATH TIMES KIND ARGUMENT")
	times, err := strconv.Atoi(args[1])
	ts.Check(err)
	var f npmtest.Fault
	switch args[2] {
	case "status":
		status, err := strconv.Atoi(args[3])
		ts.Check(err)
		f = npmtest.Status(status, -1)
	case "redirect":
		f = npmtest.Redirect(args[3])
	case "body":
		f = npmtest.Body([]byte(ts.ReadFile(args[3])))
	case "problem": // as a registry of servers answers
		f = npmtest.Answer(400, []byte(ts.ReadFile(args[3])))
	default:
		ts.Fatalf("unknown fault %s", args[2])
	}
	npmOf(ts).Break(args[0], times, f)
}

// asked PATH TIMES
//
// The npm registry was asked for PATH so often.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "asked PATH TIMES")
	if got := npmOf(ts).Requests(args[0]); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s was asked for %d times, want %s", args[0], got, args[1])
	}
}
