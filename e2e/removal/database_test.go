package removal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// keeper is a registry whose files and rows are removed, with those who rely on it.
type keeper struct {
	*hosttest.FacetWorld
	kept   map[string][]byte // the registry's files
	asks   []string          // what people ask it
	state  []byte            // of a monitor that has read all
	places *removalWorld
}

// keeperVersions are those of a server that people rely on: the rows at both ends.
var keeperVersions = []string{"1.0.0", "1.0.1", "1.0.2", "1.0.253", "1.0.254", "1.0.255"}

// newKeeper has a registry with records of each kind, statuses, findings, a token and an import,
// and enough entries for its log to keep more than leaves.
func newKeeper(t *testing.T) *keeper {
	k := &keeper{FacetWorld: hosttest.NewFacetWorld(t)}
	k.Host.SkipPauses = true
	k.Publish("0.9.0", "Before.\n")
	for i := range ledger.TileWidth {
		k.Registry.Publish(fmt.Sprintf("1.0.%d", i))
	}
	k.Registry.Close()
	db, err := sqlite.Open(t.Context(), k.Registry.DB())
	if err != nil {
		t.Fatal(err)
	}
	const named, fails = "io.github.acme/notes", `[{"subject":"npm:notes@1.0.0","scheme":"file","outcome":"mismatch"}]`
	at := time.Now().UTC()
	_, _, status := db.SetStatus(t.Context(), named, "1.0.1",
		registry.Change{Status: registry.Deprecated, Message: "use 1.0.2", At: at})
	_, _, archived := db.SetArchiveStatus(t.Context(), ledger.Facet, "kit", "0.9.0",
		registry.Change{Status: registry.Deleted, Message: "not ours", At: at})
	token, _, hash, made := registry.NewToken("ci",
		[]registry.Permission{{Action: "publish", Resource: "io.github.acme/*"}}, at, at.Add(time.Hour))
	if err := errors.Join(status, archived, made,
		db.AddFinding(t.Context(),
			registry.Finding{Name: named, Version: "1.0.0", At: at, Build: "v9", Evidence: []byte(fails)}),
		db.AddArchiveFinding(t.Context(),
			registry.Finding{Kind: ledger.Facet, Name: "kit", Version: "0.9.0", At: at, Build: "v9",
				Evidence: []byte(fails)}),
		db.Tokens().Add(t.Context(), token, hash),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Tokens().Revoke(t.Context(), token.ID, at); err != nil {
		t.Fatal(err)
	}
	db.Close()
	k.Registry.Start()
	k.Registry.Change(func(db *sql.DB) {
		hosttest.Exec(t, db, "INSERT INTO imports VALUES ('https://registry.example.com', 'cursor', 1, 1)")
		hosttest.Exec(t, db, "UPDATE servers SET origin = 'https://registry.example.com', imported_at = 1 WHERE version = "+
			"'1.0.255'")
		hosttest.Exec(t, db, "UPDATE servers SET verified_at = 1, build = 'v9', evidence = ? WHERE version = '1.0.2'",
			strings.ReplaceAll(fails, "mismatch", "match"))
	})
	hosttest.EventuallySized(t, k.Registry, ledger.TileWidth+6)
	k.Must(k.Install(facets.Options{}))
	path := k.Path("../monitored")
	if _, err := monitor.Monitor(t.Context(), k.Host,
		monitor.Options{URL: k.Registry.URL, Log: trail.Options{Key: k.Registry.Key}, State: path}); err != nil {
		t.Fatal(err)
	}
	if k.state, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	server := "/v0.1/servers/" + url.PathEscape(named)
	k.asks = []string{"/checkpoint", "/v0.1/servers?search=notes&limit=3", "/v0.1/servers?version=latest",
		"/v0.1/facets?include_deleted=true", "/v0.1/facets?search=kit",
		server + "/versions/latest", "/v0.1/facets/kit/versions/1.0.0", "/v0.1/facets/kit/versions/1.0.0/log",
		"/v0.1/facets/kit/versions/0.9.0?include_deleted=true"}
	for _, v := range keeperVersions {
		k.asks = append(k.asks, server+"/versions/"+v, server+"/versions/"+v+"/log")
	}
	k.Registry.Close()
	k.kept = k.files()
	k.places = &removalWorld{FacetProject: k.FacetProject}
	k.places.remember()
	return k
}

// files are those of the registry, which is stopped.
func (k *keeper) files() map[string][]byte {
	out := map[string][]byte{}
	err := filepath.WalkDir(k.Registry.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, ".lock") {
			out[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		k.T.Fatal(err)
	}
	return out
}

// bring writes the files of the registry, which is stopped, as they were.
func (k *keeper) bring() {
	for path, data := range k.files() {
		if was, ok := k.kept[path]; !ok || string(was) != string(data) {
			os.Chmod(path, 0o600)
			if err := os.Remove(path); err != nil {
				k.T.Fatal(err)
			}
		}
	}
	for path, data := range k.kept {
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			k.T.Fatal(err)
		}
	}
}

// rowRemoval is a removal from the rows of a database.
type rowRemoval struct {
	removal
	statement string
	args      []any
}

// fewRows are how many rows of a table are gone through: those at both ends of more.
const fewRows = 3

// rowRemovals are all ways to take a row, a column of it, or a member of JSON in that out of a
// table.
func rowRemovals(t *testing.T, db *sql.DB, table string) (all []rowRemoval) {
	t.Helper()
	types := map[string]string{}
	info, err := db.Query("SELECT name, type FROM pragma_table_info(?)", table)
	if err != nil {
		t.Fatal(err)
	}
	for info.Next() {
		var name, kind string
		if err := info.Scan(&name, &kind); err != nil {
			t.Fatal(err)
		}
		types[name] = kind
	}
	keys := map[string]string{"log_nodes": "level, idx", "server_names": "rowid", "archive_names": "rowid"}
	key := keys[table]
	if key == "" {
		key = "rowid"
	}
	columns := slices.Sorted(maps.Keys(types))
	rows, err := db.Query("SELECT " + key + ", " + strings.Join(columns, ", ") + " FROM " + table + " ORDER BY " + key)
	if err != nil {
		t.Fatal(err)
	}
	var found [][]any
	width := len(strings.Split(key, ",")) + len(columns)
	for rows.Next() {
		row, to := make([]any, width), make([]any, width)
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		found = append(found, row)
	}
	if err := errors.Join(rows.Err(), rows.Close(), info.Close()); err != nil {
		t.Fatal(err)
	}
	where := " WHERE " + strings.ReplaceAll(key, ", ", " = ? AND ") + " = ?"
	ends := width - len(columns)
	for i, row := range found {
		if i >= fewRows && i < len(found)-fewRows {
			continue
		}
		put := func(statement string, args []any, at ...string) {
			all = append(all,
				rowRemoval{removal{file: "database " + table, at: append([]string{strconv.Itoa(i)}, at...)},
					statement + where, append(args, row[:ends]...)})
		}
		put("DELETE FROM "+table, nil)
		for j, column := range columns {
			value := row[ends+j]
			if value == nil {
				continue
			}
			set := "UPDATE " + table + " SET " + column + " = ?"
			put(set, []any{nil}, column, "null")
			var nothing any
			switch types[column] {
			case "INTEGER":
				nothing = 0
			case "BLOB":
				nothing = []byte{}
			default:
				nothing = ""
			}
			put(set, []any{nothing}, column)
			text, _ := value.(string)
			var tree any
			if d := json.NewDecoder(strings.NewReader(text)); !strings.ContainsAny(text[:min(1, len(text))], "[{") ||
				d.Decode(&tree) != nil {
				continue
			}
			for _, p := range parts(tree) {
				left, err := json.Marshal(p.left)
				if err != nil {
					t.Fatal(err)
				}
				put(set, []any{string(left)}, append([]string{column}, p.at...)...)
			}
		}
	}
	return all
}

// fileRemovals are those of the files beside the database.
func (k *keeper) fileRemovals() (all []rowRemoval) {
	for _, path := range slices.Sorted(maps.Keys(k.kept)) {
		if rel, _ := filepath.Rel(k.Registry.Dir, path); !strings.HasPrefix(rel, "registry.db") {
			for _, r := range removalsOf(k.T, "registry "+strings.Split(rel, string(filepath.Separator))[0], path,
				k.kept[path]) {
				all = append(all, rowRemoval{removal: r})
			}
		}
	}
	return all
}

// apply takes something out of the registry, which is stopped, and starts it.
func (k *keeper) apply(r rowRemoval) error {
	switch {
	case r.statement != "":
		db, err := sql.Open("sqlite", k.Registry.DB())
		if err != nil {
			k.T.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		defer db.Close()
		if _, err := db.Exec("PRAGMA ignore_check_constraints = ON"); err != nil {
			k.T.Fatal(err)
		}
		if _, err := db.Exec(r.statement, r.args...); err != nil {
			return evidence.Errorf(evidence.Validation, "", "", err) // the database itself refuses
		}
		if err := db.Close(); err != nil {
			k.T.Fatal(err)
		}
	case r.gone:
		os.Remove(r.path)
	default:
		os.Chmod(r.path, 0o600)
		if err := os.WriteFile(r.path, r.data, 0o600); err != nil {
			k.T.Fatal(err)
		}
	}
	return k.Registry.TryStart()
}

// answers is all that the registry says, and "" for what it refuses to.
func (k *keeper) answers() string {
	var all strings.Builder
	for _, ask := range k.asks {
		rec := httptest.NewRecorder()
		(*k.Registry.Handler.Load()).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, ask, nil))
		fmt.Fprintf(&all, "%s %d %s\n", ask, rec.Code, rec.Body)
	}
	db, err := sqlite.Open(context.Background(), k.Registry.DB())
	if err != nil {
		return err.Error()
	}
	defer db.Close()
	tokens, err := db.Tokens().List(context.Background())
	fmt.Fprintln(&all, tokens, err)
	return all.String()
}

