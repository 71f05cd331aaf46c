package trail_test

import (
	"bytes"
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// damage is the file of an archive that a registry keeps, and what it was.
type damage struct {
	r     *hosttest.LoggedRegistry
	path  string
	whole []byte
}

func newDamage(r *hosttest.LoggedRegistry, rec registry.ArchiveRecord) *damage {
	r.T.Helper()
	d := &damage{r: r, path: filepath.Join(r.Dir, "blobs", "sha256", rec.ContentHash.Hex()[:2], rec.ContentHash.Hex())}
	var err error
	if d.whole, err = os.ReadFile(d.path); err != nil {
		r.T.Fatal(err)
	}
	return d
}

func (d *damage) keep(data []byte) {
	d.r.T.Helper()
	if err := os.Chmod(d.path, 0o600); err != nil {
		d.r.T.Fatal(err)
	}
	if err := os.WriteFile(d.path, data, 0o600); err != nil {
		d.r.T.Fatal(err)
	}
}

// flip damages the archive.
func (d *damage) flip() {
	flipped := bytes.Clone(d.whole)
	flipped[len(flipped)/2] ^= 1
	d.keep(flipped)
}

// reverify has the registry recompute what it keeps, after which its log has size entries.
func (d *damage) reverify(class evidence.Class, size int64) {
	d.r.T.Helper()
	d.r.Close()
	out, err := operate.Reverify(d.r.T.Context(),
		operate.ReverifyOptions{Place: operate.Place{Data: d.r.Dir}, Version: "v9"})
	if evidence.ClassOf(err) != class || len(out.Found) != 1 {
		d.r.T.Fatalf("%v %+v", err, out)
	}
	d.r.Start()
	hosttest.EventuallySized(d.r.T, d.r, size)
}

// foundOf are the pieces of what the log says was found, of a subject.
func foundOf(v policy.Verdict, subject string) (found []policy.Finding) {
	for _, f := range v.Findings {
		if f.Evidence.Scheme == evidence.Finding && f.Evidence.Authority == evidence.Log &&
			f.Evidence.Subject == subject {
			found = append(found, f)
		}
	}
	return found
}

// warns demands that a verdict allows, with a warning about what was found of subject, or
// with none.
func warns(t *testing.T, what string, v policy.Verdict, err error, subject string, want bool) {
	t.Helper()
	if err != nil || v.Err() != nil {
		t.Fatalf("%s: %v, %v", what, err, v.Err())
	}
	found := foundOf(v, subject)
	if len(found) != 1 || found[0].Warning != want {
		t.Fatalf("%s: %+v", what, found)
	}
	if e := found[0].Evidence; want &&
		(e.Outcome != evidence.Mismatch || !strings.Contains(e.Observed.From, "entry ") ||
			!strings.Contains(e.Reason, "file mismatch")) {
		t.Errorf("%s: %+v", what, e)
	}
}

// What a registry finds of an archive that it keeps is shown by who adds the facet, who
// installs it anew and who checks what is locked, until it is found to be whole again. Who has it
// in the store asks nobody.
func TestFacetFindings(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	client := &client.Client{Base: w.Registry.URL}
	rec, err := client.ArchiveRecord(t.Context(), "facet", "kit", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	verify := func() (policy.Verdict, error) {
		v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{})
		return v.Verdict, err
	}
	add := func() (policy.Verdict, error) {
		p := hosttest.NewFacetProject(t, strings.ReplaceAll(w.Read(project.ConfigFile), "manifest_version = 1\n", ""))
		out, err := facets.Add(t.Context(), p.Host, p.Dir, project.Facet{Name: "kit"}, facets.Options{})
		return out.Verdict, err
	}
	again := func(o facets.Options) (policy.Verdict, error) {
		w.EmptyStore()
		out, err := w.Install(o)
		return out.Verdict, err
	}
	const subject = "kit@1.0.0"
	out, err := w.Install(facets.Options{})
	warns(t, "install", out.Verdict, err, subject, false)
	v, err := verify()
	warns(t, "check", v, err, subject, false)

	d := newDamage(w.Registry, rec)
	d.flip()
	d.reverify(evidence.Integrity, 2)
	w.Wire(nil)
	// A check does not end well with a finding.
	if v, err = verify(); err != nil || evidence.ClassOf(v.Err()) != evidence.Refused || len(foundOf(v, subject)) != 1 {
		t.Fatalf("check: %v, %v", err, v.Err())
	}
	before := w.Requests.Load()
	if v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true}); err != nil || v.Err() != nil ||
		len(foundOf(v.Verdict, subject)) != 0 {
		t.Errorf("offline: %v %v", err, v.Err())
	}
	for _, o := range []facets.Options{{}, {Frozen: true}, {Frozen: true, Offline: true}} {
		out, err := w.Install(o)
		if err != nil || len(foundOf(out.Verdict, subject)) != 0 {
			t.Errorf("warm: %v", err)
		}
	}
	if n := w.Requests.Load() - before; n != 0 {
		t.Errorf("warm: %d requests", n)
	}
	// The damaged archive is refused.
	_, err = again(facets.Options{})
	w.Refused(evidence.Integrity, err, "sha256 mismatch")
	v, err = add()
	w.Refused(evidence.Integrity, err, "sha256 mismatch")
	if found := foundOf(v, subject); len(found) != 1 || !found[0].Warning {
		t.Errorf("%+v", found)
	}

	d.keep(d.whole) // nobody has looked yet
	v, err = add()
	warns(t, "add", v, err, subject, true)
	for _, o := range []facets.Options{{}, {Frozen: true}} {
		v, err = again(o)
		warns(t, "install", v, err, subject, true)
	}
	// Where nobody said which key the log has, what is locked is fetched all the same.
	text := w.Read(project.ConfigFile)
	w.Write(project.ConfigFile, strings.Replace(text, "log_key", "# log_key", 1))
	if err := os.Remove(filepath.Join(w.Host.Places.State, "logs.json")); err != nil {
		t.Fatal(err)
	}
	// This machine installed it under the log's key, and goes on demanding that.
	if v, err := again(facets.Options{Frozen: true}); err == nil || v.Report().Count(evidence.Missing) == 0 {
		t.Errorf("the log's key is gone: %v", err)
	}
	if err := workspace.Forget(t.Context(), w.Host, w.Dir, []string{"kit"}); err != nil {
		t.Fatal(err)
	}
	if v, err := again(facets.Options{Frozen: true}); err != nil || len(foundOf(v, subject)) != 0 {
		t.Errorf("without a key: %v", err)
	}
	w.Write(project.ConfigFile, text)

	d.reverify(evidence.OK, 3)
	w.Wire(nil)
	v, err = add()
	warns(t, "add", v, err, subject, false)
	v, err = again(facets.Options{Frozen: true})
	warns(t, "install", v, err, subject, false)
	v, err = verify()
	warns(t, "check", v, err, subject, false)
}

