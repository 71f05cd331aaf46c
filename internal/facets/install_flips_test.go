package facets_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/gittest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// flips is how many bytes are changed: one part of HALLMARK_FLIPS, or of 1,000.
func flips(t *testing.T, part int) int {
	t.Helper()
	n := 1000
	if text := os.Getenv("HALLMARK_FLIPS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("HALLMARK_FLIPS is %q", text)
		}
	}
	return max(1, n/part)
}

// flip changes one byte to any other.
func flip(data []byte) (changed []byte, at int) {
	changed, at = bytes.Clone(data), rand.N(len(data))
	changed[at] ^= byte(1 + rand.N(255))
	return changed, at
}

// meaningless reports whether a change of a byte of JSON means nothing: white space between
// tokens that became other white space. Digests of such files are of their canonical form.
func meaningless(before, after []byte, at int) bool {
	const space = " \t\r\n"
	return strings.IndexByte(space, before[at]) >= 0 && strings.IndexByte(space, after[at]) >= 0 &&
		json.Valid(before) && json.Valid(after) && bytes.Equal(compact(before), compact(after))
}

func compact(data []byte) []byte {
	var b bytes.Buffer
	json.Compact(&b, data)
	return b.Bytes()
}

// Every change of one byte in the store, an installed file, the lock, the receipt or what
// is known of the installed files is noticed by check (R2): it refuses, or it warns of a
// file that somebody edited, or of a receipt that is not used.
func TestFacetFlips(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	flipInstalled(t, w.FacetProject, 8, 1)
}

// The same of a skill that was wrapped, from a repository.
func TestSkillFlips(t *testing.T) {
	w := gittest.New(t, `, branch = "main", sub = "greet"`)
	for name, text := range map[string]string{
		"SKILL.md": "---\nname: kit\ndescription: Greets\n---\nGreet.\n", "a.txt": "a\n",
	} {
		path := filepath.Join(w.Work, "greet", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Git("add", "-A")
	w.Git("commit", "--quiet", "-m", "one")
	w.Git("push", "--quiet", w.Bare, "main")
	w.Must(w.Install(facets.Options{}))
	if w.Entry("kit").Source.Wrapped == 0 {
		t.Fatal("it was not wrapped")
	}
	flipInstalled(t, w.FacetProject, 10, 2)
}

// flipInstalled changes bytes of a project with one facet, whose lock counts as two of its files: one part
// of [flips].
func flipInstalled(t *testing.T, w *hosttest.FacetProject, files, part int) {
	t.Helper()
	var all []string
	state := w.Host.Places.State
	for _, root := range []string{w.Path("tools"), filepath.Join(w.Host.Places.Cache, "store", "sha256"),
		filepath.Join(state, "receipts"), filepath.Join(state, "materialized")} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				all = append(all, path)
			}
			return nil
		})
	}
	all = append(all, w.Path(project.LockFile), w.Path(project.LockFile)) // the lock is where the most can go wrong
	if len(all) != files {
		t.Fatal(all)
	}
	check := func() (policy.Verdict, bool) {
		v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true})
		return v.Verdict, err == nil && v.Report().Count(evidence.Match) == len(v.Findings)
	}
	spaces := 0
	rounds := flips(t, part)
	for range rounds {
		path := all[rand.N(len(all))]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed, at := flip(data)
		w.Overwrite(path, func([]byte) []byte { return changed })
		switch _, fine := check(); {
		case !fine:
		case filepath.Base(path) != project.LockFile && !strings.HasPrefix(path, state) ||
			!meaningless(data, changed, at):
			t.Errorf("byte %d of %s, %q to %q: not noticed", at, path, data[at], changed[at])
		default:
			spaces++
		}
		w.Overwrite(path, func([]byte) []byte { return data })
	}
	if v, fine := check(); !fine {
		t.Fatal(v.Err(), v.Report())
	}
	t.Logf("%d changes, %d of them other white space", rounds, spaces)
}

// Every change of one byte of an archive on its way is noticed by install (R2), which
// writes nothing.
func TestArchiveFlips(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	rounds := flips(t, 10)
	for range rounds {
		changed, at := flip(w.Archive)
		w.Wire(func(path string, body []byte) []byte {
			if hosttest.IsArchive(path) {
				return changed
			}
			return body
		})
		_, err := w.Install(facets.Options{})
		if evidence.ClassOf(err) != evidence.Integrity {
			t.Errorf("byte %d, %#x to %#x: %v", at, w.Archive[at], changed[at], err)
		}
		w.NothingWritten(fmt.Sprint("byte ", at))
	}
	w.Wire(nil)
	w.Must(w.Install(facets.Options{}))
	t.Logf("%d changes", rounds)
}

