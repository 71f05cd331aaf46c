package hallmark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// facetWorld is a project beside a registry whose answers can be changed on their way.
type facetWorld struct {
	*facetProject
	registry *loggedRegistry
	requests atomic.Int64
	archive  []byte // of kit@1.0.0
}

func newFacetWorld(t *testing.T) *facetWorld {
	t.Helper()
	r := newLoggedRegistry(t, "")
	w := &facetWorld{registry: r}
	w.facetProject = newFacetProject(t,
		fmt.Sprintf("[registry]\nurl = %q\nlog_key = %q\n[facets]\nkit = \"1.*\"\n[adapters]\n"+
			"targets = [\"dir:tools\"]\n", r.URL, r.Key))
	w.archive = w.publish("1.0.0", "First.\n")
	w.wire(nil)
	return w
}

// wire counts requests, and changes answers if change is not nil.
func (w *facetWorld) wire(change func(path string, body []byte) []byte) {
	f := func(path string, body []byte) []byte {
		w.requests.Add(1)
		if change != nil {
			return change(path, body)
		}
		return body
	}
	w.registry.wire.Store(&f)
}

// publish packs and publishes a version of the facet kit, and returns its archive.
func (w *facetWorld) publish(version, text string) []byte {
	w.t.Helper()
	data := packed(w.t, map[string]string{
		"facet.json": `{"name":"kit","version":"` + version +
			`","skills":{"greet":{"description":"Greets."}}}`,
		"skills/greet/SKILL.md": text,
	})
	sender := &client.Client{Base: w.registry.URL}
	if _, err := sender.PublishArchive(context.Background(), "facet", "kit",
		client.Upload{Body: bytes.NewReader(data), Size: int64(len(data))}); err != nil {
		w.t.Fatal(err)
	}
	return data
}

// unreachable moves the registry to where nobody listens.
func (w *facetWorld) unreachable() {
	w.write(project.ConfigFile, strings.Replace(w.read(project.ConfigFile), w.registry.URL, "http://127.0.0.1:1", 1))
}

func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	dir := t.TempDir()
	var list []tree.File
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, tree.File{Path: path, Size: int64(len(content))})
	}
	var out bytes.Buffer
	if _, err := facet.Pack(t.Context(), &out, list, tree.OpenFS(os.DirFS(dir)), archive.Limits{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// emptyStore makes the store cold.
func (p *facetProject) emptyStore() {
	p.t.Helper()
	root := filepath.Join(p.host.Places.Cache, "store")
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(root); err != nil {
		p.t.Fatal(err)
	}
}

// slotFile is the path of a file in the only slot.
func (p *facetProject) slotFile(name string) string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.host.Places.Cache, "store", "sha256", "*", "*", name))
	if err != nil || len(found) != 1 {
		p.t.Fatalf("%d slots have %s: %v", len(found), name, err)
	}
	return found[0]
}

