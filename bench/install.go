package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Sizes of P4: facets of eight files, as skills with a few references have them.
const (
	facetCount = 200
	facetFiles = 6       // beside facet.json and SKILL.md
	facetBytes = 120_000 // of all files of one
)

// machine is a home and a project in a temporary directory, and the program.
type machine struct {
	dir, home, project, hallmark, registry string
}

func newMachine(ctx context.Context) (*machine, error) {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	m := &machine{dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"),
		hallmark: filepath.Join(dir, "hallmark"), registry: filepath.Join(dir, "hallmark-registry")}
	if err := os.Mkdir(m.project, 0o755); err != nil {
		return nil, err
	}
	if err := m.build(ctx, m.registry, "./cmd/hallmark-registry"); err != nil {
		return nil, err
	}
	return m, m.build(ctx, m.hallmark, "./cmd/hallmark")
}

func (m *machine) build(ctx context.Context, to, command string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, command)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
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
	if !o.wants("P4") {
		return nil
	}
	m, err := newMachine(ctx)
	if err != nil {
		return err
	}
	defer m.remove()
	rehash := filepath.Join(m.dir, "rehash")
	if err := m.build(ctx, rehash, "./bench/rehash"); err != nil {
		return err
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	server, err := launch(ctx, m.dir, "registry", addr, "/v0/servers?limit=1", nil,
		m.registry, "serve", "--addr", addr, "--data", filepath.Join(m.dir, "data"), "--allow-anonymous")
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
	if err := m.facets(ctx, front.URL); err != nil {
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
	t.add(fmt.Sprintf("P4 install --frozen, %d facets, %d files", facetCount, len(all)),
		fmt.Sprintf("%.0f ms, 0 requests", a*1000),
		fmt.Sprintf("%.0f ms read and hashed", b*1000), fmt.Sprintf("%.2f×", a/b), "≤ 1.3×")
	t.add("P4 against the store's files alone", fmt.Sprintf("%.0f ms", a*1000),
		fmt.Sprintf("%.0f ms read and hashed", median(slots)*1000), fmt.Sprintf("%.2f×", a/median(slots)), "–")
	t.add("P4 the first install, cold", fmt.Sprintf("%.0f ms, %d requests", cold*1000, asked), "–", "–", "–")
	return nil
}

// facets publishes the facets of P4 and declares them.
func (m *machine) facets(ctx context.Context, base string) error {
	sender := &client.Client{Base: base}
	about, err := sender.About(ctx)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(
		"manifest_version = 1\n[registry]\nurl = %q\nlog_key = %q\n[adapters]\ntargets = [\"dir:tools\"]\n[facets]\n",
		base, about.LogKey)
	r := mathrand.New(mathrand.NewPCG(4, facetCount))
	for i := range facetCount {
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

// benchCheck measures P10: check --offline of locks of images, whose records are proven
// and whose surfaces lie beside the lock. In the worst case each proof ends with another
// checkpoint, whose signature counts; in the usual one many were made together.
func benchCheck(ctx context.Context, o options, t *table) error {
	if !o.wants("P10") {
		return nil
	}
	m, err := newMachine(ctx)
	if err != nil {
		return err
	}
	defer m.remove()
	for _, c := range []struct {
		name  string
		heads int // entries with one checkpoint
	}{{"a checkpoint for ten entries", 10}, {"a checkpoint for each", 1}} {
		sizes := []int{0, 1000, 4000}
		seconds := map[int]float64{}
		for _, n := range sizes {
			if err := m.locked(n, c.heads); err != nil {
				return err
			}
			var all []float64
			for range o.rounds {
				s, err := m.timed(ctx, "", m.hallmark, "check", "--offline")
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			seconds[n] = median(all)
		}
		us := func(n int) float64 { return (seconds[n] - seconds[0]) / float64(n) * 1e6 }
		t.add("P10 check --offline, 1,000 entries, "+c.name,
			fmt.Sprintf("%.0f ms, %.0f µs an entry", seconds[1000]*1000, us(1000)),
			fmt.Sprintf("4,000 entries: %.0f µs an entry", us(4000)), fmt.Sprintf("%.2f×", us(4000)/us(1000)),
			"≤ 50 µs, linear")
	}
	return nil
}

// locked writes a project with n images, in a log in which each checkpoint is that of
// heads entries.
func (m *machine) locked(n, heads int) error {
	if err := os.RemoveAll(m.home); err != nil {
		return err
	}
	if err := os.RemoveAll(m.project); err != nil {
		return err
	}
	at := sha256.Sum256([]byte(m.project))
	state := filepath.Join(m.home, "state", "projects", hex.EncodeToString(at[:8]))
	for _, dir := range []string{filepath.Join(m.project, project.SurfacesDir), state} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	secret, _, err := ledger.GenerateKey(rand.Reader, "log.example.com")
	if err != nil {
		return err
	}
	signer, err := ledger.ParseKey(secret)
	if err != nil {
		return err
	}
	var (
		lock    project.Lock
		hashes  memory
		waiting []project.ServerLock
		shown   []*surface.Surface
		proofs  []ledger.Proof
		config  = fmt.Sprintf(
			"manifest_version = 1\n[registry]\nurl = \"https://registry.example.com\"\nlog_key = %q\n",
			signer.VerifierKey)
		approvals = *project.NewApprovals(m.project)
		now       = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	)
	for i := range int64(n) {
		name, record := fmt.Sprintf("s%d", i), fmt.Sprintf("io.github.acme%d/notes", i)
		document := digest.FromBytes([]byte(record))
		leaf, err := ledger.Leaf{Kind: ledger.Server, Name: record, Version: "1.0.0", Document: document,
			Publisher: "github:acme", At: now}.Marshal()
		if err != nil {
			return err
		}
		more, err := tlog.StoredHashes(i, leaf, &hashes)
		if err != nil {
			return err
		}
		hashes = append(hashes, more...)
		s, err := surfaceOf(i)
		if err != nil {
			return err
		}
		image := "oci:images.example.com/acme/notes-" + fmt.Sprint(i) + "@" + document.String()
		ref, err := artifact.Parse(image)
		if err != nil {
			return err
		}
		config += fmt.Sprintf("[providers.mcp.%s]\nserver = %q\n", name, record+"@1.0.0")
		waiting = append(waiting, project.ServerLock{
			Source: "image", Ref: ref.String(), Digest: document,
			Artifacts: map[string]digest.Digest{ref.String(): document},
			Arguments: []string{}, Variables: []string{}, ApprovedAt: now,
			Record: &project.RecordLock{Registry: "registry.example.com", Name: record, Version: "1.0.0",
				Document: document},
		})
		shown, proofs = append(shown, s), append(proofs, ledger.Proof{Leaf: leaf, Index: i})
		if err := os.WriteFile(filepath.Join(m.project, project.SurfacesDir, name+".json"), s.FormatIndented(),
			0o644); err != nil {
			return err
		}
		if int(i+1)%heads != 0 && i+1 != int64(n) {
			continue
		}
		root, err := tlog.TreeHash(i+1, &hashes)
		if err != nil {
			return err
		}
		head, err := ledger.Checkpoint{Origin: signer.Name(), Size: i + 1, Root: root}.Sign(signer)
		if err != nil {
			return err
		}
		for j := int(i) + 1 - len(proofs); len(proofs) > 0; j++ {
			p := proofs[0]
			if p.Hashes, err = tlog.ProveRecord(i+1, p.Index, &hashes); err != nil {
				return err
			}
			p.Checkpoint = head
			waiting[j].Record.Proof = string(p.Marshal())
			proofs = proofs[1:]
		}
	}
	declared, err := project.ParseConfig([]byte(config))
	if err != nil {
		return err
	}
	for i, entry := range waiting {
		name := fmt.Sprintf("s%d", i)
		entry.Launch = declared.Servers[name].Launch()
		seen := func(subject string, scheme evidence.Scheme, d digest.Digest) evidence.Evidence {
			return evidence.Compare(evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Lock},
				evidence.Observed{Digests: []digest.Digest{d}})
		}
		report := evidence.Report{
			seen(entry.Ref, evidence.File, entry.Digest),
			seen(project.SurfaceSubject(name), evidence.Surface, shown[i].Digest()),
			seen(entry.Record.Subject(), evidence.File, entry.Record.Document),
			seen(entry.Record.ProofSubject(), evidence.File, entry.Record.ProofDigest()),
		}
		adm := policy.Judge(policy.Pin, policy.Settings{}, report).Admitted()
		if err := lock.Add(adm, name, entry, shown[i]); err != nil {
			return err
		}
		kept, _ := lock.Server(name)
		approvals.Servers[name] = project.Approval{Entry: kept.Approvable(), Path: "/usr/bin", At: now}
	}
	text, err := lock.Encode()
	if err != nil {
		return err
	}
	approved, err := approvals.Encode()
	if err != nil {
		return err
	}
	for path, data := range map[string][]byte{
		filepath.Join(m.project, project.ConfigFile): []byte(config),
		filepath.Join(m.project, project.LockFile):   text,
		filepath.Join(state, "approvals.json"):       approved,
	} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// surfaceOf is that of a server with five tools.
func surfaceOf(i int64) (*surface.Surface, error) {
	var l surface.Listing
	for n := range 5 {
		l.Tools = append(l.Tools,
			fmt.Appendf(nil, `{"name":"tool-%d","description":"Does what tool %d of server %d does, and nothing else.",
			"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to look for."},"limit":{"type":"integer","minimum":1}},"required":["query"]}}`, n, n, i))
	}
	return surface.New(l)
}
