package plugins

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// room is a user's directories, and a scanner that counts how often it is called.
type room struct {
	t            *testing.T
	cache, state string
	version      string
	scanned      atomic.Int64
}

func newRoom(t *testing.T) *room {
	base := t.TempDir()
	return &room{t: t, cache: filepath.Join(base, "cache"), state: filepath.Join(base, "state"), version: "1"}
}

// scan finds an import of each line; of "!" it fails.
func (r *room) scan(_ string, content []byte) (found []plugin.Import, err error) {
	r.scanned.Add(1)
	if string(content) == "!" {
		return nil, errors.New("line 1: it is not JavaScript")
	}
	for i, line := range strings.Fields(string(content)) {
		found = append(found, plugin.Import{Line: i, Kind: plugin.Require, Specifier: line, Computed: line == "~"})
	}
	return found, nil
}

func (r *room) open() *ImportCache {
	return OpenImportCache(r.cache, r.state, ImportScanner{Scan: r.scan, Version: r.version, Key: func(path string, sum digest.Digest) ScriptKey {
		return sha256.Sum256([]byte(filepath.Ext(path) + "\x00" + sum.String()))
	}})
}

// check scans the scripts of a plugin in a process of its own, and returns how many were parsed. What
// is found must be what the scanner finds.
func (r *room) check(name string, scripts ...string) int64 {
	r.t.Helper()
	return r.checkIn(r.open(), name, scripts...)
}

// forScripts is For, and hashes each script when it is scanned.
func forScripts(c *ImportCache, name string) (plugin.Scan, func()) {
	sums := map[string]digest.Digest{}
	scan, done := c.For(name, sums)
	return func(path string, content []byte) ([]plugin.Import, error) {
		sums[path] = digest.FromBytes(content)
		return scan(path, content)
	}, done
}

func (r *room) checkIn(c *ImportCache, name string, scripts ...string) int64 {
	r.t.Helper()
	scan, done := forScripts(c, name)
	parsed := int64(0)
	for _, code := range scripts {
		before := r.scanned.Load()
		got, err := scan("a.js", []byte(code))
		parsed += r.scanned.Load() - before
		want, fails := r.scan("a.js", []byte(code))
		if !slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(fails) {
			r.t.Errorf("%q: got %v, %v; want %v, %v", code, got, err, want, fails)
		}
	}
	done()
	return parsed
}

// records are the files of the cache.
func (r *room) records() (paths []string) {
	for _, f := range listFiles(filepath.Join(r.cache, importDir)) {
		paths = append(paths, f.path)
	}
	return paths
}

var scripts = []string{"fs net", "", "~ a", "!", "x\x00y \xff", strings.Repeat("long ", 100)}

func TestRemembered(t *testing.T) {
	r := newRoom(t)
	all := int64(len(scripts))
	for _, step := range []struct {
		name    string
		scripts []string
		parsed  int64
	}{
		{"a", scripts, all}, {"a", scripts, 0}, {"a", append([]string{"new"}, scripts[1:]...), 1},
		{"a", append([]string{"new"}, scripts...), 0}, {"b", scripts[:1], 1}, {"b", scripts[:1], 0}, {"a", scripts, 0},
	} {
		if got := r.check(step.name, step.scripts...); got != step.parsed {
			t.Errorf("%s: %d scripts were parsed, not %d", step.name, got, step.parsed)
		}
	}
	// The same bytes under another extension are another script.
	scan, _ := forScripts(r.open(), "a")
	before := r.scanned.Load()
	if scan("a.mjs", []byte(scripts[0])); r.scanned.Load() != before+1 {
		t.Error("a script was taken for one in another language")
	}
	// One without a digest is scanned each time.
	unknown, done := r.open().For("a", nil)
	for range 2 {
		before := r.scanned.Load()
		if unknown("a.js", []byte(scripts[0])); r.scanned.Load() != before+1 {
			t.Error("a script without a digest was not scanned")
		}
	}
	done()
	// What a caller does with a result is not seen by the next.
	found, _ := scan("a.js", []byte(scripts[0]))
	found[0].Specifier = "other"
	if again, _ := scan("a.js", []byte(scripts[0])); again[0].Specifier != "fs" {
		t.Error("results are shared")
	}
}

