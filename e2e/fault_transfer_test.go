//go:build unix

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// noise is text of n bytes that does not compress.
func noise(n int) string {
	data := make([]byte, n/2)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(data)
	return hex.EncodeToString(data)
}

const script = `const list = { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] };
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const result = m.method === 'initialize' ? { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'n', version: '1' } }
    : m.method === 'tools/list' ? list : { content: [{ type: 'text', text: 'hello' }] };
  console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }));
});
`

// publish puts the package notes@1.0.0, of about a size in bytes, into the registry, and
// writes a server.json that names it. The result is its digest.
func (s *stage) publish(t *testing.T, size int) (digest string) {
	t.Helper()
	err := s.NPM.Publish(npmtest.Package{
		Name: "notes", Version: "1.0.0", Manifest: map[string]any{"bin": "index.js"},
		Files: map[string]string{"index.js": script, "noise": noise(size)},
	})
	if err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(s.Project, "server.json"), `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.acme/notes", "description": "Notes", "version": "1.0.0",
  "packages": [{"registryType": "npm", "identifier": "notes", "version": "1.0.0", "transport": {"type": "stdio"}}]
}
`)
	world.Write(t, filepath.Join(s.Project, "hallmark.toml"),
		"manifest_version = 1\n[providers.mcp.notes]\ncommand = \"npx\"\narguments = [\"notes@1.0.0\"]\n")
	sum := sha256.Sum256(s.NPM.Tarball("notes", "1.0.0"))
	return "sha256:" + hex.EncodeToString(sum[:])
}

var (
	tarball  = npmtest.TarballPath("notes", "1.0.0")
	document = npmtest.VersionPath("notes", "1.0.0")
)

