package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

var epoch = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// notes is a document with an npm package and, if hash is not empty, a claim.
func notes(name, version, hash string) string {
	claim := ""
	if hash != "" {
		claim = fmt.Sprintf(`,"file_hashes":{"npm:notes@%s":%q}`, version, hash)
	}
	return fmt.Sprintf(
		`{"$schema":%q,"name":%q,"description":"Notes","version":%q,"packages":[{"registryType":"npm",`+
			`"identifier":"notes","version":%q,"transport":{"type":"stdio"}}]%s}`,
		serverjson.CurrentSchema, name, version, version, claim)
}

// insertDocument publishes doc at minutes after epoch, as it is.
func insertDocument(t *testing.T, db registry.Records, doc string, minutes int,
	change func(*registry.Record)) registry.Record {
	t.Helper()
	canonical, err := serverjson.Canonical([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var named struct{ Name, Version string }
	if err := json.Unmarshal([]byte(doc), &named); err != nil {
		t.Fatal(err)
	}
	at := epoch.Add(time.Duration(minutes) * time.Minute)
	rec := registry.Record{Name: named.Name, Version: named.Version, Document: []byte(doc),
		Digest:      digest.FromBytes(canonical),
		PublishedAt: at, UpdatedAt: at, StatusChangedAt: at}
	if change != nil {
		change(&rec)
	}
	verdict := policy.Judge(policy.Accept, policy.Settings{}, evidence.Report{evidence.Compare(
		evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Document, Authority: evidence.Publisher},
		evidence.Observed{Digests: []digest.Digest{rec.Digest}})})
	rec, err = db.Insert(t.Context(), verdict.Admitted(), rec)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// upstream serves a registry with n names, and counts and may spoil its answers.
type upstream struct {
	*httptest.Server
	db    *sqlite.DB
	asked []string                                                 // queries of lists
	spoil func(w http.ResponseWriter, r *http.Request) (done bool) // nil spoils nothing
}

func serveUpstream(t *testing.T, n int) *upstream {
	t.Helper()
	u := &upstream{db: hosttest.OpenRecords(t, t.TempDir())}
	for i := range n {
		insertDocument(t, u.db, notes(fmt.Sprintf("com.example/a%03d", i), "1.0.0", ""), i, nil)
	}
	h, err := pages.NewSite(api.Config{Records: u.db, Validation: registry.Off})
	if err != nil {
		t.Fatal(err)
	}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.asked = append(u.asked, r.URL.RawQuery)
		if u.spoil == nil || !u.spoil(w, r) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

func names(t *testing.T, db registry.Records) []string {
	t.Helper()
	var out []string
	for q := (registry.Query{Limit: registry.MaxLimit}); ; {
		page, next, err := db.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range page {
			out = append(out, rec.Subject())
		}
		if q.Cursor = next; next == "" {
			return out
		}
	}
}

// importing is Import into db with waits that take no time, which are returned.
func importing(t *testing.T, db database, o ImportOptions) (*ImportResult, []time.Duration, error) {
	t.Helper()
	var waits []time.Duration
	o.pause = func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		return ctx.Err()
	}
	if o.now == nil {
		o.now = func() time.Time { return epoch.Add(240 * time.Hour) }
	}
	i, err := importInto(t.Context(), db, o)
	return i, waits, err
}

func TestImportFromRegistry(t *testing.T) {
	u := serveUpstream(t, 250)
	db := hosttest.OpenRecords(t, t.TempDir())
	own := insertDocument(t, db, notes("com.example/own", "1.0.0", ""), 0, nil)
	var pages int
	i, waits, err := importing(t, db,
		ImportOptions{From: u.URL + "/v0/servers", Progress: func(ImportResult) { pages++ }})
	if err != nil || i.Added != 250 || i.Present != 0 || i.Invalid != 0 || i.Resumed || i.Since != "" ||
		len(waits) != 0 || pages != 3 {
		t.Fatalf("%+v, %v, %d pages, %v", i, waits, pages, err)
	}
	if got := names(t, db); len(got) != 251 {
		t.Errorf("%d records", len(got))
	}
	rec, err := db.Get(t.Context(), "com.example/a007", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	now := epoch.Add(240 * time.Hour)
	if rec.Origin != u.URL || !rec.ImportedAt.Equal(now) || !rec.PublishedAt.Equal(epoch.Add(7*time.Minute)) ||
		!rec.UpdatedAt.Equal(now) ||
		string(rec.Evidence) != "[]" || !rec.VerifiedAt.IsZero() || rec.Build != "" || !rec.IsLatest ||
		rec.Status != registry.Active {
		t.Errorf("%+v", rec)
	}
	if again, err := db.Get(t.Context(), own.Name, own.Version); err != nil || again.Origin != "" {
		t.Errorf("own record: %+v, %v", again, err)
	}

	// The next import asks for what changed since the first began, and a little before.
	insertDocument(t, u.db, notes("com.example/a000", "2.0.0", ""), 240*60, nil)
	u.asked = nil
	i, _, err = importing(t, db, ImportOptions{From: u.URL})
	if err != nil || i.Added != 1 || i.Since != "2026-02-10T11:50:00Z" {
		t.Errorf("%+v, %v", i, err)
	}
	if want := []string{"include_deleted=true&limit=100&updated_since=2026-02-10T11%3A50%3A00Z"}; !slices.Equal(u.asked,
		want) {
		t.Errorf("asked %q, want %q", u.asked, want)
	}
	if latest, err := db.Get(t.Context(), "com.example/a000", registry.Latest); err != nil ||
		latest.Version != "2.0.0" {
		t.Errorf("latest %s, %v", latest.Version, err)
	}
	i, _, err = importing(t, db, ImportOptions{From: u.URL + "/", Restart: true})
	if err != nil || i.Present != 251 || i.Added != 0 || i.Since != "" {
		t.Errorf("restarted: %+v, %v", i, err)
	}
}

func TestImportGoesOn(t *testing.T) {
	u := serveUpstream(t, 250)
	db := hosttest.OpenRecords(t, t.TempDir())
	u.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.RawQuery, "cursor") {
			http.Error(w, "gone", http.StatusTeapot)
			return true
		}
		return false
	}
	i, waits, err := importing(t, db, ImportOptions{From: u.URL})
	if err == nil || evidence.ClassOf(err) != evidence.Operation || i.Added != 100 || len(waits) != 0 {
		t.Fatalf("%+v, %v, %v", i, waits, err)
	}
	u.spoil, u.asked = nil, nil
	later := func() time.Time { return epoch.Add(480 * time.Hour) }
	i, _, err = importing(t, db, ImportOptions{From: u.URL, now: later})
	if err != nil || !i.Resumed || i.Added != 150 || len(u.asked) != 2 || !strings.Contains(u.asked[0], "cursor=") {
		t.Fatalf("%+v, %q, %v", i, u.asked, err)
	}
	// What changed while it was interrupted is asked for the next time.
	i, _, err = importing(t, db, ImportOptions{From: u.URL})
	if err != nil || i.Since != "2026-02-10T11:50:00Z" {
		t.Errorf("%+v, %v", i, err)
	}

	// A cursor that the registry does not know any more.
	if err := db.SetProgress(t.Context(), u.URL, registry.Progress{Cursor: "?"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err = importing(t, db, ImportOptions{From: u.URL}); err == nil ||
		!strings.Contains(err.Error(), "--restart") {
		t.Errorf("error %v", err)
	}
}

func TestImportWaits(t *testing.T) {
	u := serveUpstream(t, 1)
	failures := 0
	u.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		failures++
		switch failures {
		case 1:
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			return false
		}
		return true
	}
	i, waits, err := importing(t, hosttest.OpenRecords(t, t.TempDir()), ImportOptions{From: u.URL})
	if err != nil || i.Added != 1 || len(waits) != 3 {
		t.Fatalf("%+v, %v, %v", i, waits, err)
	}
	for k, least := range []time.Duration{30 * time.Second, 2 * time.Second, importMaxPause} {
		if waits[k] < least || waits[k] > least+least/4 {
			t.Errorf("wait %d is %s, want about %s", k, waits[k], least)
		}
	}
	u.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	_, waits, err = importing(t, hosttest.OpenRecords(t, t.TempDir()), ImportOptions{From: u.URL})
	if err == nil || len(waits) != importTries-1 || evidence.ClassOf(err) != evidence.Operation {
		t.Errorf("%d waits, %v", len(waits), err)
	}
	u.Close() // and one that does not answer at all
	_, waits, err = importing(t, hosttest.OpenRecords(t, t.TempDir()), ImportOptions{From: u.URL})
	if err == nil || len(waits) != importTries-1 {
		t.Errorf("%d waits, %v", len(waits), err)
	}
}

// Pages that do not end would fill the disk.
func TestImportEndlessPages(t *testing.T) {
	u := serveUpstream(t, 0)
	page := `{"servers":[],"metadata":{"count":0,"nextCursor":"b"}}`
	u.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, page)
		return true
	}
	for _, page = range []string{page, `{"servers":[{"server":` + notes("a/b", "1.0.0", "") +
		`,"_meta":{}}],"metadata":{"count":1,"nextCursor":"b"}}`} {
		_, _, err := importing(t, hosttest.OpenRecords(t, t.TempDir()), ImportOptions{From: u.URL})
		if err == nil || !strings.Contains(err.Error(), "do not end") || len(u.asked) > 4 {
			t.Errorf("%d requests, error %v", len(u.asked), err)
		}
	}
}