// overwrite changes a read-only file of the store.
func (p *facetProject) overwrite(path string, change func([]byte) []byte) {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	os.Chmod(path, 0o600)
	if err := os.WriteFile(path, change(bytes.Clone(data)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func flipped(data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

// isArchive, isLog, isRecord and isVersions tell the registry's answers apart.
func isArchive(path string) bool { return strings.HasSuffix(path, "/archive") }

func isLog(path string) bool { return strings.HasSuffix(path, "/log") }

func isVersions(path string) bool { return strings.HasSuffix(path, "/versions") }

func isRecord(path string) bool {
	return strings.Contains(path, "/facets/") && !isArchive(path) && !isLog(path) && !isVersions(path)
}

// record changes members of a record.
func changeRecord(t *testing.T, members map[string]any) func(string, []byte) []byte {
	return func(path string, body []byte) []byte {
		if !isRecord(path) {
			return body
		}
		var rec map[string]any
		if err := json.Unmarshal(body, &rec); err != nil {
			t.Errorf("%s: %v", path, err)
			return body
		}
		for name, value := range members {
			if value == nil {
				delete(rec, name)
			} else {
				rec[name] = value
			}
		}
		out, _ := json.Marshal(rec)
		return out
	}
}

var otherSum = digest.FromBytes([]byte("other")).String()

// The rows of source 001, "When It Is Applied".
func TestWhenItIsApplied(t *testing.T) {
	t.Run("Publish time", func(t *testing.T) {
		w := newFacetWorld(t)
		rec, err := (&client.Client{Base: w.registry.URL}).ArchiveRecord(t.Context(), "facet", "kit", "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		a, err := facet.Read(bytes.NewReader(w.archive), archive.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !evidence.Same(rec.ContentIntegrity, a.Integrity) ||
			!evidence.Same(rec.ContentHash, digest.FromBytes(w.archive)) {
			t.Errorf("%+v", rec)
		}
	})
	t.Run("Download", testDownload)
	t.Run("Post-extract recompute", testPostExtract)
	t.Run("Cache write", func(t *testing.T) {
		w := newFacetWorld(t)
		w.must(w.install(facets.Options{}))
		entry := w.entry("kit")
		var sidecar struct {
			Integrity   string `json:"integrity"`
			ContentHash string `json:"content_hash"`
			Files       map[string]struct {
				SHA256 string `json:"sha256"`
			} `json:"files"`
		}
		data, err := os.ReadFile(w.slotFile("sidecar.json"))
		if err != nil || json.Unmarshal(data, &sidecar) != nil {
			t.Fatal(err)
		}
		if sidecar.Integrity != entry.Integrity.String() ||
			sidecar.ContentHash != digest.FromBytes(w.archive).String() || len(sidecar.Files) != len(entry.Assets) {
			t.Errorf("%s", data)
		}
		for path, d := range entry.Assets {
			if sidecar.Files[path].SHA256 != d.String() {
				t.Errorf("%s: %s", path, sidecar.Files[path].SHA256)
			}
		}
	})
	t.Run("Cache hit", testCacheHit)
	t.Run("Lockfile comparison", testLockfileComparison)
	t.Run("Integrity confirmation", testConfirmation)
	t.Run("Lockfile", func(t *testing.T) {
		w := newFacetWorld(t)
		w.must(w.install(facets.Options{}))
		entry := w.entry("kit")
		a, err := facet.Read(bytes.NewReader(w.archive), archive.Limits{}, nil)
		if err != nil || !evidence.Same(entry.Integrity, a.Integrity) ||
			!evidence.Same(project.AssetsDigest(entry.Assets), project.AssetsDigest(a.Digests)) {
			t.Errorf("%v: %+v", err, entry)
		}
		if !strings.HasPrefix(entry.Proof, "c2sp.org/tlog-proof@v1\n") {
			t.Errorf("proof %q", entry.Proof)
		}
		if lock := w.read(project.LockFile); strings.Contains(lock, digest.FromBytes(w.archive).Hex()) ||
			strings.Contains(lock, "content_hash") {
			t.Error("the lock has the transport hash")
		}
	})
}

// The rows of source 001, "Verification Summary". OCI install is TestImages of package e2e.
func TestVerificationSummary(t *testing.T) {
	t.Run("Download", testDownload)
	t.Run("Post-extract", testPostExtract)
	t.Run("Cache hit", testCacheHit)
	t.Run("Lockfile comparison", testLockfileComparison)
	t.Run("Integrity confirmation", testConfirmation)
	t.Run("Git install", testGitInstall)
	t.Run("Frozen install", testFrozenInstall)
	t.Run("Upgrade", testUpgrade)
}

// nothingWritten is that a refused first install left nothing behind: neither a lock nor
// files, nor anything in the store.
func (w *facetWorld) nothingWritten(name string) {
	w.t.Helper()
	for _, file := range []string{project.LockFile, "tools"} {
		if _, err := os.Lstat(w.path(file)); err == nil {
			w.t.Errorf("%s: %s was written", name, file)
		}
	}
	cache, state := w.host.Places.Cache, w.host.Places.State
	for _, pattern := range []string{
		filepath.Join(cache, "store", "sha256", "*", "*"), filepath.Join(cache, "store", "staging", "*"),
		filepath.Join(state, "receipts", "*"),
		filepath.Join(state, "materialized", "*"), filepath.Join(state, "projects", "*", "journal"),
	} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			w.t.Errorf("%s: there is %q", name, found)
		}
	}
}

func (p *facetProject) entry(name string) project.FacetLock {
	p.t.Helper()
	lock, err := project.ParseLock([]byte(p.read(project.LockFile)))
	if err != nil {
		p.t.Fatal(err)
	}
	entry, ok := lock.Facet(name)
	if !ok {
		p.t.Fatalf("%s is not locked", name)
	}
	return entry
}

// splice is kit@1.0.0 with the build manifest of one text and the contents of another.
func splice(t *testing.T) []byte {
	t.Helper()
	const manifest = `{"name":"kit","version":"1.0.0","skills":{"greet":{"description":"Greets."}}}`
	honest := packed(t, map[string]string{"facet.json": manifest, "skills/greet/SKILL.md": "First.\n"})
	evil := packed(t, map[string]string{"facet.json": manifest, "skills/greet/SKILL.md": "Evil!!\n"})
	// Both build manifests have one size, and so one place.
	size, err := strconv.ParseInt(string(honest[124:135]), 8, 64)
	if err != nil || !bytes.Equal(honest[:512], evil[:512]) {
		t.Fatal("the build manifests differ in size", err)
	}
	head := 512 + size + tree.TarPadding(size)
	return append(bytes.Clone(honest[:head]), evil[head:]...)
}

func testLockfileComparison(t *testing.T) {
	// The registry serves other bytes under the version that is locked, with a record that
	// agrees with them: the lock is compared first.
	w := newFacetWorld(t)
	w.must(w.install(facets.Options{}))
	w.emptyStore()
	other := packed(t,
		map[string]string{"facet.json": `{"name":"kit","version":"1.0.0","skills":{"greet":{"description":"Greets."}}}`,
			"skills/greet/SKILL.md": "Other\n"})
	a, err := facet.Read(bytes.NewReader(other), archive.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.wire(func(path string, body []byte) []byte {
		if isArchive(path) {
			return other
		}
		return changeRecord(t,
			map[string]any{"content_integrity": a.Integrity.String(), "content_hash": a.ContentHash.String(),
				"size_bytes": a.Size})(path, body)
	})
	before := w.read(project.LockFile) + w.read("tools/skills/greet/SKILL.md")
	locked := w.entry("kit").Integrity.String()
	for _, o := range []facets.Options{{}, {Frozen: true}} {
		_, err = w.install(o)
		w.refused(evidence.Integrity, err, "kit@1.0.0: facet-tar mismatch", "claimed by hallmark.lock", locked,
			a.Integrity.String())
	}
	if w.read(project.LockFile)+w.read("tools/skills/greet/SKILL.md") != before {
		t.Error("something was written")
	}
}

// A lock that gives a facet the contents of another one, which the store has, is refused:
// what would be installed is not what is named.
func TestEntryOfAnotherFacet(t *testing.T) {
	w := newFacetWorld(t)
	w.put("tools",
		map[string]string{"facet.json": `{"name":"tools","version":"1.0.0","commands":{"go":{"description":"d"}}}`,
			"commands/go.md": "1"})
	w.want("kit = \"*\"\ntools = \"*\"\n")
	w.must(w.install(facets.Options{}))
	kit, tools := w.entry("kit"), w.entry("tools")
	kit.Integrity, kit.Assets, kit.Proof = tools.Integrity, tools.Assets, ""
	tools.Proof = ""
	var lock project.Lock
	for name, entry := range map[string]project.FacetLock{"kit": kit, "tools": tools} {
		subject := entry.Subject(name)
		adm := admitAll(evidence.Report{
			evidence.Compare(evidence.Claim{Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock},
				observed(entry.Integrity)),
			evidence.Compare(
				evidence.Claim{Subject: project.AssetsSubject(subject), Scheme: evidence.FacetTar,
					Authority: evidence.Lock}, observed(project.AssetsDigest(entry.Assets))),
		})
		if err := lock.AddFacet(adm, name, entry); err != nil {
			t.Fatal(err)
		}
	}
	data, err := lock.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.write(project.LockFile, string(data))
	_, err = w.install(facets.Options{Frozen: true, Offline: true})
	w.refused(evidence.Refused, err, "log proof of kit@1.0.0: proof missing")
	// Where no log is known, which the proofs would be owed of.
	w.write(project.ConfigFile, strings.Replace(w.read(project.ConfigFile), "log_key", "# log_key", 1))
	if err := os.Remove(filepath.Join(w.host.Places.State, "logs.json")); err != nil {
		t.Fatal(err)
	}
	_, err = w.install(facets.Options{Frozen: true, Offline: true})
	w.refused(evidence.Refused, err, "log proof of kit@1.0.0: proof missing", "owed     by this machine",
		"'hallmark forget kit'")
	// Nor anything accepted with a proof.
	if err := workspace.Forget(t.Context(), w.host, w.dir, []string{"kit", "tools"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.install(facets.Options{Frozen: true, Offline: true})
	w.refused(evidence.Integrity, err, "kit@1.0.0", "is that of tools@1.0.0")
}

// A version that is not active is not chosen for a requirement that others satisfy.
func TestNewestActive(t *testing.T) {
	for _, status := range []registry.Status{registry.Deprecated, registry.Deleted} {
		w := newFacetWorld(t)
		w.publish("1.1.0", "Second.\n")
		changed := 0
		w.wire(func(path string, body []byte) []byte {
			if !isVersions(path) {
				return body
			}
			var page map[string]any
			if err := json.Unmarshal(body, &page); err != nil {
				t.Error(err)
			}
			for _, list := range page {
				records, _ := list.([]any)
				for _, rec := range records {
					if m := rec.(map[string]any); m["version"] == "1.1.0" {
						m["status"] = status
						changed++
					}
				}
			}
			body, _ = json.Marshal(page)
			return body
		})
		w.must(w.install(facets.Options{}))
		if got := w.entry("kit").Version; got != "1.0.0" || changed == 0 {
			t.Errorf("%s: %s was chosen, %d changed", status, got, changed)
		}
	}
}

func testConfirmation(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *facetWorld)
		class  evidence.Class
		text   string
	}{
		"unreachable": {(*facetWorld).unreachable, evidence.Refused, "no confirmation"},
		"no version": {func(w *facetWorld) {
			w.write(project.ConfigFile, strings.Replace(w.read(project.ConfigFile), `"1.*"`, `"1.0.9"`, 1))
		}, evidence.Refused, "no confirmation"},
		"another content_integrity": {func(w *facetWorld) {
			w.wire(changeRecord(t, map[string]any{"content_integrity": otherSum}))
		}, evidence.Integrity, "facet-tar mismatch"},
		"no proof": {func(w *facetWorld) { w.wire(changeRecord(t, map[string]any{"proof": nil})) }, evidence.Integrity,
			"the registry has a log, and gave no proof"},
		"damaged proof": {func(w *facetWorld) {
			w.wire(changeRecord(t, map[string]any{"proof": "c2sp.org/tlog-proof@v1\n"}))
		}, evidence.Integrity, "proof"},
		"another manifest": {func(w *facetWorld) {
			w.wire(changeRecord(t, map[string]any{"manifest": map[string]any{"name": "kit", "version": "1.0.0"}}))
		}, evidence.Integrity, "document mismatch"},
		"deleted": {func(w *facetWorld) { w.wire(changeRecord(t, map[string]any{"status": "deleted"})) },
			evidence.Refused, "status mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFacetWorld(t)
			c.change(w)
			_, err := w.install(facets.Options{})
			w.refused(c.class, err, c.text)
			w.nothingWritten(name)
		})
	}
	// The store may have the contents already: the registry is asked all the same.
	w := newFacetWorld(t)
	w.must(w.install(facets.Options{}))
	if err := os.Remove(w.path(project.LockFile)); err != nil {
		t.Fatal(err)
	}
	_, err := w.install(facets.Options{})
	w.refused(evidence.Refused, err, "source missing", "hallmark forget kit") // this machine accepted it
	if err := workspace.Forget(t.Context(), w.host, w.dir, []string{"kit"}); err != nil {
		t.Fatal(err)
	}
	w.unreachable()
	_, err = w.install(facets.Options{})
	w.refused(evidence.Refused, err, "no confirmation")
	if w.read(project.LockFile) != "" {
		t.Error("locked without confirmation")
	}
}

func testDownload(t *testing.T) {
	// Bytes that were changed on their way are told by the transport hash, be they
	// readable or not; nothing is written.
	for name, change := range map[string]func([]byte) []byte{
		"one bit": flipped,
		"cut":     func(b []byte) []byte { return b[:len(b)-512] },
		"longer":  func(b []byte) []byte { return append(b, 0) },
		"repacked": func([]byte) []byte {
			return packed(t,
				map[string]string{
					"facet.json": `{"name":"kit","version":"1.0.0",` +
						`"skills":{"greet":{"description":"Greets."}}}`,
					"skills/greet/SKILL.md": "Evil.\n"})
		},
	} {
		w := newFacetWorld(t)
		w.wire(func(path string, body []byte) []byte {
			if isArchive(path) {
				return change(bytes.Clone(body))
			}
			return body
		})
		_, err := w.install(facets.Options{})
		w.refused(evidence.Integrity, err, "kit@1.0.0: sha256 mismatch", "content_hash",
			digest.FromBytes(w.archive).String())
		w.nothingWritten(name)
	}
}

func testPostExtract(t *testing.T) {
	// An archive whose manifest claims other contents than it has: the registry takes no
	// such, so that the record vouches for these bytes here.
	forged := splice(t)
	w := newFacetWorld(t)
	w.wire(func(path string, body []byte) []byte {
		if isArchive(path) {
			return forged
		}
		return changeRecord(t,
			map[string]any{"content_hash": digest.FromBytes(forged).String(), "size_bytes": len(forged)})(path, body)
	})
	_, err := w.install(facets.Options{})
	w.refused(evidence.Integrity, err, "facet-tar mismatch", "build-manifest.json", "content_integrity",
		"kit@1.0.0/skills/greet/SKILL.md: sha256 mismatch")
	w.nothingWritten("forged")
}

func testCacheHit(t *testing.T) {
	for _, file := range []string{"content/skills/greet/SKILL.md", "content/facet.json", "sidecar.json"} {
		w := newFacetWorld(t)
		w.must(w.install(facets.Options{}))
		w.overwrite(w.slotFile(file), flipped)
		w.requests.Store(0)
		out := w.must(w.install(facets.Options{}))
		if out.Facets[0].Outcome != "repaired" || w.requests.Load() == 0 {
			t.Errorf("%s: %+v after %d requests", file, out.Facets[0], w.requests.Load())
		}
		if kept, _ := filepath.Glob(filepath.Join(w.host.Places.Cache, "store", "quarantine", "*")); len(kept) != 1 {
			t.Errorf("%s: quarantine holds %q", file, kept)
		}
		w.requests.Store(0)
		if out = w.must(w.install(facets.Options{})); out.Facets[0].Outcome != "unchanged" || w.requests.Load() != 0 {
			t.Errorf("%s: %+v after %d requests", file, out.Facets[0], w.requests.Load())
		}
	}
}

// In a frozen install every facet reproduces its locked integrity, local ones included,
// and the lock covers hallmark.toml exactly; that is found out before any request.
func testFrozenInstall(t *testing.T) {
	w := newFacetWorld(t)
	w.kit("kit2", "1.0.0", "Local.\n")
	w.write("kit2/facet.json", strings.Replace(w.read("kit2/facet.json"), `"kit"`, `"kit2"`, 1))
	for _, skill := range []string{"greet"} { // names of its own
		w.write("kit2/facet.json", strings.ReplaceAll(w.read("kit2/facet.json"), skill, "local"))
		if err := os.Rename(w.path("kit2/skills/greet"), w.path("kit2/skills/local")); err != nil {
			t.Fatal(err)
		}
	}
	w.write(project.ConfigFile,
		strings.Replace(w.read(project.ConfigFile), "kit = \"1.*\"\n", "kit = \"1.*\"\nkit2 = { path = \"kit2\" }\n",
			1))
	w.must(w.install(facets.Options{}))
	w.requests.Store(0)
	w.must(w.install(facets.Options{Frozen: true}))
	if w.requests.Load() != 0 {
		t.Errorf("%d requests", w.requests.Load())
	}
	config, lock, files := w.read(project.ConfigFile), w.read(project.LockFile), w.read("tools/skills/local/SKILL.md")
	same := func(name string) {
		t.Helper()
		if w.read(project.LockFile) != lock || w.read("tools/skills/local/SKILL.md") != files {
			t.Errorf("%s: something was written", name)
		}
		if w.requests.Load() != 0 {
			t.Errorf("%s: %d requests", name, w.requests.Load())
		}
	}

	w.write("kit2/skills/local/SKILL.md", "Changed.\n")
	_, err := w.install(facets.Options{Frozen: true})
	w.refused(evidence.Integrity, err, "kit2@1.0.0: facet-tar mismatch", "claimed by hallmark.lock")
	same("a local facet")
	w.write("kit2/skills/local/SKILL.md", "# Greet\nLocal.\n")
	w.must(w.install(facets.Options{Frozen: true}))

	w.emptyStore() // so that what is not refused before would ask the registry
	for name, text := range map[string]string{
		"one more":       strings.Replace(config, "[adapters]", "more = \"1.*\"\n[adapters]", 1),
		"one less":       strings.Replace(config, "kit2 = { path = \"kit2\" }\n", "", 1),
		"another source": strings.Replace(config, "kit = \"1.*\"", "kit = { path = \"kit\" }", 1),
		"another range":  strings.Replace(config, "kit = \"1.*\"", "kit = \"2.*\"", 1),
	} {
		w.write(project.ConfigFile, text)
		_, err := w.install(facets.Options{Frozen: true})
		w.refused(evidence.Refused, err, "source ")
		same(name)
	}
	w.write(project.ConfigFile, config)
	w.must(w.install(facets.Options{Frozen: true})) // a cold store is filled
	if w.requests.Load() == 0 || w.read(project.LockFile) != lock {
		t.Error("the frozen install of a cold store")
	}
}

// An upgrade goes through the same checks as the first install.
func testUpgrade(t *testing.T) {
	upgrade := func(w *facetWorld, o facets.Options) (*facets.Installation, error) {
		return upgradeFacets(t, w.host, w.dir, nil, o)
	}
	w := newFacetWorld(t)
	w.must(w.install(facets.Options{}))
	w.publish("1.1.0", "Second.\n")
	w.publish("2.0.0", "Third.\n")
	lock := w.read(project.LockFile)
	for name, change := range map[string]func(string, []byte) []byte{
		"content_integrity": changeRecord(t, map[string]any{"content_integrity": otherSum}),
		"content_hash":      changeRecord(t, map[string]any{"content_hash": otherSum}),
		"archive": func(path string, body []byte) []byte {
			if isArchive(path) {
				return flipped(bytes.Clone(body))
			}
			return body
		},
	} {
		w.wire(change)
		_, err := upgrade(w, facets.Options{})
		w.refused(evidence.Integrity, err, "kit@1.1.0: ", " mismatch")
		if w.read(project.LockFile) != lock || w.read("tools/skills/greet/SKILL.md") != "First.\n" {
			t.Errorf("%s: something was written", name)
		}
	}
	w.wire(nil)
	out := w.must(upgrade(w, facets.Options{Dry: true}))
	if w.read(project.LockFile) != lock || out.Written || out.Facets[0].After.Version != "1.1.0" ||
		len(out.Facets[0].Assets) != 2 {
		t.Errorf("dry: %+v", out.Facets[0])
	}
	// Whoever is shown the changes can call it off, and without anybody there is no consent.
	_, err := upgrade(w, facets.Options{Confirm: func([]facets.Change) (host.Consent, error) {
		return host.InformedConsent, errors.New("no")
	}})
	if err == nil || w.read(project.LockFile) != lock {
		t.Error("called off, and written")
	}
	for name, confirm := range map[string]func([]facets.Change) (host.Consent, error){
		"nobody": nil, "no": func([]facets.Change) (host.Consent, error) { return host.NoConsent, nil },
	} {
		_, err := facets.Upgrade(t.Context(), w.host, w.dir, []string{"kit"},
			facets.UpgradeOptions{Facets: facets.Options{Confirm: confirm}})
		w.refused(evidence.Refused, err, "kit: would be changed, and nobody consented", "'hallmark upgrade kit --yes'")
		if w.read(project.LockFile) != lock || w.read("tools/skills/greet/SKILL.md") != "First.\n" {
			t.Errorf("%s: something was written", name)
		}
	}
	testTextOfUpgrade(t, w, upgrade)
	out = w.must(upgrade(w, facets.Options{}))
	if out.Facets[0].Outcome != "updated" || w.entry("kit").Version != "1.1.0" ||
		w.read("tools/skills/greet/SKILL.md") != "Second.\n" {
		t.Errorf("%+v", out.Facets[0])
	}
	// Where nothing changes nobody is asked.
	_, err = upgrade(w, facets.Options{Confirm: func([]facets.Change) (host.Consent, error) {
		t.Error("asked about nothing")
		return host.NoConsent, nil
	}})
	if err != nil {
		t.Error(err)
	}
}

// testTextOfUpgrade demands that the text of what changes is shown, compared with the former text if
// the store has exactly that.
func testTextOfUpgrade(t *testing.T, w *facetWorld,
	upgrade func(*facetWorld, facets.Options) (*facets.Installation, error)) {
	t.Helper()
	find := func() (c facets.Change, skill facets.AssetChange) {
		c = w.must(upgrade(w, facets.Options{Dry: true})).Facets[0]
		i := slices.IndexFunc(c.Assets, func(x facets.AssetChange) bool { return x.Path == "skills/greet/SKILL.md" })
		return c, c.Assets[i]
	}
	if c, skill := find(); c.BeforeUnknown || !strings.HasSuffix(skill.Diff, "@@ -1 +1 @@\n-First.\n+Second.\n") {
		t.Errorf("%+v", skill)
	}
	w.emptyStore()
	if c, skill := find(); !c.BeforeUnknown || !strings.HasSuffix(skill.Diff, "@@ -0,0 +1 @@\n+Second.\n") {
		t.Errorf("without the former contents: %+v", skill)
	}
}