// The same of a plugin that is installed by its name.
func TestPluginFindings(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	rec := r.Plugin("notes")
	d := newDamage(r, rec)
	rules := project.Registry{URL: r.URL, LogKey: r.Key}
	install := func() (policy.Verdict, error) {
		t.Helper()
		in, err := plugins.Install(t.Context(), hosttest.New(t), "notes",
			plugins.InstallOptions{Dir: t.TempDir(), Registry: rules})
		if err != nil {
			return policy.Verdict{}, err
		}
		return in.Result.Verdict, nil
	}
	v, err := install()
	warns(t, "whole", v, err, "notes@1.0.0", false)
	d.flip()
	d.reverify(evidence.Integrity, 2)
	_, err = install()
	hosttest.RefusedWith(t, err, evidence.Integrity)
	d.keep(d.whole)
	v, err = install()
	warns(t, "found", v, err, "notes@1.0.0", true)

	honest := *r.Handler.Load()
	hide(r)
	_, err = install()
	hosttest.RefusedWith(t, err, evidence.Integrity, "status cannot be verified", "finding cannot be verified")
	r.Handler.Store(&honest)

	change := registry.Change{Status: registry.Deleted, Message: "steals keys", At: hosttest.New(t).Now(),
		By: "operator"}
	if _, _, err := hosttest.OpenRecords(t, r.Dir).SetArchiveStatus(t.Context(), ledger.Plugin, "notes", "1.0.0",
		change); err != nil {
		t.Fatal(err)
	}
	hosttest.EventuallySized(t, r, 3)
	_, err = install()
	hosttest.RefusedWith(t, err, evidence.Refused, "status mismatch", "the log ")
	r.OnWire(func(path string, body []byte) []byte { // the record says that nothing happened
		if strings.Contains(path, "/plugins/") {
			return bytes.Replace(body, []byte(`"status":"deleted"`), []byte(`"status":"active"`), 1)
		}
		return body
	})
	_, err = install()
	hosttest.RefusedWith(t, err, evidence.Refused, "status mismatch", "the log ")
}

