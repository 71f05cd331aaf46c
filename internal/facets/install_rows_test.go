package facets_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// The rows of source 001, "When It Is Applied".
func TestWhenItIsApplied(t *testing.T) {
	t.Run("Publish time", func(t *testing.T) {
		w := hosttest.NewFacetWorld(t)
		rec, err := (&client.Client{Base: w.Registry.URL}).ArchiveRecord(t.Context(), "facet", "kit", "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		a, err := facet.Read(bytes.NewReader(w.Archive), archive.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !evidence.Same(rec.ContentIntegrity, a.Integrity) ||
			!evidence.Same(rec.ContentHash, digest.FromBytes(w.Archive)) {
			t.Errorf("%+v", rec)
		}
	})
	t.Run("Download", testDownload)
	t.Run("Post-extract recompute", testPostExtract)
	t.Run("Cache write", func(t *testing.T) {
		w := hosttest.NewFacetWorld(t)
		w.Must(w.Install(facets.Options{}))
		entry := w.Entry("kit")
		var sidecar struct {
			Integrity   string `json:"integrity"`
			ContentHash string `json:"content_hash"`
			Files       map[string]struct {
				SHA256 string `json:"sha256"`
			} `json:"files"`
		}
		data, err := os.ReadFile(w.SlotFile("sidecar.json"))
		if err != nil || json.Unmarshal(data, &sidecar) != nil {
			t.Fatal(err)
		}
		if sidecar.Integrity != entry.Integrity.String() ||
			sidecar.ContentHash != digest.FromBytes(w.Archive).String() || len(sidecar.Files) != len(entry.Assets) {
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
		w := hosttest.NewFacetWorld(t)
		w.Must(w.Install(facets.Options{}))
		entry := w.Entry("kit")
		a, err := facet.Read(bytes.NewReader(w.Archive), archive.Limits{}, nil)
		if err != nil || !evidence.Same(entry.Integrity, a.Integrity) ||
			!evidence.Same(project.AssetsDigest(entry.Assets), project.AssetsDigest(a.Digests)) {
			t.Errorf("%v: %+v", err, entry)
		}
		if !strings.HasPrefix(entry.Proof, "c2sp.org/tlog-proof@v1\n") {
			t.Errorf("proof %q", entry.Proof)
		}
		if lock := w.Read(project.LockFile); strings.Contains(lock, digest.FromBytes(w.Archive).Hex()) ||
			strings.Contains(lock, "content_hash") {
			t.Error("the lock has the transport hash")
		}
	})
}

// The rows of source 001, "Verification Summary". OCI install is TestImages of e2e/packages.
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

// splice is kit@1.0.0 with the build manifest of one text and the contents of another.
func splice(t *testing.T) []byte {
	t.Helper()
	const manifest = `{"name":"kit","version":"1.0.0","skills":{"greet":{"description":"Greets."}}}`
	honest := hosttest.Packed(t, map[string]string{"facet.json": manifest, "skills/greet/SKILL.md": "First.\n"})
	evil := hosttest.Packed(t, map[string]string{"facet.json": manifest, "skills/greet/SKILL.md": "Evil!!\n"})
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
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	w.EmptyStore()
	other := hosttest.Packed(t,
		map[string]string{"facet.json": `{"name":"kit","version":"1.0.0","skills":{"greet":{"description":"Greets."}}}`,
			"skills/greet/SKILL.md": "Other\n"})
	a, err := facet.Read(bytes.NewReader(other), archive.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Wire(func(path string, body []byte) []byte {
		if hosttest.IsArchive(path) {
			return other
		}
		return hosttest.ChangeRecord(t,
			map[string]any{"content_integrity": a.Integrity.String(), "content_hash": a.ContentHash.String(),
				"size_bytes": a.Size})(path, body)
	})
	before := w.Read(project.LockFile) + w.Read("tools/skills/greet/SKILL.md")
	locked := w.Entry("kit").Integrity.String()
	for _, o := range []facets.Options{{}, {Frozen: true}} {
		_, err = w.Install(o)
		w.Refused(evidence.Integrity, err, "kit@1.0.0: facet-tar mismatch", "claimed by hallmark.lock", locked,
			a.Integrity.String())
	}
	if w.Read(project.LockFile)+w.Read("tools/skills/greet/SKILL.md") != before {
		t.Error("something was written")
	}
}

// A lock that gives a facet the contents of another one, which the store has, is refused:
// what would be installed is not what is named.
func TestEntryOfAnotherFacet(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Put("tools",
		map[string]string{"facet.json": `{"name":"tools","version":"1.0.0","commands":{"go":{"description":"d"}}}`,
			"commands/go.md": "1"})
	w.Want("kit = \"*\"\ntools = \"*\"\n")
	w.Must(w.Install(facets.Options{}))
	kit, tools := w.Entry("kit"), w.Entry("tools")
	kit.Integrity, kit.Assets, kit.Proof = tools.Integrity, tools.Assets, ""
	tools.Proof = ""
	var lock project.Lock
	for name, entry := range map[string]project.FacetLock{"kit": kit, "tools": tools} {
		subject := entry.Subject(name)
		adm := admitAll(evidence.Report{
			evidence.Compare(evidence.Claim{Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock},
				hosttest.Observed(entry.Integrity)),
			evidence.Compare(
				evidence.Claim{Subject: project.AssetsSubject(subject), Scheme: evidence.FacetTar,
					Authority: evidence.Lock}, hosttest.Observed(project.AssetsDigest(entry.Assets))),
		})
		if err := lock.AddFacet(adm, name, entry); err != nil {
			t.Fatal(err)
		}
	}
	data, err := lock.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.Write(project.LockFile, string(data))
	_, err = w.Install(facets.Options{Frozen: true, Offline: true})
	w.Refused(evidence.Refused, err, "log proof of kit@1.0.0: proof missing")
	// Where no log is known, which the proofs would be owed of.
	w.Write(project.ConfigFile, strings.Replace(w.Read(project.ConfigFile), "log_key", "# log_key", 1))
	if err := os.Remove(filepath.Join(w.Host.Places.State, "logs.json")); err != nil {
		t.Fatal(err)
	}
	_, err = w.Install(facets.Options{Frozen: true, Offline: true})
	w.Refused(evidence.Refused, err, "log proof of kit@1.0.0: proof missing", "owed     by this machine",
		"'hallmark forget kit'")
	// Nor anything accepted with a proof.
	if err := workspace.Forget(t.Context(), w.Host, w.Dir, []string{"kit", "tools"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Install(facets.Options{Frozen: true, Offline: true})
	w.Refused(evidence.Integrity, err, "kit@1.0.0", "is that of tools@1.0.0")
}

// A version that is not active is not chosen for a requirement that others satisfy.
func TestNewestActive(t *testing.T) {
	for _, status := range []registry.Status{registry.Deprecated, registry.Deleted} {
		w := hosttest.NewFacetWorld(t)
		w.Publish("1.1.0", "Second.\n")
		changed := 0
		w.Wire(func(path string, body []byte) []byte {
			if !hosttest.IsVersions(path) {
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
		w.Must(w.Install(facets.Options{}))
		if got := w.Entry("kit").Version; got != "1.0.0" || changed == 0 {
			t.Errorf("%s: %s was chosen, %d changed", status, got, changed)
		}
	}
}

func testConfirmation(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *hosttest.FacetWorld)
		class  evidence.Class
		text   string
	}{
		"unreachable": {(*hosttest.FacetWorld).Unreachable, evidence.Refused, "no confirmation"},
		"no version": {func(w *hosttest.FacetWorld) {
			w.Write(project.ConfigFile, strings.Replace(w.Read(project.ConfigFile), `"1.*"`, `"1.0.9"`, 1))
		}, evidence.Refused, "no confirmation"},
		"another content_integrity": {func(w *hosttest.FacetWorld) {
			w.Wire(hosttest.ChangeRecord(t, map[string]any{"content_integrity": hosttest.OtherSum}))
		}, evidence.Integrity, "facet-tar mismatch"},
		"no proof": {func(w *hosttest.FacetWorld) { w.Wire(hosttest.ChangeRecord(t, map[string]any{"proof": nil})) },
			evidence.Integrity,
			"the registry has a log, and gave no proof"},
		"damaged proof": {func(w *hosttest.FacetWorld) {
			w.Wire(hosttest.ChangeRecord(t, map[string]any{"proof": "c2sp.org/tlog-proof@v1\n"}))
		}, evidence.Integrity, "proof"},
		"another manifest": {func(w *hosttest.FacetWorld) {
			w.Wire(hosttest.ChangeRecord(t, map[string]any{"manifest": map[string]any{"name": "kit", "version": "1.0.0"}}))
		}, evidence.Integrity, "document mismatch"},
		"deleted": {func(w *hosttest.FacetWorld) { w.Wire(hosttest.ChangeRecord(t, map[string]any{"status": "deleted"})) },
			evidence.Refused, "status mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.NewFacetWorld(t)
			c.change(w)
			_, err := w.Install(facets.Options{})
			w.Refused(c.class, err, c.text)
			w.NothingWritten(name)
		})
	}
	// The store may have the contents already: the registry is asked all the same.
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	if err := os.Remove(w.Path(project.LockFile)); err != nil {
		t.Fatal(err)
	}
	_, err := w.Install(facets.Options{})
	w.Refused(evidence.Refused, err, "source missing", "hallmark forget kit") // this machine accepted it
	if err := workspace.Forget(t.Context(), w.Host, w.Dir, []string{"kit"}); err != nil {
		t.Fatal(err)
	}
	w.Unreachable()
	_, err = w.Install(facets.Options{})
	w.Refused(evidence.Refused, err, "no confirmation")
	if w.Read(project.LockFile) != "" {
		t.Error("locked without confirmation")
	}
}

func testDownload(t *testing.T) {
	// Bytes that were changed on their way are told by the transport hash, be they
	// readable or not; nothing is written.
	for name, change := range map[string]func([]byte) []byte{
		"one bit": hosttest.Flipped,
		"cut":     func(b []byte) []byte { return b[:len(b)-512] },
		"longer":  func(b []byte) []byte { return append(b, 0) },
		"repacked": func([]byte) []byte {
			return hosttest.Packed(t,
				map[string]string{
					"facet.json": `{"name":"kit","version":"1.0.0",` +
						`"skills":{"greet":{"description":"Greets."}}}`,
					"skills/greet/SKILL.md": "Evil.\n"})
		},
	} {
		w := hosttest.NewFacetWorld(t)
		w.Wire(func(path string, body []byte) []byte {
			if hosttest.IsArchive(path) {
				return change(bytes.Clone(body))
			}
			return body
		})
		_, err := w.Install(facets.Options{})
		w.Refused(evidence.Integrity, err, "kit@1.0.0: sha256 mismatch", "content_hash",
			digest.FromBytes(w.Archive).String())
		w.NothingWritten(name)
	}
}

func testPostExtract(t *testing.T) {
	// An archive whose manifest claims other contents than it has: the registry takes no
	// such, so that the record vouches for these bytes here.
	forged := splice(t)
	w := hosttest.NewFacetWorld(t)
	w.Wire(func(path string, body []byte) []byte {
		if hosttest.IsArchive(path) {
			return forged
		}
		return hosttest.ChangeRecord(t,
			map[string]any{"content_hash": digest.FromBytes(forged).String(), "size_bytes": len(forged)})(path, body)
	})
	_, err := w.Install(facets.Options{})
	w.Refused(evidence.Integrity, err, "facet-tar mismatch", "build-manifest.json", "content_integrity",
		"kit@1.0.0/skills/greet/SKILL.md: sha256 mismatch")
	w.NothingWritten("forged")
}

func testCacheHit(t *testing.T) {
	for _, file := range []string{"content/skills/greet/SKILL.md", "content/facet.json", "sidecar.json"} {
		w := hosttest.NewFacetWorld(t)
		w.Must(w.Install(facets.Options{}))
		w.Overwrite(w.SlotFile(file), hosttest.Flipped)
		w.Requests.Store(0)
		out := w.Must(w.Install(facets.Options{}))
		if out.Facets[0].Outcome != "repaired" || w.Requests.Load() == 0 {
			t.Errorf("%s: %+v after %d requests", file, out.Facets[0], w.Requests.Load())
		}
		if kept, _ := filepath.Glob(filepath.Join(w.Host.Places.Cache, "store", "quarantine", "*")); len(kept) != 1 {
			t.Errorf("%s: quarantine holds %q", file, kept)
		}
		w.Requests.Store(0)
		if out = w.Must(w.Install(facets.Options{})); out.Facets[0].Outcome != "unchanged" || w.Requests.Load() != 0 {
			t.Errorf("%s: %+v after %d requests", file, out.Facets[0], w.Requests.Load())
		}
	}
}

// In a frozen install every facet reproduces its locked integrity, local ones included,
// and the lock covers hallmark.toml exactly; that is found out before any request.
func testFrozenInstall(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Kit("kit2", "1.0.0", "Local.\n")
	w.Write("kit2/facet.json", strings.Replace(w.Read("kit2/facet.json"), `"kit"`, `"kit2"`, 1))
	for _, skill := range []string{"greet"} { // names of its own
		w.Write("kit2/facet.json", strings.ReplaceAll(w.Read("kit2/facet.json"), skill, "local"))
		if err := os.Rename(w.Path("kit2/skills/greet"), w.Path("kit2/skills/local")); err != nil {
			t.Fatal(err)
		}
	}
	w.Write(project.ConfigFile,
		strings.Replace(w.Read(project.ConfigFile), "kit = \"1.*\"\n", "kit = \"1.*\"\nkit2 = { path = \"kit2\" }\n",
			1))
	w.Must(w.Install(facets.Options{}))
	w.Requests.Store(0)
	w.Must(w.Install(facets.Options{Frozen: true}))
	if w.Requests.Load() != 0 {
		t.Errorf("%d requests", w.Requests.Load())
	}
	config, lock, files := w.Read(project.ConfigFile), w.Read(project.LockFile), w.Read("tools/skills/local/SKILL.md")
	same := func(name string) {
		t.Helper()
		if w.Read(project.LockFile) != lock || w.Read("tools/skills/local/SKILL.md") != files {
			t.Errorf("%s: something was written", name)
		}
		if w.Requests.Load() != 0 {
			t.Errorf("%s: %d requests", name, w.Requests.Load())
		}
	}

	w.Write("kit2/skills/local/SKILL.md", "Changed.\n")
	_, err := w.Install(facets.Options{Frozen: true})
	w.Refused(evidence.Integrity, err, "kit2@1.0.0: facet-tar mismatch", "claimed by hallmark.lock")
	same("a local facet")
	w.Write("kit2/skills/local/SKILL.md", "# Greet\nLocal.\n")
	w.Must(w.Install(facets.Options{Frozen: true}))

	w.EmptyStore() // so that what is not refused before would ask the registry
	for name, text := range map[string]string{
		"one more":       strings.Replace(config, "[adapters]", "more = \"1.*\"\n[adapters]", 1),
		"one less":       strings.Replace(config, "kit2 = { path = \"kit2\" }\n", "", 1),
		"another source": strings.Replace(config, "kit = \"1.*\"", "kit = { path = \"kit\" }", 1),
		"another range":  strings.Replace(config, "kit = \"1.*\"", "kit = \"2.*\"", 1),
	} {
		w.Write(project.ConfigFile, text)
		_, err := w.Install(facets.Options{Frozen: true})
		w.Refused(evidence.Refused, err, "source ")
		same(name)
	}
	w.Write(project.ConfigFile, config)
	w.Must(w.Install(facets.Options{Frozen: true})) // a cold store is filled
	if w.Requests.Load() == 0 || w.Read(project.LockFile) != lock {
		t.Error("the frozen install of a cold store")
	}
}

// An upgrade goes through the same checks as the first install.
func testUpgrade(t *testing.T) {
	upgrade := func(w *hosttest.FacetWorld, o facets.Options) (*facets.Installation, error) {
		return upgradeFacets(t, w.Host, w.Dir, nil, o)
	}
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	w.Publish("1.1.0", "Second.\n")
	w.Publish("2.0.0", "Third.\n")
	lock := w.Read(project.LockFile)
	for name, change := range map[string]func(string, []byte) []byte{
		"content_integrity": hosttest.ChangeRecord(t, map[string]any{"content_integrity": hosttest.OtherSum}),
		"content_hash":      hosttest.ChangeRecord(t, map[string]any{"content_hash": hosttest.OtherSum}),
		"archive": func(path string, body []byte) []byte {
			if hosttest.IsArchive(path) {
				return hosttest.Flipped(bytes.Clone(body))
			}
			return body
		},
	} {
		w.Wire(change)
		_, err := upgrade(w, facets.Options{})
		w.Refused(evidence.Integrity, err, "kit@1.1.0: ", " mismatch")
		if w.Read(project.LockFile) != lock || w.Read("tools/skills/greet/SKILL.md") != "First.\n" {
			t.Errorf("%s: something was written", name)
		}
	}
	w.Wire(nil)
	out := w.Must(upgrade(w, facets.Options{Dry: true}))
	if w.Read(project.LockFile) != lock || out.Written || out.Facets[0].After.Version != "1.1.0" ||
		len(out.Facets[0].Assets) != 2 {
		t.Errorf("dry: %+v", out.Facets[0])
	}
	// Whoever is shown the changes can call it off, and without anybody there is no consent.
	_, err := upgrade(w, facets.Options{Confirm: func([]facets.Change) (host.Consent, error) {
		return host.InformedConsent, errors.New("no")
	}})
	if err == nil || w.Read(project.LockFile) != lock {
		t.Error("called off, and written")
	}
	for name, confirm := range map[string]func([]facets.Change) (host.Consent, error){
		"nobody": nil, "no": func([]facets.Change) (host.Consent, error) { return host.NoConsent, nil },
	} {
		_, err := facets.Upgrade(t.Context(), w.Host, w.Dir, []string{"kit"},
			facets.UpgradeOptions{Facets: facets.Options{Confirm: confirm}})
		w.Refused(evidence.Refused, err, "kit: would be changed, and nobody consented", "'hallmark upgrade kit --yes'")
		if w.Read(project.LockFile) != lock || w.Read("tools/skills/greet/SKILL.md") != "First.\n" {
			t.Errorf("%s: something was written", name)
		}
	}
	testTextOfUpgrade(t, w, upgrade)
	out = w.Must(upgrade(w, facets.Options{}))
	if out.Facets[0].Outcome != "updated" || w.Entry("kit").Version != "1.1.0" ||
		w.Read("tools/skills/greet/SKILL.md") != "Second.\n" {
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
func testTextOfUpgrade(t *testing.T, w *hosttest.FacetWorld,
	upgrade func(*hosttest.FacetWorld, facets.Options) (*facets.Installation, error)) {
	t.Helper()
	find := func() (c facets.Change, skill facets.AssetChange) {
		c = w.Must(upgrade(w, facets.Options{Dry: true})).Facets[0]
		i := slices.IndexFunc(c.Assets, func(x facets.AssetChange) bool { return x.Path == "skills/greet/SKILL.md" })
		return c, c.Assets[i]
	}
	if c, skill := find(); c.BeforeUnknown || !strings.HasSuffix(skill.Diff, "@@ -1 +1 @@\n-First.\n+Second.\n") {
		t.Errorf("%+v", skill)
	}
	w.EmptyStore()
	if c, skill := find(); !c.BeforeUnknown || !strings.HasSuffix(skill.Diff, "@@ -0,0 +1 @@\n+Second.\n") {
		t.Errorf("without the former contents: %+v", skill)
	}
}