// verdictShown is what a verdict shows to a person.
func verdictShown(v policy.Verdict, err error) (string, error) {
	if err == nil {
		err = v.Err()
	}
	var all []string
	for _, f := range v.Findings {
		all = append(all,
			fmt.Sprintf("%s %s %s %s %v", f.Evidence.Subject, f.Evidence.Scheme, f.Evidence.Authority,
				f.Evidence.Outcome, f.Warning))
	}
	return strings.Join(all, "\n"), err
}

// relying are those who rely on the registry: each gives what it found out.
func (k *keeper) relying() map[string]func() (string, error) {
	fresh := func() *host.Host {
		h := *k.Host
		h.Places.State = filepath.Join(k.T.TempDir(), "state")
		return &h
	}
	monitor := func(state []byte) (string, error) {
		h, path := fresh(), ""
		if state != nil {
			path = filepath.Join(k.T.TempDir(), "monitored")
			if err := os.WriteFile(path, state, 0o600); err != nil {
				k.T.Fatal(err)
			}
		}
		m, err := monitor.Monitor(k.T.Context(), h,
			monitor.Options{URL: k.Registry.URL, Log: trail.Options{Key: k.Registry.Key}, State: path})
		if m == nil {
			return "", err
		}
		return fmt.Sprint(m.Origin, m.Size, m.Root, m.Records, m.Found), err
	}
	out := map[string]func() (string, error){
		"check": func() (string, error) {
			c, err := check.Check(k.T.Context(), k.Host, k.Dir, check.Options{})
			return verdictShown(c.Verdict, err)
		},
		"fresh check": func() (string, error) {
			c, err := check.Check(k.T.Context(), fresh(), k.Dir, check.Options{})
			return verdictShown(c.Verdict, err)
		},
		"monitor":         func() (string, error) { return monitor(nil) },
		"monitor --state": func() (string, error) { return monitor(k.state) },
	}
	for _, v := range keeperVersions {
		out["pin "+v] = func() (string, error) {
			rules := project.Registry{URL: k.Registry.URL, LogKey: k.Registry.Key}
			w := &workspace.Workspace{Host: fresh(), Config: &project.Config{Registry: rules}}
			r, err := obtain.FetchRecord(k.T.Context(), w, w.Logs(trail.Options{}), "io.github.acme/notes@"+v)
			if err != nil {
				return "", err
			}
			return verdictShown(policy.Judge(policy.Pin, policy.Settings{}, r.Report), nil)
		}
	}
	return out
}

