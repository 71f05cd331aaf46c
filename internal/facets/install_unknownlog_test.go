package facets_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/project"
)

// A lock that names a log owes proofs, also on a machine that no one told the log's key, as
// that of CI from whose checkout log_key was taken: they are held to the log that the registry
// shows. What cannot be, is missing.
func TestInstallWithoutLogKey(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	config := w.Read(project.ConfigFile)
	w.Write(project.ConfigFile, strings.Replace(config, "log_key", "# log_key", 1))
	lock := w.Read(project.LockFile)
	fresh := func(name string, o facets.Options) error {
		h := *w.Host
		h.Places = host.Places{State: filepath.Join(t.TempDir(), "state"),
			Cache: filepath.Join(filepath.Dir(w.Dir), name)}
		_, err := facets.Install(t.Context(), &h, w.Dir, o)
		if known, bad := trail.KnownLogs(&h); bad != nil || len(known.Registries) != 0 {
			t.Errorf("%s: a key was taken over that nobody accepted: %v", name, bad)
		}
		return err
	}
	for _, o := range []facets.Options{{Frozen: true}, {}} {
		if err := fresh("good", o); err != nil {
			t.Fatalf("a good proof: %v", err)
		}
		err := fresh("good", facets.Options{Frozen: o.Frozen, Offline: true})
		w.Refused(evidence.Refused, err, "log of "+project.Registry{URL: w.Registry.URL}.Name()+": log-key missing",
			"--log-key")
	}
	for name, c := range map[string]struct {
		lock  func(map[string]any)
		wire  func(path string, body []byte) []byte
		class evidence.Class
		text  string
	}{
		"a damaged proof": {func(lock map[string]any) {
			proof := hosttest.EntryOf(lock, "kit")["proof"].(string)
			at := strings.Index(proof, "\n\n") - 10
			hosttest.EntryOf(lock, "kit")["proof"] = proof[:at] + hosttest.OtherDigit(proof[at]) + proof[at+1:]
		}, nil, evidence.Integrity, "proof"},
		"other contents": {func(lock map[string]any) { hosttest.EntryOf(lock, "kit")["integrity"] = hosttest.OtherSum }, nil,
			evidence.Integrity, "mismatch"},
		"the registry announces no key": {nil, func(_ string, body []byte) []byte {
			var about map[string]any
			if json.Unmarshal(body, &about) != nil || about["log_key"] == nil {
				return body
			}
			delete(about, "log_key")
			out, _ := json.Marshal(about)
			return out
		}, evidence.Refused, "log-key missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Write(project.LockFile, lock)
			if c.lock != nil {
				w.Forge(func(_ *hosttest.FacetWorld, lock map[string]any) { c.lock(lock) })
			}
			w.Wire(c.wire)
			defer w.Wire(nil)
			w.Refused(c.class, fresh(strings.ReplaceAll(name, " ", "-"), facets.Options{Frozen: true}), c.text)
		})
	}
	// Another log has no proof of it, whatever it is called; the contents are in the store.
	w.Write(project.LockFile, lock)
	other := hosttest.NewLoggedRegistry(t, "")
	w.Registry.Handler.Store(other.Handler.Load())
	w.Refused(evidence.Integrity, fresh("good", facets.Options{Frozen: true}), "proof")
}
