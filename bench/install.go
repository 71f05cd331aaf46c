package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing/fstest"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Sizes of a facet of P4: eight files, as skills with a few references have them.
const (
	facetFiles = 6       // beside facet.json and SKILL.md
	facetBytes = 120_000 // of all files of one
)

// machine is a home and a project in a temporary directory, and the program.
type machine struct {
	dir, home, project, hallmark string
}

func newMachine() (*machine, error) {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	m := &machine{dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"),
		hallmark: filepath.Join(dir, "hallmark")}
	if err := os.Mkdir(m.project, 0o755); err != nil {
		return nil, err
	}
	return m, built.Write(m.hallmark, "cmd/hallmark")
}

// buildAll makes programs of packages below the module.
func buildAll(packages map[string]string) error {
	for program, from := range packages {
		if err := built.Write(program, from); err != nil {
			return err
		}
	}
	return nil
}

// remove makes what is read-only writable first.
func (m *machine) remove() {
	filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(m.dir)
}

// timed runs a program in the project, and returns the seconds that it took.
func (m *machine) timed(ctx context.Context, stdin string, argv ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = m.project,
		append(os.Environ(), "HALLMARK_HOME="+m.home, "HALLMARK_ALLOW_HOSTS=127.0.0.1:*"), strings.NewReader(stdin)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out[max(0, len(out)-2000):])
	}
	return time.Since(began).Seconds(), nil
}

// benchInstall measures P4: a frozen install of facets that are locked, stored and
// installed, against reading and hashing once each file that it has to look at: the slots
// of the store and the files in the project. It counts what the registry is asked.
func benchInstall(ctx context.Context, o options, t *table) error {
	m, err := newMachine()
	if err != nil {
		return err
	}
	defer m.remove()
	rehash, registry := filepath.Join(m.dir, "rehash"), filepath.Join(m.dir, "hallmark-registry")
	if err := buildAll(map[string]string{rehash: "bench/rehash", registry: "cmd/hallmark-registry"}); err != nil {
		return err
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	server, err := launch(ctx, m.dir, "registry", addr, "/v0/servers?limit=1", nil,
		registry, "serve", "--addr", addr, "--data", filepath.Join(m.dir, "data"), "--allow-anonymous")
	if err != nil {
		return err
	}
	defer server.stop()
	var requests atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	if err := m.facets(ctx, front.URL, o.facets); err != nil {
		return err
	}
	cold, err := m.timed(ctx, "", m.hallmark, "install")
	if err != nil {
		return err
	}
	asked := requests.Swap(0)
	var store, all []string
	for into, dirs := range map[*[]string][]string{
		&store: {filepath.Join(m.home, "cache", "store", "sha256")},
		&all:   {filepath.Join(m.home, "cache", "store", "sha256"), filepath.Join(m.project, "tools")},
	} {
		for _, dir := range dirs {
			if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					*into = append(*into, path)
				}
				return err
			}); err != nil {
				return err
			}
		}
	}
	var ours, reference, slots []float64
	for range o.rounds {
		for _, side := range []struct {
			into  *[]float64
			stdin []string
			argv  []string
		}{
			{&ours, nil, []string{m.hallmark, "install", "--frozen"}},
			{&reference, all, []string{rehash}},
			{&slots, store, []string{rehash}},
		} {
			seconds, err := m.timed(ctx, strings.Join(side.stdin, "\n"), side.argv...)
			if err != nil {
				return err
			}
			*side.into = append(*side.into, seconds)
		}
	}
	if n := requests.Load(); n != 0 {
		return fmt.Errorf("P4: %d warm installs sent %d requests", o.rounds, n)
	}
	a, b := median(ours), median(reference)
	t.add(fmt.Sprintf("P4 install --frozen, %d facets, %d files", o.facets, len(all)),
		fmt.Sprintf("%.0f ms, 0 requests", a*1000),
		fmt.Sprintf("%.0f ms read and hashed", b*1000), fmt.Sprintf("%.2f×", a/b), "≤ 1.3×")
	t.add("P4 against the store's files alone", fmt.Sprintf("%.0f ms", a*1000),
		fmt.Sprintf("%.0f ms read and hashed", median(slots)*1000), fmt.Sprintf("%.2f×", a/median(slots)), "–")
	t.add("P4 the first install, cold", fmt.Sprintf("%.0f ms, %d requests", cold*1000, asked), "–", "–", "–")
	return nil
}

// facets publishes the facets of P4 and declares them.
func (m *machine) facets(ctx context.Context, base string, count int) error {
	sender := &client.Client{Base: base}
	about, err := sender.About(ctx)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(
		"manifest_version = 1\n[registry]\nurl = %q\nlog_key = %q\n[adapters]\ntargets = [\"dir:tools\"]\n[facets]\n",
		base, about.LogKey)
	r := mathrand.New(mathrand.NewPCG(4, uint64(count)))
	for i := range count {
		name := fmt.Sprintf("facet-%d", i)
		files := fstest.MapFS{}
		var listed []string
		put := func(path, content string) { files[path] = &fstest.MapFile{Data: []byte(content)} }
		put("skills/"+name+"/SKILL.md", prose(r, facetBytes/8))
		for j := range facetFiles {
			file := fmt.Sprintf("reference-%d.md", j)
			listed = append(listed, file)
			put("skills/"+name+"/"+file, prose(r, facetBytes/8))
		}
		manifest, err := json.Marshal(
			map[string]any{"name": name, "version": "1.0.0",
				"skills": map[string]any{name: map[string]any{"description": "Does something.", "files": listed}}})
		if err != nil {
			return err
		}
		put(facet.ManifestFile, string(manifest))
		list, err := tree.Walk(files, tree.Limits{})
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		if _, err := facet.Pack(ctx, &packed, list, tree.OpenFS(files), archive.Limits{}); err != nil {
			return err
		}
		if _, err := sender.PublishArchive(ctx, string(ledger.Facet), name,
			client.Upload{Body: &packed, Size: int64(packed.Len())}); err != nil {
			return err
		}
		config += fmt.Sprintf("%s = \"1.*\"\n", name)
	}
	return os.WriteFile(filepath.Join(m.project, project.ConfigFile), []byte(config), 0o644)
}

// prose is text of about n bytes.
func prose(r *mathrand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(pick(r, words))
		b.WriteByte(" \n"[r.IntN(10)/9])
	}
	return b.String()
}