func testTransfers(t *testing.T, first *stage) {
	var all sync.WaitGroup // most of them wait most of the time: more at once than t.Parallel allows
	for _, tt := range []struct {
		name  string
		path  string
		times int
		fault npmtest.Fault
		code  int
		text  string // in the message of a failure
		asked int    // requests for the path; 0: not looked at
		least time.Duration
		parts bool // what is missing is asked for; otherwise all is, every time
	}{
		{name: "reset once", times: 1, fault: npmtest.Reset(100_000, false), asked: 2},
		// How much of a part arrives before its connection is reset is not certain, so the
		// third reply has all that is left.
		{name: "reset twice, resumed", times: 2, fault: npmtest.Reset(200_000, true), asked: 3, parts: true},
		{name: "reset again and again", times: npmtest.Always, fault: npmtest.Reset(100_000, false), code: 1,
			text: "broke off after", asked: 5},
		{name: "too short once", times: 1, fault: npmtest.TooLong(10), asked: 2},
		{name: "too short always", times: npmtest.Always, fault: npmtest.TooLong(10), code: 1, text: "broke off after",
			asked: 5},
		{name: "429 with Retry-After", times: 1, fault: npmtest.Status(http.StatusTooManyRequests, 2), asked: 2,
			least: 2 * time.Second},
		{name: "429 always", times: npmtest.Always, fault: npmtest.Status(http.StatusTooManyRequests, 1), code: 1,
			text: "429", asked: 5, least: 4 * time.Second},
		{name: "500 twice", times: 2, fault: npmtest.Status(http.StatusInternalServerError, -1), asked: 3},
		{name: "503 for the document", path: document, times: 1,
			fault: npmtest.Status(http.StatusServiceUnavailable, 1), asked: 2, least: time.Second},
		{name: "404", times: npmtest.Always, fault: npmtest.Status(http.StatusNotFound, -1), code: 1, text: "not found",
			asked: 1},
		{name: "403", times: npmtest.Always, fault: npmtest.Status(http.StatusForbidden, -1), code: 1, text: "403",
			asked: 1},
		{name: "redirect loop", times: npmtest.Always, fault: npmtest.Redirect(tarball), code: 1, text: "redirect loop",
			asked: 1},
		{name: "redirect to http", times: npmtest.Always, fault: npmtest.Redirect("http://127.0.0.1:1" + tarball),
			code: 1, text: "plain http is refused", asked: 1},
		{name: "redirect of the document to http", path: document, times: npmtest.Always,
			fault: npmtest.Redirect("http://127.0.0.1:1/"), code: 1, text: "plain http is refused", asked: 1},
		{name: "slow", times: npmtest.Always, fault: npmtest.Slow(200_000, 100*time.Millisecond), asked: 1},
		{name: "other bytes", times: npmtest.Always, fault: npmtest.Body([]byte("other")), code: 3,
			text: "sha512 mismatch", asked: 1},
		{name: "no document", path: document, times: npmtest.Always, fault: npmtest.Body([]byte("<html>")), code: 1,
			text: "not a version's document", asked: 1},
	} {
		all.Go(func() {
			t.Run(tt.name, func(t *testing.T) {
				s := newStage(t, first.Bin)
				digest := s.publish(t, 1_000_000)
				path := tt.path
				if path == "" {
					path = tarball
				}
				s.NPM.Break(path, tt.times, tt.fault)
				before := files(t, s.Project)
				start := time.Now()
				out, errs := s.Run(t, tt.code, "hallmark", "hash-gen", "--write")
				if d := time.Since(start); d < tt.least {
					t.Errorf("it did not wait: %v, want %v at least", d, tt.least)
				}
				if out != "" {
					t.Errorf("stdout: %q", out)
				}
				if got := s.NPM.Requests(path); tt.asked > 0 && got != tt.asked {
					t.Errorf("%d requests for %s, want %d", got, path, tt.asked)
				}
				if got := s.NPM.Ranged(path); (got > 0) != tt.parts {
					t.Errorf("%d requests for a part of %s", got, path)
				}
				empty(t, s.Tmp)
				if tt.code != 0 {
					if !strings.HasPrefix(errs, "hallmark: npm:notes@1.0.0: ") || !strings.Contains(errs, tt.text) {
						t.Errorf("the message does not name the package and %q:\n%s", tt.text, errs)
					}
					same(t, before, files(t, s.Project))
					return
				}
				data, err := os.ReadFile(filepath.Join(s.Project, "server.json"))
				if err != nil || !bytes.Contains(data, []byte(digest)) {
					t.Errorf("no %s in %s: %v", digest, data, err)
				}
			})
		})
	}
	all.Wait()
}

// testPinTransfer breaks the download of a pin: no lock, and an empty staging place.
func testPinTransfer(t *testing.T, s *stage) {
	s.publish(t, 1_000_000)
	before := files(t, s.Project)
	staging := filepath.Join(s.Home, "cache", "store", "staging")
	for _, tt := range []struct {
		fault npmtest.Fault
		code  int
		text  string
	}{
		{npmtest.Status(http.StatusForbidden, -1), 1, "npm:notes@1.0.0: sha512 cannot be verified: unreachable"},
		{npmtest.Redirect("http://127.0.0.1:1/"), 1, "plain http is refused"},
		{npmtest.Body([]byte("other")), 3, "npm:notes@1.0.0: sha512 mismatch"},
	} {
		s.NPM.Break(tarball, npmtest.Always, tt.fault)
		if _, errs := s.Run(t, tt.code, "hallmark", "pin", "--yes"); !strings.Contains(errs, tt.text) {
			t.Errorf("no %q in:\n%s", tt.text, errs)
		}
		same(t, before, files(t, s.Project))
		empty(t, staging)
		empty(t, s.Tmp)
	}
	s.NPM.Break(tarball, 0, nil)
	s.Run(t, 0, "hallmark", "pin", "--yes")
	s.Run(t, 0, "client", "-call", "hello", "hallmark", "run", "notes")
	empty(t, staging)
	empty(t, s.Tmp)
}