func TestImportFollowsStatus(t *testing.T) {
	u := serveUpstream(t, 2)
	db := hosttest.OpenRecords(t, t.TempDir())
	if _, _, err := importing(t, db, ImportOptions{From: u.URL}); err != nil {
		t.Fatal(err)
	}
	u.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w,
			`{"servers":[{"server":%s,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted",`+
				`"statusMessage":%s,"statusChangedAt":"2026-03-01T00:00:00Z","publishedAt":"2026-01-31T12:00:00Z",`+
				`"updatedAt":"2026-03-01T00:00:00Z","isLatest":true}}}],"metadata":{"count":1}}`,
			notes("com.example/a000", "1.0.0", ""), `"\u0000`+strings.Repeat("ä", 600)+`"`)
		return true
	}
	i, _, err := importing(t, db, ImportOptions{From: u.URL})
	if err != nil || i.Followed != 1 || i.Present != 1 {
		t.Fatalf("%+v, %v", i, err)
	}
	rec, err := db.Get(t.Context(), "com.example/a000", "1.0.0")
	if err != nil || rec.Status != registry.Deleted ||
		rec.StatusMessage != strings.Repeat("ä", registry.MaxStatusMessage) || !rec.PublishedAt.Equal(epoch) {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestImportDifferences(t *testing.T) {
	db := hosttest.OpenRecords(t, t.TempDir())
	insertDocument(t, db, notes("com.example/own", "1.0.0", ""), 0, nil)
	dir := t.TempDir()
	write := func(text string) string {
		t.Helper()
		path := filepath.Join(dir, "dump.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := notes("com.example/good", "1.0.0", "")
	for _, c := range []struct {
		name, text string
		class      evidence.Class
		want       string // part of the error
		added      int
	}{
		{"another document under the name of one of ours", "[" + good + "," +
			strings.Replace(notes("com.example/own", "1.0.0", ""), "Notes", "Other", 1) + "]",
			evidence.Integrity, "com.example/own@1.0.0: another document was published here", 1},
		{"another document than was imported", strings.Replace(good, "Notes", "Other", 1), evidence.Integrity,
			"another document was imported before", 0},
		{"the same in another order of members",
			`[` + strings.Replace(good, `"description":"Notes",`, "", 1)[:len(good)-len(`"description":"Notes",`)-1] +
				`,"description":"Notes"}]`, evidence.OK, "", 0},
		{"damaged", `{"server":` + notes("com.example/x", "1.0.0", "") +
			`,"_meta":{"hallmark/integrity":{"document":"` + digest.FromBytes(nil).String() + `"}}}`,
			evidence.Integrity, "the document is not the one of its digest", 0},
		{"no name", `{"version":"1"}`, evidence.Validation, `"" cannot be the name`, 0},
		{"a name of one part", `{"name":"x","version":"1"}`, evidence.Validation, "cannot be the name", 0},
		{"a name that is long", notes("com.example/"+strings.Repeat("a", 200), "1.0.0", ""), evidence.Validation,
			"cannot be the name", 0},
		{"a number", `{"name":"a/b","version":1}`, evidence.Validation, "cannot be the version", 0},
		{"latest", notes("com.example/x", "Latest", ""), evidence.Validation, `"Latest" cannot be the version`, 0},
		{"a line break", `{"name":"a/b","version":"1\n2"}`, evidence.Validation, "cannot be the version", 0},
		{"a member twice", `{"name":"a/b","name":"a/c","version":"1"}`, evidence.Validation, "name", 0},
		{"a status", `{"server":` + notes("com.example/x", "1.0.0", "") +
			`,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"frozen"}}}`, evidence.Validation,
			`"frozen" is no status`, 0},
		{"cut", "[" + good, evidence.Validation, "unexpected EOF", 0},
		{"hostile text", "{\"name\":\"a\x1b[31m\",\"version\":\"1\"}", evidence.Validation, "", 0},
		{"valid only there", `{"name":"a/b","version":"1","description":"d"}`, evidence.OK, "", 1},
	} {
		i, _, err := importing(t, db, ImportOptions{From: write(c.text)})
		if evidence.ClassOf(err) != c.class || err != nil && !strings.Contains(err.Error(), c.want) ||
			i.Added != c.added {
			t.Errorf("%s: %+v, %v", c.name, i, err)
		}
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: unescaped: %q", c.name, err)
		}
		if c.name == "valid only there" && i.Invalid != 1 {
			t.Errorf("%s: %+v", c.name, i)
		}
	}
	if own, err := db.Get(t.Context(), "com.example/own", "1.0.0"); err != nil ||
		!strings.Contains(string(own.Document), "Notes") {
		t.Errorf("ours was replaced: %s, %v", own.Document, err)
	}
	if rec, err := db.Get(t.Context(), "com.example/good", "1.0.0"); err != nil || rec.Origin != "file:dump.json" ||
		!rec.PublishedAt.Equal(rec.ImportedAt) {
		t.Errorf("%+v, %v", rec, err)
	}
	if _, _, err := importing(t, db,
		ImportOptions{From: filepath.Join(dir, "absent")}); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("no file: %v", err)
	}
	// Differences are named up to a number.
	var many []string
	for n := range importMaxListed + 3 {
		many = append(many, fmt.Sprintf(`{"name":"n%d","version":"1"}`, n))
	}
	i, _, err := importing(t, db, ImportOptions{From: write(strings.Join(many, "\n"))})
	if len(i.Refused) != importMaxListed || err == nil || !strings.Contains(err.Error(), "and 3 more") {
		t.Errorf("%d named, %v", len(i.Refused), err)
	}
}

// The official registry's seed file is taken whole.
func TestImportOfficialSeed(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	i, _, err := importing(t, hosttest.OpenRecords(t, t.TempDir()),
		ImportOptions{From: filepath.Join(strings.TrimSpace(string(out)), "data", "seed.json")})
	if err != nil || i.Added != 4 || i.Invalid != 0 {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestRestore(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	db := hosttest.OpenRecords(t, from)
	insertDocument(t, db, notes("com.example/a", "1.0.0", ""), 0, func(r *registry.Record) {
		r.Evidence, r.VerifiedAt, r.Build = json.RawMessage(`[{"subject":"npm:notes@1.0.0"}]`), epoch.Add(time.Hour),
			"v1"
	})
	insertDocument(t, db, notes("com.example/a", "2.0.0", ""), 5, func(r *registry.Record) {
		r.Status, r.StatusMessage, r.StatusChangedAt, r.UpdatedAt = registry.Deprecated, "old", epoch.Add(2*time.Hour),
			epoch.Add(2*time.Hour)
		r.Origin, r.ImportedAt = "https://registry.example.com", epoch.Add(time.Hour)
	})
	for n := range registry.MaxFindings + 2 {
		if err := db.AddFinding(t.Context(),
			registry.Finding{Name: "com.example/a", Version: "1.0.0", At: epoch.Add(time.Duration(n) * time.Hour),
				Build: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	dump := filepath.Join(t.TempDir(), "dump.jsonl")
	if n, err := ExportFile(t.Context(), Place{Data: from}, dump); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := ExportFile(t.Context(), Place{Data: from}, dump); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	i, err := Import(t.Context(), ImportOptions{Place: Place{Data: to}, From: dump, Restore: true})
	if err != nil || i.Added != 2 {
		t.Fatalf("%+v, %v", i, err)
	}
	restored := hosttest.OpenRecords(t, to)
	for _, version := range []string{"1.0.0", "2.0.0"} {
		want, err := db.Get(t.Context(), "com.example/a", version)
		if err != nil {
			t.Fatal(err)
		}
		got, err := restored.Get(t.Context(), "com.example/a", version)
		if err != nil {
			t.Fatal(err)
		}
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		if string(g) != string(w) {
			t.Errorf("restored\n%s\nwant\n%s", g, w)
		}
	}
	a, _ := db.Findings(t.Context(), "com.example/a", "1.0.0")
	b, _ := restored.Findings(t.Context(), "com.example/a", "1.0.0")
	if len(a) != registry.MaxFindings+2 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("findings\n%v\nwant\n%v", b, a)
	}
	// Again changes nothing; findings are not added twice.
	i, err = Import(t.Context(), ImportOptions{Place: Place{Data: to}, From: dump, Restore: true})
	if err != nil || i.Present != 2 {
		t.Errorf("%+v, %v", i, err)
	}
	if b, _ := restored.Findings(t.Context(), "com.example/a", "1.0.0"); len(b) != registry.MaxFindings+2 {
		t.Errorf("%d findings", len(b))
	}
	// Without restore they are somebody else's records, of which nothing is believed.
	nowhere := filepath.Join(t.TempDir(), "new")
	if _, err := Import(t.Context(), ImportOptions{Place: Place{Data: nowhere}, From: "https://registry.example.com",
		Restore: true}); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("restored a URL: %v", err)
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("a registry was made for an import that was refused")
	}
	plain := t.TempDir()
	if _, err := Import(t.Context(), ImportOptions{Place: Place{Data: plain}, From: dump}); err != nil {
		t.Fatal(err)
	}
	got, err := hosttest.OpenRecords(t, plain).Get(t.Context(), "com.example/a", "1.0.0")
	if err != nil || !got.VerifiedAt.IsZero() || string(got.Evidence) != "[]" || got.Build != "" ||
		got.Origin != "file:dump.jsonl" || got.Findings != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"a bare document": notes("com.example/b", "1.0.0", ""),
		"evidence is text": `{"server":` + notes("com.example/b", "1.0.0", "") +
			`,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active"},` +
			`"hallmark/integrity":{"document":"` + documentDigest(t, notes("com.example/b", "1.0.0", "")) +
			`","evidence":"x"}}}`,
	} {
		if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if i, err := Import(t.Context(),
			ImportOptions{Place: Place{Data: to}, From: dump,
				Restore: true}); evidence.ClassOf(err) != evidence.Validation || i.Added != 0 {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
}

func documentDigest(t *testing.T, doc string) string {
	t.Helper()
	canonical, err := serverjson.Canonical([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return digest.FromBytes(canonical).String()
}

// What needs a registry does not make one.
func TestNoRegistry(t *testing.T) {
	dir := t.TempDir()
	if _, err := Export(t.Context(), Place{Data: dir}, os.Stdout); err == nil {
		t.Error("exported nothing")
	}
	if err := Backup(t.Context(), Place{Data: dir}, filepath.Join(dir, "x")); err == nil {
		t.Error("backed up nothing")
	}
	if _, err := Reverify(t.Context(), ReverifyOptions{Place: Place{Data: dir}}); err == nil {
		t.Error("reverified nothing")
	}
	if _, err := Import(t.Context(),
		ImportOptions{Place: Place{Data: dir},
			From: filepath.Join(dir, "mistyped")}); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("imported nothing: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