// Of several plugins in one process, what is the same is parsed once.
func TestOnceInARun(t *testing.T) {
	r := newRoom(t)
	r.version = "" // keeps nothing
	c := r.open()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			scan, done := forScripts(c, fmt.Sprint("plugin", i))
			defer done()
			for _, code := range scripts {
				scan("a.js", []byte(code))
			}
		})
	}
	all.Wait()
	if n := r.scanned.Load(); n != int64(len(scripts)) {
		t.Errorf("%d scripts were parsed, not %d", n, len(scripts))
	}
	if len(r.records()) > 0 {
		t.Error("something was kept without a version")
	}
}

// A file that is not exactly what this machine's scanner of this version wrote for this plugin holds nothing.
func TestForged(t *testing.T) {
	r := newRoom(t)
	all := int64(len(scripts))
	r.check("a", scripts...)
	file := r.records()[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if n := len(r.open().read("a")); n != 0 {
			t.Errorf("%s: %d records are believed", what, n)
		}
	}
	for i := range whole {
		flipped := slices.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		refused(fmt.Sprintf("byte %d flipped", i), flipped)
		if i%16 == 0 {
			refused(fmt.Sprintf("cut at %d", i), whole[:i])
		}
	}
	refused("a byte more", append(slices.Clone(whole), 0))
	refused("too large", append(slices.Clone(whole), make([]byte, maxImportFile)...))
	if got := r.check("a", scripts...); got != all {
		t.Errorf("of a damaged file %d scripts were parsed", got)
	}
	if got := r.check("a", scripts...); got != 0 {
		t.Errorf("a damaged file was not replaced: %d", got)
	}
	whole, _ = os.ReadFile(file)

	// That of another plugin.
	r.check("b", "other")
	for _, f := range r.records() {
		if f != file {
			os.WriteFile(f, whole, 0o600)
		}
	}
	if n := len(r.open().read("b")); n != 0 {
		t.Error("the file of another plugin is believed")
	}
	// That of another version, or of another machine.
	r.version = "2"
	others := r.records()
	r.check("a", scripts...)
	for _, f := range r.records() {
		if !slices.Contains(others, f) {
			os.WriteFile(f, whole, 0o600)
		}
	}
	if n := len(r.open().read("a")); n != 0 {
		t.Error("the file of another version is believed")
	}
	r.version = "1"
	if got := r.check("a", scripts...); got != 0 {
		t.Errorf("two versions do not get along: %d", got)
	}
	other := newRoom(t)
	other.check("a", scripts...)
	forged, err := os.ReadFile(other.records()[0])
	if err != nil {
		t.Fatal(err)
	}
	refused("of another machine", forged)
	// Records that are malformed under a MAC that holds are a mistake of ours, and nothing.
	c := r.open()
	for _, body := range []string{"x", strings.Repeat("k", 32), strings.Repeat("k", 32) + "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		strings.Repeat("k", 32) + "\x00\xff\xff\xff\xff\x0f", strings.Repeat("k", 32) + "\x00\x01\x01"} {
		refused("malformed", slices.Concat([]byte(magic), c.sum(c.key, "a", []byte(body)), []byte(body)))
	}
}

// Each member of an import is kept, whatever it is.
func TestMembers(t *testing.T) {
	var imp plugin.Import
	v := reflect.ValueOf(&imp).Elem()
	for i := range v.NumField() {
		switch member := v.Field(i); member.Kind() {
		case reflect.String:
			member.SetString(fmt.Sprint("text ", i))
		case reflect.Bool:
			member.SetBool(true)
		default:
			member.SetInt(int64(i) - 1000)
		}
	}
	want := map[ScriptKey]result{{1}: {Imports: []plugin.Import{imp, {}}}}
	if got := decode(encode(maxImportFile, want, nil)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !strings.Contains(layout, "Specifier string\n") || strings.Count(layout, "\n") != v.NumField() {
		t.Errorf("the layout is %q", layout)
	}
}

// Without a key of this user alone nothing is believed, and a new one is made.
func TestKey(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"longer":  func(path string) error { return os.WriteFile(path, make([]byte, importKeySize+1), 0o600) },
		"other":   func(path string) error { return os.WriteFile(path, make([]byte, importKeySize), 0o600) },
		"open to others": func(path string) error {
			if runtime.GOOS == "windows" {
				return os.Remove(path)
			}
			return os.Chmod(path, 0o644)
		},
	} {
		r := newRoom(t)
		r.check("a", scripts...)
		key := filepath.Join(r.state, importKeyFile)
		was, err := os.ReadFile(key)
		if info, _ := os.Stat(key); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Fatal(err, info)
		}
		if err := damage(key); err != nil {
			t.Fatal(err)
		}
		if got := r.check("a", scripts...); got != int64(len(scripts)) {
			t.Errorf("%s: %d scripts were parsed", name, got)
		}
		if got := r.check("a", scripts...); got != 0 {
			t.Errorf("%s: nothing is remembered any more: %d", name, got)
		}
		if now, _ := os.ReadFile(key); len(now) != importKeySize || slices.Equal(now, was) {
			t.Errorf("%s: the key is %x", name, now)
		}
	}
}