// Every change of one byte in the file of a locked surface is noticed by check (R2).
func TestSurfaceFlips(t *testing.T) {
	d := digest.FromBytes([]byte("image"))
	shown, err := surface.New(surface.Listing{Instructions: "Be kind.", Tools: []json.RawMessage{
		[]byte(`{"name":"add","description":"Adds é 日 \u0001.","inputSchema":{"type":"object",` +
			`"properties":{"n":{"type":"number","minimum":-1.5e3}},"required":["n"]}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := hosttest.NewFacetProject(t,
		"[providers.mcp.notes]\ncommand = \"docker\"\narguments = [\"run\", \"images.example.com/notes@"+d.String()+
			"\"]\n")
	config, err := project.ParseConfig([]byte(p.Read(project.ConfigFile)))
	if err != nil {
		t.Fatal(err)
	}
	ref := "oci:images.example.com/notes@" + d.String()
	entry := project.ServerLock{
		Source: "image", Launch: config.Servers["notes"].Launch(), Ref: ref,
		Artifacts: map[string]digest.Digest{ref: d}, Digest: d,
		Arguments: []string{}, Variables: []string{},
	}
	adm := policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{
		evidence.Compare(evidence.Claim{Subject: ref, Scheme: evidence.File, Authority: evidence.Lock}, hosttest.Observed(d)),
		evidence.Compare(
			evidence.Claim{Subject: project.SurfaceSubject("notes"), Scheme: evidence.Surface,
				Authority: evidence.Lock}, hosttest.Observed(shown.Digest())),
	}).Admitted()
	var lock project.Lock
	if err := lock.Add(adm, "notes", entry, shown); err != nil {
		t.Fatal(err)
	}
	data, err := lock.Encode()
	if err != nil {
		t.Fatal(err)
	}
	p.Write(project.LockFile, string(data))
	file, good := project.SurfacesDir+"/notes.json", shown.FormatIndented()
	surfaces := func() evidence.Report {
		v, err := check.Check(t.Context(), p.Host, p.Dir, check.Options{Offline: true})
		if err != nil {
			t.Fatal(err)
		}
		var of evidence.Report
		for _, e := range v.Report() {
			if strings.HasPrefix(e.Subject, file) && e.Outcome != evidence.Match {
				of = append(of, e)
			}
		}
		return of
	}
	p.Write(file, string(good))
	if bad := surfaces(); bad != nil {
		t.Fatal(bad)
	}
	spaces, rounds := 0, flips(t, 2)
	for range rounds {
		changed, at := flip(good)
		p.Write(file, string(changed))
		switch {
		case surfaces() != nil:
		case meaningless(good, changed, at):
			spaces++
		default:
			t.Errorf("byte %d, %q to %q: not noticed", at, good[at], changed[at])
		}
	}
	t.Logf("%d changes, %d of them other white space", rounds, spaces)
}

// Every change of one byte in a tile, a checkpoint, an entry or a record is noticed by a
// monitor of the log (R2).
func TestLogFlips(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0", "1.1.0", "1.2.0")
	r.Facets("1.0.0")
	if m, err := hosttest.Monitored(t, r, ""); err != nil || m.Size != 4 {
		t.Fatalf("%v %+v", err, m)
	}
	rounds, served := flips(t, 5), 0
	for range rounds {
		prefix := []string{"/checkpoint", "/tile/0/", "/tile/entries/"}[rand.N(3)]
		var change string
		r.OnWire(func(path string, body []byte) []byte {
			if !strings.HasPrefix(path, prefix) || change != "" || len(body) == 0 {
				return body
			}
			changed, at := flip(body)
			change = fmt.Sprintf("byte %d of %s, %q to %q", at, path, body[at], changed[at])
			return changed
		})
		_, err := hosttest.Monitored(t, r, "")
		if err == nil {
			t.Errorf("%s: not noticed", change)
		}
		if change != "" {
			served++
		}
	}
	r.OnWire(nil)
	if served != rounds {
		t.Errorf("%d of %d answers were changed", served, rounds)
	}

	records := flips(t, 50)
	for range records {
		column := []struct{ table, name, where string }{
			{"servers", "document", "version = '1.1.0'"},
			{"archives", "manifest", "version = '1.0.0'"},
			{"archives", "content_integrity", "version = '1.0.0'"},
			{"archives", "content_hash", "version = '1.0.0'"},
			{"log_entries", "leaf", "idx = 1"},
			{"log_entries", "hash", "idx = 1"},
		}[rand.N(6)]
		var before, after []byte
		var at int
		set := func(db *sql.DB, to []byte) {
			var value any = string(to)
			if column.name == "hash" {
				value = to
			}
			hosttest.Exec(t, db, "UPDATE "+column.table+" SET "+column.name+" = ? WHERE "+column.where, value)
		}
		r.Change(func(db *sql.DB) {
			if err := db.QueryRow("SELECT " + column.name + " FROM " + column.table + " WHERE " + column.where).Scan(
				&before); err != nil {
				t.Fatal(err)
			}
			after, at = flip(before)
			set(db, after)
		})
		if _, err := hosttest.Monitored(t, r, ""); err == nil && !meaningless(before, after, at) {
			t.Errorf("byte %d of %s.%s, %q to %q: not noticed", at, column.table, column.name, before[at], after[at])
		}
		r.Change(func(db *sql.DB) { set(db, before) })
	}
	if m, err := hosttest.Monitored(t, r, ""); err != nil {
		t.Fatalf("%v %+v", err, m)
	}
	t.Logf("%d answers and %d records were changed", served, records)
}