// testReplaced puts other bytes under a version between two fetches.
func testReplaced(t *testing.T, s *stage) {
	old := s.publish(t, 1000)
	s.Run(t, 0, "hallmark", "hash-gen", "--write")
	s.Run(t, 0, "hallmark", "pin", "--yes")
	if now := s.publish(t, 2000); now == old {
		t.Fatal("the bytes are the same")
	}
	doc := filepath.Join(s.Project, "server.json")
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	world.Write(t, doc,
		strings.Replace(string(data), "\n}", ",\n  \"file_hashes\": {\"npm:notes@1.0.0\": \""+old+"\"}\n}", 1))
	before := files(t, s.Project)
	for _, args := range [][]string{{"verify"}, {"publish", "--registry", "http://127.0.0.1:1"}, {"pin", "--yes"}} {
		_, errs := s.Run(t, 3, "hallmark", args...)
		if !strings.HasPrefix(errs, "hallmark: npm:notes@1.0.0: sha256 mismatch\n  expected "+old) {
			t.Errorf("%s:\n%s", args, errs)
		}
	}
	s.Env = append(s.Env, "HALLMARK_HOME="+filepath.Join(s.Dir, "other"))
	out, errs := s.Run(t, 3, "hallmark", "run", "--trust-lock", "notes")
	if out != "" || !strings.Contains(errs, "npm:notes@1.0.0: sha512 mismatch") {
		t.Errorf("run: %s%s", out, errs)
	}
	same(t, before, files(t, s.Project))
}

// testDiskFull fills the disks one after the other.
func testDiskFull(t *testing.T, s *stage) {
	s.publish(t, 3<<20)
	small := filepath.Join(s.Dir, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, small, "size=1m")
	full := func(t *testing.T, s *stage, args ...string) {
		t.Helper()
		before := files(t, s.Project)
		if _, errs := s.Run(t, 1, "hallmark", args...); !strings.Contains(errs, "no space left on device") {
			t.Errorf("%s:\n%s", args, errs)
		}
		same(t, before, files(t, s.Project))
	}
	env := s.Env
	t.Run("downloads", func(t *testing.T) {
		s.Env = append(slices.Clone(env), "TMPDIR="+small)
		full(t, s, "hash-gen", "--write")
		empty(t, small)
	})
	t.Run("store", func(t *testing.T) {
		s.Env = append(slices.Clone(env), "HALLMARK_HOME="+small)
		full(t, s, "pin", "--yes")
		empty(t, filepath.Join(small, "cache", "store", "staging"))
		for path := range files(t, small) {
			// What npm fetched stays in a cache of its own, and is compared whenever it is used.
			if !strings.HasSuffix(path, "writer") && !strings.HasSuffix(path, "files") &&
				!strings.HasPrefix(path, filepath.Join(small, "cache", "npm")+"/") {
				t.Errorf("%s is left", path)
			}
		}
		s.Env = env
		s.Run(t, 0, "hallmark", "pin", "--yes")
	})
	t.Run("project", func(t *testing.T) {
		p := *s
		p.Project = filepath.Join(small, "project")
		p.puppet(t)
		p.Run(t, 0, "hallmark", "pin", "--yes")
		p.show(t, "two")
		world.Write(t, filepath.Join(small, "ballast"), noise(64)) // there is room for a name
		fill(t, filepath.Join(small, "ballast"))
		full(t, &p, "pin", "--yes")
		if err := os.Remove(filepath.Join(small, "ballast")); err != nil {
			t.Fatal(err)
		}
		p.Run(t, 3, "hallmark", "check") // of the new version, with the old lock
		p.show(t, "one")
		p.Run(t, 0, "hallmark", "check")
		p.show(t, "two")
		p.Run(t, 0, "hallmark", "pin", "--yes")
		p.Run(t, 0, "hallmark", "check")
	})
}

// fill writes to a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}