// leadDatabase is the campaign over the rows and files of a registry. A removal is refused if
// the database, the registry or one of those who rely on it refuses it, while none of these is
// told anything else than before; what nobody refuses changes no answer.
func leadDatabase(t *testing.T, table *harmlessTable, seen *seenMembers) {
	k := newKeeper(t)
	db, err := sql.Open("sqlite", k.Registry.DB())
	if err != nil {
		t.Fatal(err)
	}
	var all []rowRemoval
	for _, name := range []string{"servers", "findings", "imports", "tokens", "log_entries", "log_nodes", "log_head",
		"archives", "archive_findings", "server_names", "archive_names"} {
		all = append(all, rowRemovals(t, db, name)...)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	all = append(all, k.fileRemovals()...)
	var plain []removal
	for _, r := range all {
		plain = append(plain, r.removal)
	}
	seen.add(plain)
	k.bring()
	if err := k.Registry.TryStart(); err != nil {
		t.Fatal(err)
	}
	good, relying := map[string]string{}, k.relying()
	names := slices.Sorted(maps.Keys(relying))
	for _, name := range names {
		text, err := relying[name]()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		good[name] = text
	}
	answers := k.answers()
	whole, refused, same, excused := len(all), 0, 0, 0
	all = sample.Of(t, all, 20)
	k.Registry.Close()
	for _, r := range all {
		k.bring()
		if k.apply(r) != nil {
			refused++
			continue
		}
		missed := false
		for _, name := range names {
			text, err := relying[name]()
			switch {
			case err != nil:
				missed = true
			case text != good[name] && table.explains(r.removal, name):
				excused++
			case text != good[name]:
				t.Errorf("%s\t%s\tis told\n%s\nand was\n%s", r, name, text, good[name])
			}
			k.places.restore()
		}
		switch now := k.answers(); {
		case missed:
			refused++
		case now == answers:
			same++
		case table.explains(r.removal, "all"):
			excused++
		default:
			t.Errorf("%s\tnobody refuses, and the registry's answers are others:\n%s", r, firstOther(now, answers))
		}
		k.Registry.Close()
	}
	k.Registry.Close = func() {}
	t.Logf("%d of %d removals: %d refused, %d change nothing, %d harmless by the table", len(all), whole, refused, same,
		excused)
}

// firstOther is where two texts begin to differ.
func firstOther(now, was string) string {
	at := 0
	for at < min(len(now), len(was)) && now[at] == was[at] {
		at++
	}
	at = max(0, at-80)
	return fmt.Sprintf("…%.300s…\nand were …%.300s…", now[at:], was[at:])
}
