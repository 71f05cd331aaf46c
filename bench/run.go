package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
)

// benchRun is P6: the time from the start of a process to the answer to initialize, of
// hallmark run and of the server itself, for a locked binary and for a package of Node with a
// closure of many files. What run adds is compared with reading and hashing the same bytes
// in this process: the binary, or the tree and node.
func benchRun(ctx context.Context, o options, t *table) error {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return err
	}
	defer func() {
		filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error { // slots are read-only
			if err == nil && e.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
		os.RemoveAll(dir)
	}()
	b := &starts{dir: dir, hallmark: filepath.Join(dir, "hallmark"), project: filepath.Join(dir, "project")}
	server := filepath.Join(dir, "server")
	if err := buildAll(map[string]string{b.hallmark: "cmd/hallmark", server: "e2e/puppet"}); err != nil {
		return err
	}
	shown := filepath.Join(dir, "shown.json")
	if err := os.WriteFile(shown,
		[]byte(`{"tools/list": {"tools": [{"name": "hello", "description": "Say hello.", "inputSchema": {"type": `+
			`"object"}}]}}`), 0o600); err != nil {
		return err
	}
	registry, err := b.publish(o.closureFiles, o.closureBytes)
	if err != nil {
		return err
	}
	defer registry()
	config := fmt.Sprintf(
		"manifest_version = 1\n[providers.mcp.binary]\ncommand = %q\narguments = [%q]\n[providers.mcp.package]\n"+
			"command = \"npx\"\narguments = [\"-y\", \"large@1.0.0\"]\n", server, shown)
	if err := os.MkdirAll(b.project, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.project, "hallmark.toml"), []byte(config), 0o600); err != nil {
		return err
	}
	if out, err := b.command(ctx, b.hallmark, "pin", "--yes").CombinedOutput(); err != nil {
		return fmt.Errorf("pin: %w\n%s", err, out)
	}
	trees, err := filepath.Glob(filepath.Join(dir, "home", "cache", "store", "sha256", "*", "*", "content"))
	if err != nil || len(trees) != 1 {
		return fmt.Errorf("the store has %q: %w", trees, err)
	}
	node, err := exec.CommandContext(ctx, "node", "-p", "process.execPath").Output()
	if err != nil {
		return err
	}
	for _, x := range []struct {
		what, name string
		direct     []string
		hashed     []string
	}{
		{"P6 run, binary", "binary", []string{server, shown}, []string{server}},
		{fmt.Sprintf("P6 run, %d files", o.closureFiles), "package",
			[]string{"node", filepath.Join(trees[0], "node_modules", "large", "server.js")},
			[]string{trees[0], strings.TrimSpace(string(node))}},
	} {
		var ours, direct, hash []float64
		for range o.rounds {
			for _, m := range []struct {
				into *[]float64
				f    func() (time.Duration, error)
			}{
				{&ours, func() (time.Duration, error) { return b.start(ctx, b.hallmark, "run", x.name) }},
				{&direct, func() (time.Duration, error) { return b.start(ctx, x.direct[0], x.direct[1:]...) }},
				{&hash, func() (time.Duration, error) { return readAndHash(x.hashed) }},
			} {
				d, err := m.f()
				if err != nil {
					return fmt.Errorf("%s: %w", x.what, err)
				}
				*m.into = append(*m.into, float64(d.Microseconds())/1000)
			}
		}
		added, reference := median(ours)-median(direct), median(hash)
		t.add(x.what+", added", fmt.Sprintf("%.1f ms of %.1f ms", added, median(ours)),
			fmt.Sprintf("%.1f ms to read and hash", reference),
			fmt.Sprintf("%.2f×, and %+.1f ms over 1.3×", added/reference, added-1.3*reference), "≤ 1.3×, + 5 ms")
	}
	return nil
}

// starts is where servers are started.
type starts struct {
	dir, hallmark, project string
	environ                []string // that leads npm to the registry
}

func (b *starts) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.project
	cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(b.dir, "home"))
	cmd.Env = append(cmd.Env, b.environ...)
	return cmd
}

// start is the time from the start of a process to its answer to initialize.
func (b *starts) start(ctx context.Context, name string, args ...string) (time.Duration, error) {
	cmd := b.command(ctx, name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	fmt.Fprintln(in,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"bench","version":"1"}}}`)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	took := time.Since(began)
	var answer struct{ Result json.RawMessage }
	if err == nil && (json.Unmarshal(line, &answer) != nil || answer.Result == nil) {
		err = fmt.Errorf("initialize is answered %q", line)
	}
	in.Close()
	io.Copy(io.Discard, out)
	return took, errors.Join(err, cmd.Wait())
}

// readAndHash reads the files named, and all below the directories among them, in a tight
// loop on all processors, and computes the SHA-256 of each.
func readAndHash(places []string) (time.Duration, error) {
	began := time.Now()
	var files []string
	for _, place := range places {
		err := filepath.WalkDir(place, func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	next := make(chan string, len(files))
	for _, name := range files {
		next <- name
	}
	close(next)
	var all sync.WaitGroup
	failed := make(chan error, len(files))
	for range runtime.NumCPU() {
		all.Go(func() {
			buf := make([]byte, 256<<10)
			for name := range next {
				f, err := os.Open(name)
				if err == nil {
					_, err = io.CopyBuffer(struct{ io.Writer }{sha256.New()}, struct{ io.Reader }{f}, buf)
					f.Close()
				}
				if err != nil {
					failed <- err
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return time.Since(began), <-failed
}

// publish serves a package with a closure of many files, until the function that it
// returns is called.
func (b *starts) publish(count, bytes int) (stop func(), err error) {
	const server = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const hello = { name: 'hello', description: 'Say hello.', inputSchema: { type: 'object' } };
  const serverInfo = { name: 'large', version: '1' };
  const result = method === 'tools/list' ? { tools: [hello] }
    : method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } : {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
`
	files := map[string]string{"server.js": server}
	line := strings.Repeat("module.exports = 'a line of ordinary length';\n", 4)
	for i := range count {
		files[fmt.Sprintf("lib/%02d/m%d.js", i%50, i)] = fmt.Sprintf("// %d\n", i) +
			strings.Repeat(line, bytes/count/len(line))
	}
	r, err := npmtest.New()
	if err != nil {
		return nil, err
	}
	authority := filepath.Join(b.dir, "authority.pem")
	b.environ = r.Environ(authority)
	return r.Close, errors.Join(os.WriteFile(authority, r.Authority(), 0o600),
		r.Publish(npmtest.Package{Name: "large", Version: "1.0.0", Manifest: map[string]any{"bin": "server.js"},
			Files: files}))
}
