package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
)

func TestExportAndRead(t *testing.T) {
	ctx := context.Background()
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	const n = 2*MaxLimit + 3
	for i := range n {
		insert(t, db, record(t, fmt.Sprintf("io.github.o/a%03d", i), "1.0.0", i))
	}
	if err := db.AddFinding(ctx, Finding{Name: "io.github.o/a007", Version: "1.0.0", At: epoch, Build: "b"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if got, err := Export(ctx, db, db, &out); err != nil || got != n {
		t.Fatalf("%d records, %v", got, err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != n {
		t.Errorf("%d lines", lines)
	}
	if !strings.Contains(out.String(), "a <b> & c") {
		t.Error("markup is escaped")
	}
	i := 0
	if err := ReadDump(&out, func(env Envelope) error {
		rec, err := db.Get(ctx, fmt.Sprintf("io.github.o/a%03d", i), "1.0.0")
		if err != nil {
			return err
		}
		want := envelope(rec)
		if i == 7 {
			want.Meta.Integrity.Findings = []Finding{{At: epoch, Build: "b", Evidence: json.RawMessage("[]")}}
		}
		equal(t, rec.Name, env, want)
		i++
		return nil
	}, noArchives); err != nil || i != n {
		t.Errorf("%d read, %v", i, err)
	}
}

func noArchives(DumpedArchive) error { return errors.New("an archive") }

func TestReadDump(t *testing.T) {
	const a, b, c = `{"name":"a/a","version":"1"}`, `{"name":"b/b","version":"1"}`, `{"name":"c/c","version":"1"}`
	const meta = `,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active"}}`
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"white space", " \n", ""},
		{"empty array", "[]", ""},
		{"array of documents", "\n [" + a + ",\n" + b + "] \n", "a-,b-"},
		{"documents", a + b + "\n" + c, "a-,b-,c-"},
		{"envelopes", `{"server":` + a + meta + "}\n" + `{"server":` + b + `}`, "a+,b-"},
		{"array of envelopes", `[{"server":` + a + meta + `},{"server":` + b + meta + `}]`, "a+,b+"},
		{"pages", `{"servers":[{"server":` + a + meta + `},{"server":` + b + meta + `}],"metadata":{"count":2}}{"servers":[{"server":` + c + meta + `}]}`, "a+,b+,c+"},
		{"mixed", `[` + a + `,{"server":` + b + meta + `},{"servers":[{"server":` + c + `}]}]`, "a-,b+,c-"},
		{"case matters", `{"Server":1,"name":"a/a"}`, "a-"},

		{"a number", "7", "! value 1: is not an object"},
		{"null", "null", "! value 1: is not an object"},
		{"a number in an array", "[" + a + ",7]", "a- ! value 2: is not an object"},
		{"servers are no list", `{"servers":7}`, "! value 1: json"},
		{"cut array", "[" + a, "a- ! unexpected EOF"},
		{"cut value", a + `{"name":`, "a- ! value 2: unexpected EOF"},
		{"more after the array", "[" + a + "]" + b, "a- ! more follows"},
		{"no JSON", "name,version", "! value 1: invalid character"},
		{"too long", `{"name":"` + strings.Repeat("a", 1<<17) + `"}`, "! value 1: is longer than"},
	} {
		var got []string
		err := readDump(strings.NewReader(tt.text), 1<<16, func(env Envelope) error {
			var doc struct{ Name string }
			if err := json.Unmarshal(env.Server, &doc); err != nil {
				return err
			}
			mark := "-"
			if env.Meta.Official != nil {
				mark = "+"
			}
			got = append(got, doc.Name[:1]+mark)
			return nil
		}, noArchives)
		want, failure, fails := strings.Cut(tt.want, "!")
		if strings.Join(got, ",") != strings.TrimSpace(want) || (err != nil) != fails || fails && !strings.Contains(err.Error(), strings.TrimSpace(failure)) {
			t.Errorf("%s: %v, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	// Many values that are large together.
	big := `{"name":"` + strings.Repeat("a", 1<<15) + `"}`
	n := 0
	if err := readDump(strings.NewReader("["+strings.Repeat(big+",", 20)+big+"]"), 1<<16, func(Envelope) error { n++; return nil }, noArchives); err != nil || n != 21 {
		t.Errorf("%d values, %v", n, err)
	}
	stop := errors.New("stop")
	if err := ReadDump(strings.NewReader(a+b), func(Envelope) error { return stop }, noArchives); err != stop {
		t.Errorf("error %v", err)
	}
}

func FuzzReadDump(f *testing.F) {
	f.Add([]byte(`[{"name":"a"},{"server":{}}]`))
	f.Add([]byte(`{"servers":[{"server":{}}]}` + "\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = ReadDump(bytes.NewReader(data), func(env Envelope) error {
			if len(env.Server) > len(data) {
				t.Error("more than there was")
			}
			return nil
		}, noArchives)
	})
}

func TestBackup(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := openTest(t, filepath.Join(dir, "registry.db"))
	insert(t, db, record(t, "io.github.o/a", "1.0.0", 0))

	// Another process publishes, one name after another.
	other := openTest(t, filepath.Join(dir, "registry.db"))
	stop, wg := make(chan struct{}), sync.WaitGroup{}
	written := 0
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			rec := record(t, fmt.Sprintf("io.github.o/b%05d", i), "1.0.0", i)
			if _, err := other.Insert(ctx, admission(rec), rec); err != nil {
				t.Error(err)
				return
			}
			written++
		}
	})
	for k := range 5 {
		path := filepath.Join(dir, fmt.Sprintf("backup%d.db", k))
		if err := db.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		copied := openTest(t, path)
		var verdict string
		if err := copied.read.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("integrity %q, %v", verdict, err)
		}
		names := all(t, copied, Query{Limit: MaxLimit})
		for i, name := range names[1:] { // a moment of the database has no gaps
			if want := fmt.Sprintf("io.github.o/b%05d@1.0.0", i); name != want {
				t.Fatalf("%s, want %s", name, want)
			}
		}
		if names[0] != "io.github.o/a@1.0.0" || len(all(t, copied, Query{Search: "github.o/a"})) != 1 {
			t.Errorf("names %q", names[:1])
		}
		insert(t, copied, record(t, "io.github.o/c", "1.0.0", 0)) // it is a database like any
	}
	close(stop)
	wg.Wait()
	if written == 0 {
		t.Error("nothing was published meanwhile")
	}

	path := filepath.Join(dir, "backup0.db")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(ctx, path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
	if err := db.Backup(ctx, filepath.Join(dir, "absent", "x.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.Backup(cancelled, filepath.Join(dir, "late.db")); err == nil {
		t.Error("backed up after its context")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".registry-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A database of before the last steps gets them, and keeps its records, which get their
// entries in the log.
func TestMigrationKeepsRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db := openTest(t, path)
	steps, err := readMigrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	want := insert(t, db, record(t, "io.github.o/a", "1.0.0", 0))
	for _, undo := range []string{"DROP TABLE findings", "DROP TABLE imports", "ALTER TABLE servers DROP COLUMN origin",
		"ALTER TABLE servers DROP COLUMN imported_at", "ALTER TABLE servers DROP COLUMN findings",
		"DROP INDEX servers_listed", "DROP INDEX servers_listed_latest",
		"DROP TABLE log_entries", "DROP TABLE log_nodes", "DROP TABLE log_head",
		"DROP TABLE archive_findings", "DROP TABLE archives", "DROP TABLE archive_names", "PRAGMA user_version = 2"} {
		if _, err := db.write.Exec(undo); err != nil {
			t.Fatal(err)
		}
	}
	again := openTest(t, path)
	got, err := again.Get(context.Background(), want.Name, want.Version)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "migrated", got, want)
	entries, err := again.LogEntries(context.Background(), 0, 9)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if leaf, err := ledger.ParseLeaf(entries[0]); err != nil || leaf.Name != want.Name || leaf.Publisher != beforeTheLog || !evidence.Same(leaf.Document, want.Digest) {
		t.Errorf("entry %s, %v", entries[0], err)
	}
	var version int
	if err := again.read.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != len(steps) {
		t.Errorf("version %d, %v", version, err)
	}
}
