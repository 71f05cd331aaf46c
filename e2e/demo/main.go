// Demo tells the story of one MCP server through the whole chain, with the real
// binaries, a registry on loopback and a real package: published with hashes, checked by
// the registry, pinned by its record, run under a real client, tampered with at each
// link, and clean again. Every step that does not behave ends it with an error.
//
//	go run ./e2e/demo [-bin DIR]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The real server: it lists its tools with any key.
const (
	serverName     = "io.github.domdomegg/airtable-mcp-server"
	packageName    = "airtable-mcp-server"
	packageVersion = "1.7.2"
	keyVariable    = "AIRTABLE_API_KEY"
)

func main() {
	bin := flag.String("bin", "bin", "directory of the built binaries")
	flag.Parse()
	if err := run(*bin); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// demo is the stage: a directory of its own, removed at the end.
type demo struct {
	bin, dir string
	home     string // what Hallmark keeps
	env      []string
	step     int
	start    time.Time
	logKey   string // of the registry's log
}

func run(bin string) (err error) {
	d := &demo{start: time.Now()}
	if d.bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp(d.bin, "demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(d.dir)) }()
	if d.home, err = os.MkdirTemp("", "hallmark-demo-"); err != nil { // not in this checkout, as is refused
		return err
	}
	defer func() { err = errors.Join(err, removeAll(d.home)) }()
	d.env = append(os.Environ(), "HALLMARK_HOME="+d.home, keyVariable+"=patDummy.0000",
		"NO_COLOR=1")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	url, stop, err := d.registry(ctx)
	if err != nil {
		return err
	}
	defer stop()
	// What only a project names is asked after consent, which a script gives in its environment.
	host := strings.TrimPrefix(url, "http://")
	fmt.Printf("$ export HALLMARK_ALLOW_HOSTS=%s\n", host)
	d.env = append(d.env, "HALLMARK_ALLOW_HOSTS="+host)
	for _, step := range []func(context.Context, string) error{
		d.hash, d.publish, d.forged, d.pin, d.use, d.flip, d.drift, d.clean, d.facet,
	} {
		if err := step(ctx, url); err != nil {
			return err
		}
	}
	fmt.Printf("\nEvery step behaved, in %.0f s.\n", time.Since(d.start).Seconds())
	return nil
}

func (d *demo) title(format string, args ...any) {
	d.step++
	fmt.Printf("\n── %d. %s\n\n", d.step, fmt.Sprintf(format, args...))
}

// hallmark runs the command, prints it with its output, and demands an exit code.
func (d *demo) hallmark(ctx context.Context, want int, args ...string) (stdout, stderr string, err error) {
	fmt.Printf("$ hallmark %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, "hallmark"), args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	fmt.Print(indent(clip(out.String(), 24)), indent(clip(errs.String(), 40)))
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		return "", "", err
	}
	fmt.Printf("  [exit %d]\n", code)
	if code != want {
		return "", "", fmt.Errorf("hallmark %s: exit code %d, want %d", args[0], code, want)
	}
	return out.String(), errs.String(), nil
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

// clip keeps the transcript readable.
func clip(s string, lines int) string {
	all := strings.SplitAfter(s, "\n")
	if len(all) <= lines+1 {
		return s
	}
	return strings.Join(all[:lines], "") + fmt.Sprintf("… %d more lines\n", len(all)-lines-1)
}

func expect(text string, parts ...string) error {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return fmt.Errorf("expected %q in:\n%s", p, text)
		}
	}
	return nil
}

func (d *demo) clean(ctx context.Context, _ string) error {
	d.title("The server shows what was approved again; the drift is dismissed: all clean")
	if err := d.drifter(ctx, "add", "echo"); err != nil {
		return err
	}
	if _, _, err := d.hallmark(ctx, 0, "review", "drifter", "--dismiss"); err != nil {
		return err
	}
	out, _, err := d.hallmark(ctx, 0, "check")
	if err != nil {
		return err
	}
	if strings.Contains(out, "mismatch") {
		return errors.New("check still reports a mismatch")
	}
	return nil
}

// removeAll removes a directory with read-only parts.
func removeAll(dir string) error {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
