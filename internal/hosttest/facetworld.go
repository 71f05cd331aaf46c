package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// FacetWorld is a project beside a registry whose answers can be changed on their way.
type FacetWorld struct {
	*FacetProject
	Registry *LoggedRegistry
	Requests atomic.Int64
	Archive  []byte // of kit@1.0.0
}

// NewFacetWorld starts a registry that has kit@1.0.0, and makes a project that declares it.
func NewFacetWorld(t *testing.T) *FacetWorld {
	t.Helper()
	r := NewLoggedRegistry(t, "")
	w := &FacetWorld{Registry: r}
	w.FacetProject = NewFacetProject(t,
		fmt.Sprintf("[registry]\nurl = %q\nlog_key = %q\n[facets]\nkit = \"1.*\"\n[adapters]\n"+
			"targets = [\"dir:tools\"]\n", r.URL, r.Key))
	w.Archive = w.Publish("1.0.0", "First.\n")
	w.Wire(nil)
	return w
}

// Wire counts requests, and changes answers if change is not nil.
func (w *FacetWorld) Wire(change func(path string, body []byte) []byte) {
	f := func(path string, body []byte) []byte {
		w.Requests.Add(1)
		if change != nil {
			return change(path, body)
		}
		return body
	}
	w.Registry.wire.Store(&f)
}

// Publish packs and publishes a version of the facet kit, and returns its archive.
func (w *FacetWorld) Publish(version, text string) []byte {
	w.T.Helper()
	data := Packed(w.T, map[string]string{
		"facet.json": `{"name":"kit","version":"` + version +
			`","skills":{"greet":{"description":"Greets."}}}`,
		"skills/greet/SKILL.md": text,
	})
	sender := &client.Client{Base: w.Registry.URL}
	if _, err := sender.PublishArchive(context.Background(), "facet", "kit",
		client.Upload{Body: bytes.NewReader(data), Size: int64(len(data))}); err != nil {
		w.T.Fatal(err)
	}
	return data
}

// Unreachable moves the registry to where nobody listens.
func (w *FacetWorld) Unreachable() {
	w.Write(project.ConfigFile, strings.Replace(w.Read(project.ConfigFile), w.Registry.URL, "http://127.0.0.1:1", 1))
}

// Done demands that there is no error.
func (w *FacetWorld) Done(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Forge changes the lock, whose own digest is made to fit.
func (w *FacetWorld) Forge(change func(*FacetWorld, map[string]any)) {
	w.T.Helper()
	var lock map[string]any
	w.Done(json.Unmarshal([]byte(w.Read(project.LockFile)), &lock))
	change(w, lock)
	if w.Read(project.LockFile) == "" {
		return // it was removed
	}
	w.Done(Seal(lock))
	plain, err := json.MarshalIndent(lock, "", "  ")
	w.Done(err)
	w.Write(project.LockFile, string(plain)+"\n")
}

// Put publishes an archive of a facet with these files.
func (w *FacetWorld) Put(name string, files map[string]string) {
	w.T.Helper()
	data := Packed(w.T, files)
	sender := &client.Client{Base: w.Registry.URL}
	if _, err := sender.PublishArchive(w.T.Context(), "facet", name,
		client.Upload{Body: bytes.NewReader(data), Size: int64(len(data))}); err != nil {
		w.T.Fatal(err)
	}
}

// Want declares facets in place of those of hallmark.toml.
func (w *FacetWorld) Want(lines string) {
	text := w.Read(project.ConfigFile)
	from, to := strings.Index(text, "[facets]\n")+len("[facets]\n"), strings.Index(text, "[adapters]")
	w.Write(project.ConfigFile, text[:from]+lines+text[to:])
}

// NothingWritten is that a refused first install left nothing behind: neither a lock nor
// files, nor anything in the store.
func (w *FacetWorld) NothingWritten(name string) {
	w.T.Helper()
	for _, file := range []string{project.LockFile, "tools"} {
		if _, err := os.Lstat(w.Path(file)); err == nil {
			w.T.Errorf("%s: %s was written", name, file)
		}
	}
	cache, state := w.Host.Places.Cache, w.Host.Places.State
	for _, pattern := range []string{
		filepath.Join(cache, "store", "sha256", "*", "*"), filepath.Join(cache, "store", "staging", "*"),
		filepath.Join(state, "receipts", "*"),
		filepath.Join(state, "materialized", "*"), filepath.Join(state, "projects", "*", "journal"),
	} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			w.T.Errorf("%s: there is %q", name, found)
		}
	}
}

// Packed is the archive of a facet with these files.
func Packed(t *testing.T, files map[string]string) []byte {
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

// Flipped changes one bit in the middle.
func Flipped(data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

// IsArchive reports whether a path of the registry answers with an archive.
func IsArchive(path string) bool { return strings.HasSuffix(path, "/archive") }

// IsLog reports whether a path answers with the entries about a record.
func IsLog(path string) bool { return strings.HasSuffix(path, "/log") }

// IsVersions reports whether a path answers with the versions of a facet.
func IsVersions(path string) bool { return strings.HasSuffix(path, "/versions") }

// isRecord reports whether a path answers with the record of a facet.
func isRecord(path string) bool {
	return strings.Contains(path, "/facets/") && !IsArchive(path) && !IsLog(path) && !IsVersions(path)
}

// ChangeRecord changes members of a record.
func ChangeRecord(t *testing.T, members map[string]any) func(string, []byte) []byte {
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

// OtherSum is the digest of something else.
var OtherSum = digest.FromBytes([]byte("other")).String()

// EntryOf is the entry of a facet in a lock that was read as a map.
func EntryOf(lock map[string]any, name string) map[string]any {
	return lock["facets"].(map[string]any)[name].(map[string]any)
}

// OtherDigit is another digit of base64 than b.
func OtherDigit(b byte) string {
	if b == 'A' {
		return "B"
	}
	return "A"
}