// Where nothing can be kept everything is scanned.
func TestNowhere(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	usable := filepath.Join(base, "usable")
	for name, at := range map[string][2]string{
		"no directories": {"", ""}, "relative": {"cache", "state"}, "no state": {usable, ""},
		"a file for the cache": {file, usable}, "a file for the state": {usable, file},
		"below a file": {filepath.Join(file, "cache"), filepath.Join(file, "state")},
	} {
		r := newRoom(t)
		r.cache, r.state = at[0], at[1]
		for range 2 {
			if got := r.check("a", scripts...); got != int64(len(scripts)) {
				t.Errorf("%s: %d scripts were parsed", name, got)
			}
		}
	}
	for _, name := range []string{"cache", "state"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made in the working directory", name)
		}
	}
	// A directory, and what is no file, in place of the records.
	r := newRoom(t)
	r.check("a", scripts...)
	path := r.records()[0]
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := r.check("a", scripts...); got != int64(len(scripts)) {
		t.Errorf("a directory gave %d", got)
	}
	if len(r.records()) != 0 {
		t.Errorf("temporary files are left: %q", r.records())
	}
}

func TestConcurrent(t *testing.T) {
	r := newRoom(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			scan, done := forScripts(r.open(), "a")
			scan("a.js", []byte(fmt.Sprint("script", i%4)))
			done()
		})
	}
	all.Wait()
	if got := r.check("a", scripts...); got != int64(len(scripts)) {
		t.Errorf("%d scripts were parsed", got)
	}
	if got := r.check("a", scripts...); got != 0 || len(r.records()) != 1 {
		t.Errorf("%d scripts were parsed, %q", got, r.records())
	}
}

func TestBounds(t *testing.T) {
	r := newRoom(t)
	for i := range maxImportFiles + 5 {
		r.check(fmt.Sprint(i), "a")
	}
	if n := len(r.records()); n != maxImportFiles {
		t.Errorf("there are %d files", n)
	}
	// What does not fit is not kept: what is known besides, and then all.
	long := strings.Repeat("x", maxImportFile)
	r.check("long", long, "a")
	if got := r.check("long", long, "a"); got != 2 {
		t.Errorf("%d scripts were parsed", got)
	}
	used, known := map[ScriptKey]result{}, map[ScriptKey]result{}
	for i := range 64 {
		k := sha256.Sum256([]byte{byte(i)})
		used[k] = result{Failure: strings.Repeat("u", 100)}
		known[k] = result{Failure: "old"}
		known[sha256.Sum256([]byte{byte(i), 1})] = result{Failure: strings.Repeat("k", 100)}
	}
	for limit, want := range map[int]int{40_000: 128, 15_000: 64, 1000: 0} {
		got := decode(encode(limit, used, known))
		if len(got) != want || want > 0 && got[sha256.Sum256([]byte{1})].Failure != used[sha256.Sum256([]byte{1})].Failure {
			t.Errorf("%d records in %d bytes, want %d", len(got), limit, want)
		}
	}
	// Prune takes what is old, of whatever name.
	old := time.Now().Add(-48 * time.Hour)
	for _, path := range r.records()[:10] {
		os.Chtimes(path, old, old)
	}
	before := len(r.records())
	if PruneImportCache(r.cache, time.Now().Add(-24*time.Hour)); len(r.records()) != before-10 {
		t.Errorf("%d files of %d are left", len(r.records()), before)
	}
	PruneImportCache(filepath.Join(r.cache, "nowhere"), time.Now())
}

// Whatever the bytes, decoding ends, and what it gives encodes to what gives the same.
func FuzzDecode(f *testing.F) {
	f.Add(encode(maxImportFile, map[ScriptKey]result{{1}: {Imports: []plugin.Import{{Line: 3, Kind: plugin.Export, Specifier: "a"}}},
		{2}: {Failure: "f"}}, nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		if found := decode(body); found != nil {
			if again := decode(encode(1<<30, found, nil)); !reflect.DeepEqual(again, found) {
				t.Errorf("got %v, then %v", found, again)
			}
		}
	})
}