// hide lets a registry not know which entries of its log are about a record.
func hide(r *hosttest.LoggedRegistry) {
	honest := *r.Handler.Load()
	var hiding http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/log") {
			http.NotFound(w, req)
			return
		}
		honest.ServeHTTP(w, req)
	})
	r.Handler.Store(&hiding)
}

// A registry that hides what was found of an archive, or shows something else in its place, is
// refused by who installs and by who checks.
func TestFacetFindingsForged(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	w.Publish("0.9.0", "Older.\n") // entry 1
	w.Registry.Plugin("kit")       // entry 2
	rec, err := (&client.Client{Base: w.Registry.URL}).ArchiveRecord(t.Context(), "facet", "kit", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	d := newDamage(w.Registry, rec)
	d.flip()
	d.reverify(evidence.Integrity, 4)
	d.keep(d.whole)
	change := registry.Change{Status: registry.Deprecated, Message: "another one", At: w.Host.Now(), By: "operator"}
	if _, _, err := hosttest.OpenRecords(t, w.Registry.Dir).SetArchiveStatus(t.Context(), ledger.Plugin, "kit", "1.0.0",
		change); err != nil {
		t.Fatal(err)
	}
	hosttest.EventuallySized(t, w.Registry, 5)
	refused := func(name string, says ...string) {
		t.Helper()
		for who, do := range map[string]func(*testing.T) error{
			"new": func(t *testing.T) error {
				p := hosttest.NewFacetProject(t, strings.ReplaceAll(w.Read(project.ConfigFile), "manifest_version = 1\n", ""))
				_, err := p.Install(facets.Options{})
				if p.Read(project.LockFile) != "" {
					t.Error("a lock was written")
				}
				return err
			},
			"cold": func(*testing.T) error {
				w.EmptyStore()
				_, err := w.Install(facets.Options{Frozen: true})
				return err
			},
			"check": func(t *testing.T) error {
				v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{})
				return cmp.Or(err, v.Err())
			},
		} {
			t.Run(name+", "+who, func(t *testing.T) { hosttest.RefusedWith(t, do(t), evidence.Integrity, says...) })
		}
	}
	honest := *w.Registry.Handler.Load()
	hide(w.Registry)
	refused("hidden", "finding cannot be verified", "does not say which later entries are about it")
	w.Registry.Handler.Store(&honest)

	named := func(text string) {
		w.Wire(func(path string, body []byte) []byte {
			if hosttest.IsLog(path) {
				return []byte(text)
			}
			return body
		})
	}
	named(`{"index":0,"later":[1]}`)
	refused("another's entry", "entry 1 of its log as one about it")
	named(`{"index":0,"later":[4]}`)
	refused("another kind's entry", "entry 4 of its log as one about it", "plugin kit@1.0.0")
	named(`{"index":1,"later":[3]}`)
	refused("another's place", "the log holds the same name and version twice")

	// The entry is forged: it says that the archive is whole.
	l, err := trail.Read(t.Context(), hosttest.New(t), &client.Client{Base: w.Registry.URL},
		project.Registry{URL: w.Registry.URL, LogKey: w.Registry.Key}, trail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	finding, err := l.ReadEntry(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	none := digest.FromBytes([]byte("[]"))
	w.Wire(func(path string, body []byte) []byte {
		if strings.Contains(path, "/tile/entries/") {
			return bytes.Replace(body, []byte(finding.Document.String()), []byte(none.String()), 1)
		}
		return body
	})
	refused("forged entry", "SECURITY ERROR")

	w.Wire(nil)
	w.EmptyStore()
	out, err := w.Install(facets.Options{})
	warns(t, "honest", out.Verdict, err, "kit@1.0.0", true)
}
