package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

const subject = "npm:@acme/notes@1.4.0"

// sample is a small tree with what matters: depth, an executable, an empty file.
var sample = map[string]string{
	"package.json":          `{"name":"notes"}`,
	"bin/notes!":            "#!/bin/sh\n",
	"lib/index.js":          "module.exports = 1\n",
	"lib/deep/er/x.js":      strings.Repeat("x", 1000),
	"node_modules/a/é.md":   "",
	"node_modules/a/b.node": "\x7fELF\x00\x01",
}

// fill writes files below dir; a name that ends with "!" is executable, without it.
func fill(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name, exec := strings.CutSuffix(name, "!")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o600)
		if exec {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// admit returns what a verdict that allows subject with d gives.
func admit(t testing.TB, d digest.Digest) policy.Admitted {
	t.Helper()
	v := policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{evidence.Compare(
		evidence.Claim{Subject: subject, Scheme: evidence.Tree, Authority: evidence.Lock},
		evidence.Observed{Digests: []digest.Digest{d}})})
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v.Admitted()
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "home", "store"), testLog)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // read-only directories hinder the removal of the test's directory
		filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return s
}

func put(t testing.TB, s *Store, files map[string]string) *Slot {
	t.Helper()
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	fill(t, st.Dir(), files)
	o, err := st.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slot, err := s.Put(t.Context(), admit(t, o.SHA256()), subject, st, subject)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// testLog logs to whatever is the default when it is used, so that quiet works.
var testLog = slog.New(current{})

type current struct{ slog.Handler }

func (current) Enabled(ctx context.Context, l slog.Level) bool {
	return slog.Default().Handler().Enabled(ctx, l)
}

func (current) Handle(ctx context.Context, r slog.Record) error {
	return slog.Default().Handler().Handle(ctx, r)
}

// quiet keeps the expected warnings about quarantine out of the test's output.
func quiet(t testing.TB) *bytes.Buffer {
	var b bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&b, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	return &b
}

func empty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s holds %s", dir, e.Name())
	}
}

func TestPutAndAudit(t *testing.T) {
	s := newStore(t)
	if _, err := os.Stat(filepath.Dir(s.Path())); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("opening a store creates something")
	}
	if _, _, err := s.Audit(t.Context(), subject, digest.FromBytes(nil)); !errors.Is(err, ErrNotStored) {
		t.Fatalf("an empty store: %v", err)
	}
	began := time.Now().Truncate(time.Second)
	slot := put(t, s, sample)
	if slot.Files != len(sample) || slot.Ref != subject || slot.Size != 1000+16+10+19+6 ||
		slot.Created.Before(began) {
		t.Errorf("%+v", slot)
	}
	got, report, err := s.Audit(t.Context(), subject, slot.Digest)
	if err != nil || got == nil || got.Dir() != slot.Dir() || got.Files != slot.Files || got.Size != slot.Size ||
		!got.Created.Equal(slot.Created) {
		t.Fatal(got, report, err)
	}
	if len(report) != 2 || report.Count(evidence.Match) != 2 ||
		report[0].Authority != evidence.Lock || report[1].Authority != evidence.Sidecar ||
		report[0].Scheme != evidence.Tree || report[0].Subject != subject || report[0].Observed.Size != slot.Size {
		t.Errorf("%+v", report)
	}
	v := policy.Judge(policy.Launch, policy.Settings{}, report)
	if err := v.Admitted().Permits(subject, slot.Digest, policy.Execute); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(got.Dir(), "lib", "index.js")); err != nil ||
		string(data) != sample["lib/index.js"] {
		t.Error(string(data), err)
	}
	for path, want := range map[string]fs.FileMode{
		"": 0o555, "content": 0o555, "content/lib/deep": 0o555, "content/bin/notes": 0o555,
		"content/lib/index.js": 0o444, "sidecar.json": 0o444,
	} {
		info, err := os.Stat(filepath.Join(filepath.Dir(slot.Dir()), path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if info, _ := os.Stat(s.Path()); info.Mode().Perm() != 0o700 {
		t.Errorf("the store has mode %v", info.Mode())
	}
	empty(t, filepath.Join(s.Path(), "staging"))

	again := put(t, s, sample) // a slot that is there and valid wins
	if !again.Digest.IsZero() && again.Dir() != slot.Dir() || !again.Created.Equal(slot.Created) {
		t.Errorf("%+v, %+v", again, slot)
	}
	empty(t, filepath.Join(s.Path(), "staging"))
	empty(t, filepath.Join(s.Path(), "quarantine"))
	if _, _, err := s.Audit(t.Context(), subject, digest.Digest{}); err == nil || errors.Is(err, ErrNotStored) {
		t.Errorf("the zero digest: %v", err)
	}
}

func TestPutNeedsAdmitted(t *testing.T) {
	for name, adm := range map[string]func(digest.Digest) policy.Admitted{
		"zero value":   func(digest.Digest) policy.Admitted { return policy.Admitted{} },
		"other digest": func(digest.Digest) policy.Admitted { return admit(t, digest.FromBytes([]byte("other"))) },
		"other action": func(d digest.Digest) policy.Admitted {
			return policy.Judge(policy.Session, policy.Settings{}, evidence.Report{evidence.Compare(
				evidence.Claim{Subject: subject, Scheme: evidence.Surface, Authority: evidence.Lock,
					Want: []digest.Digest{d}},
				evidence.Observed{Digests: []digest.Digest{d}})}).Admitted()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			st, err := s.Stage()
			if err != nil {
				t.Fatal(err)
			}
			fill(t, st.Dir(), sample)
			o, err := st.Measure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(t.Context(), adm(o.SHA256()), subject, st, subject); !errors.Is(err,
				policy.ErrNotAdmitted) {
				t.Fatalf("got %v", err)
			}
			empty(t, filepath.Join(s.Path(), "staging"))
			empty(t, filepath.Join(s.Path(), "sha256"))
		})
	}
	s := newStore(t)
	st, _ := s.Stage()
	fill(t, st.Dir(), sample)
	o, _ := st.Measure(t.Context())
	// What was measured is not what is put: Put measures for itself.
	os.WriteFile(filepath.Join(st.Dir(), "lib", "late.js"), []byte("x"), 0o600)
	if _, err := s.Put(t.Context(), admit(t, o.SHA256()), subject, st, subject); !errors.Is(err,
		policy.ErrNotAdmitted) {
		t.Fatalf("changed after Measure: %v", err)
	}
	if _, err := s.Put(t.Context(), admit(t, o.SHA256()), subject, st, subject); err == nil ||
		!strings.Contains(err.Error(), "already") {
		t.Fatalf("put twice: %v", err)
	}
	if _, err := st.Measure(t.Context()); err == nil {
		t.Fatal("measured after the end")
	}
}

func TestPutRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"nothing": {func(string) error { return nil }, "no files"},
		"link": {func(dir string) error { return os.Symlink("/etc/passwd", dir+"/evil") },
			`"evil" is a symbolic link`},
		"link up": {func(dir string) error { return os.Symlink("..", dir+"/up") }, `"up" is a symbolic link`},
		"control": {func(dir string) error { return os.WriteFile(dir+"/a\x1b[2J", nil, 0o600) },
			`"a\x1b[2J" is a name that a tree cannot hold`},
		"hard link": {func(dir string) error { return os.Link(dir+"/../../../outside", dir+"/inside") },
			`"inside" has other names`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			st, err := s.Stage()
			if err != nil {
				t.Fatal(err)
			}
			outside := filepath.Join(s.Path(), "outside")
			os.WriteFile(outside, []byte("o"), 0o600)
			if name != "nothing" {
				fill(t, st.Dir(), sample)
			}
			if err := c.make(st.Dir()); err != nil {
				t.Fatal(err)
			}
			var d digest.Digest
			if o, err := st.Measure(t.Context()); err == nil {
				d = o.SHA256()
			}
			_, err = s.Put(t.Context(), admit(t, d), subject, st, subject)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if info, _ := os.Stat(outside); info.Mode().Perm() != 0o600 {
				t.Error("the mode of a file outside was changed")
			}
			empty(t, filepath.Join(s.Path(), "staging"))
			empty(t, filepath.Join(s.Path(), "sha256"))
		})
	}
}

// tamper makes everything of the slot writable and returns its directory.
func tamper(t testing.TB, slot *Slot) string {
	t.Helper()
	dir := filepath.Dir(slot.Dir())
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSymlink == 0 {
			info, _ := d.Info()
			os.Chmod(path, info.Mode().Perm()|0o200)
		}
		return nil
	})
	return dir
}

func TestTampering(t *testing.T) {
	type finding struct{ subject, actual string }
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir string) error
		want []finding // files that the report must name, in order; nil: the tree alone
		gone bool      // the slot cannot be told from one that was never put
	}{
		"a byte": {do: func(t *testing.T, dir string) error {
			return os.WriteFile(dir+"/content/lib/index.js", []byte("module.exports = 2\n"), 0)
		}, want: []finding{{"lib/index.js", digest.FromBytes([]byte("module.exports = 2\n")).String()}}},
		"a byte more": {do: func(t *testing.T, dir string) error {
			return os.WriteFile(dir+"/content/node_modules/a/é.md", []byte("\x00"), 0)
		}, want: []finding{{"node_modules/a/é.md", digest.FromBytes([]byte{0}).String()}}},
		"truncated": {do: func(t *testing.T, dir string) error { return os.Truncate(dir+"/content/package.json", 3) },
			want: []finding{{"package.json", digest.FromBytes([]byte(`{"n`)).String()}}},
		"a file more": {do: func(t *testing.T, dir string) error {
			return os.WriteFile(dir+"/content/lib/.hidden.js", nil, 0o644)
		}, want: []finding{{"lib/.hidden.js", "not in the slot's list"}}},
		"a file less": {
			do:   func(t *testing.T, dir string) error { return os.Remove(dir + "/content/lib/deep/er/x.js") },
			want: []finding{{"lib/deep/er/x.js", "missing"}}},
		"a file renamed": {do: func(t *testing.T, dir string) error {
			return os.Rename(dir+"/content/package.json", dir+"/content/Package.json")
		}, want: []finding{{"Package.json", "not in the slot's list"}, {"package.json", "missing"}}},
		"made executable": {
			do:   func(t *testing.T, dir string) error { return os.Chmod(dir+"/content/package.json", 0o755) },
			want: []finding{{"package.json", "executable"}}},
		"not executable any more": {
			do:   func(t *testing.T, dir string) error { return os.Chmod(dir+"/content/bin/notes", 0o644) },
			want: []finding{{"bin/notes", "not executable"}}},
		"a file replaced by a link to the same bytes": {do: func(t *testing.T, dir string) error {
			if err := os.Rename(dir+"/content/package.json", dir+"/../../../same"); err != nil {
				return err
			}
			return os.Symlink(dir+"/../../../same", dir+"/content/package.json")
		}, want: []finding{{"package.json", "is a symbolic link"}}},
		"a file replaced by a link inside": {do: func(t *testing.T, dir string) error {
			os.WriteFile(dir+"/content/lib/same", []byte(sample["package.json"]), 0o644)
			os.Remove(dir + "/content/package.json")
			return os.Symlink("lib/same", dir+"/content/package.json")
		}, want: []finding{{"lib/same", "not in the slot's list"}, {"package.json", "is a symbolic link"}}},
		"a directory replaced by a link": {do: func(t *testing.T, dir string) error {
			if err := os.Rename(dir+"/content/lib", dir+"/../../../lib"); err != nil {
				return err
			}
			return os.Symlink(dir+"/../../../lib", dir+"/content/lib")
		}, want: []finding{{"lib", "is a symbolic link"}, {"lib/deep/er/x.js", "missing"},
			{"lib/index.js", "missing"}}},
		"a named pipe": {do: func(t *testing.T, dir string) error { return mkfifo(dir + "/content/lib/pipe") },
			want: []finding{{"lib/pipe", "is a named pipe"}}},
		"an empty directory": {
			do:   func(t *testing.T, dir string) error { return os.MkdirAll(dir+"/content/lib/more/deep", 0o755) },
			want: []finding{{"lib/more", "is an empty directory"}}},
		"a setuid file": {do: func(t *testing.T, dir string) error {
			return os.Chmod(dir+"/content/bin/notes", 0o755|fs.ModeSetuid)
		}, want: []finding{{"bin/notes", "is a setuid file"}}},
		"a sticky directory": {
			do:   func(t *testing.T, dir string) error { return os.Chmod(dir+"/content/lib", 0o755|fs.ModeSticky) },
			want: []finding{{"lib", "is a sticky directory"}}},
		"a setgid slot": {do: func(t *testing.T, dir string) error { return os.Chmod(dir, 0o755|fs.ModeSetgid) },
			want: []finding{{".", "is a setgid directory"}}},
		"a directory beside the content": {
			do:   func(t *testing.T, dir string) error { return os.Mkdir(dir+"/node_modules", 0o755) },
			want: []finding{{"node_modules", "not part of a slot"}}},
		"a file beside the content": {
			do:   func(t *testing.T, dir string) error { return os.WriteFile(dir+"/more", nil, 0o644) },
			want: []finding{{"more", "not part of a slot"}}},
		"content replaced by a link": {do: func(t *testing.T, dir string) error {
			if err := os.Rename(dir+"/content", dir+"/../../../content"); err != nil {
				return err
			}
			return os.Symlink(dir+"/../../../content", dir+"/content")
		}},
		"content missing": {do: func(t *testing.T, dir string) error { return os.RemoveAll(dir + "/content") }},
		"the slot replaced by a link": {do: func(t *testing.T, dir string) error {
			if err := os.Rename(dir, dir+"/../../../elsewhere"); err != nil {
				return err
			}
			return os.Symlink("../../elsewhere", dir)
		}},
		"the slot replaced by a file": {do: func(t *testing.T, dir string) error {
			os.RemoveAll(dir)
			return os.WriteFile(dir, nil, 0o644)
		}},
		"the directory above replaced by a link": {do: func(t *testing.T, dir string) error {
			if err := os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"/../../elsewhere"); err != nil {
				return err
			}
			return os.Symlink("../../elsewhere", filepath.Dir(dir))
		}},
		"sidecar missing": {do: func(t *testing.T, dir string) error { return os.Remove(dir + "/sidecar.json") },
			want: []finding{{"sidecar.json", "missing"}}},
		"sidecar a link to the same bytes": {do: func(t *testing.T, dir string) error {
			os.Rename(dir+"/sidecar.json", dir+"/../../../side")
			return os.Symlink(dir+"/../../../side", dir+"/sidecar.json")
		}, want: []finding{{"sidecar.json", "is a symbolic link"}}},
		"sidecar empty": {do: func(t *testing.T, dir string) error { return os.WriteFile(dir+"/sidecar.json", nil, 0) },
			want: []finding{{"sidecar.json", "is cut off"}}},
		"sidecar a directory": {do: func(t *testing.T, dir string) error {
			os.Remove(dir + "/sidecar.json")
			return os.Mkdir(dir+"/sidecar.json", 0o755)
		}, want: []finding{{"sidecar.json", "is a directory"}}},
		"sidecar too large": {
			do:   func(t *testing.T, dir string) error { return os.Truncate(dir+"/sidecar.json", maxSidecar+1) },
			want: []finding{{"sidecar.json", "has more than 67,108,864 bytes"}}},
		"slot removed": {do: func(t *testing.T, dir string) error { return os.RemoveAll(dir) }, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			log := quiet(t)
			s := newStore(t)
			slot := put(t, s, sample)
			if err := c.do(t, tamper(t, slot)); err != nil {
				t.Fatal(err)
			}
			got, report, err := s.Audit(t.Context(), subject, slot.Digest)
			if c.gone {
				if !errors.Is(err, ErrNotStored) {
					t.Fatal(got, report, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != nil {
				t.Error("a slot was returned")
			}
			if len(report) == 0 || report[0].Authority != evidence.Lock || report[0].Scheme != evidence.Tree {
				t.Fatalf("%+v", report)
			}
			var found []finding
			for _, e := range report {
				if e.Scheme == evidence.File {
					if e.Outcome != evidence.Mismatch || e.Authority != evidence.Sidecar {
						t.Errorf("%+v", e)
					}
					found = append(found, finding{strings.TrimPrefix(e.Subject, subject+": "), e.Actual()})
				}
			}
			if !slices.Equal(found, c.want) {
				t.Errorf("found %v\nwant  %v", found, c.want)
			}
			if c.want == nil && report[0].Outcome != evidence.Mismatch {
				t.Errorf("%+v", report[0])
			}
			for _, flow := range []policy.Flow{policy.Launch, policy.Check} {
				v := policy.Judge(flow, policy.Settings{}, report)
				if v.Class() != evidence.Integrity {
					t.Errorf("%s: class %v: %v", flow, v.Class(), v.Err())
				}
				for _, f := range c.want {
					if !strings.Contains(v.Err().Error(), subject+": "+f.subject+": sha256 mismatch") {
						t.Errorf("%s: the message does not name %s:\n%v", flow, f.subject, v.Err())
					}
				}
			}

			// It is moved away, and the same tree can be put again.
			path, err := s.Quarantine(t.Context(), slot.Digest, "audit")
			if err != nil || path == "" {
				t.Fatal(path, err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), slot.Digest.String()) {
				t.Errorf("log: %q", log)
			}
			if _, _, err := s.Audit(t.Context(), subject, slot.Digest); !errors.Is(err, ErrNotStored) {
				t.Errorf("after quarantine: %v", err)
			}
			put(t, s, sample)
			if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
				t.Errorf("put again: %v %v", report, err)
			}
			if path, err := s.Quarantine(t.Context(), slot.Digest, "late"); path != "" || err != nil {
				t.Errorf("a good slot was moved: %s %v", path, err)
			}
		})
	}
}

// Whoever can write the store can write a sidecar that fits: the lock tells.
func TestSidecarRewritten(t *testing.T) {
	quiet(t)
	s := newStore(t)
	slot := put(t, s, sample)
	other := map[string]string{}
	for name, content := range sample {
		other[name] = content
	}
	other["lib/index.js"] = "evil\n"
	evil := put(t, s, other)
	dir := tamper(t, slot)
	tamper(t, evil)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Dir(evil.Dir()), dir); err != nil {
		t.Fatal(err)
	}
	got, report, err := s.Audit(t.Context(), subject, slot.Digest)
	if got != nil || err != nil || len(report) != 2 || report[0].Outcome != evidence.Mismatch ||
		report[1].Outcome != evidence.Match {
		t.Fatalf("%v %+v %v", got, report, err)
	}
	if report[0].Actual() != evil.Digest.String() || report[0].FormatExpected() != slot.Digest.String() {
		t.Errorf("%+v", report[0])
	}
	checked, err := s.Verify(t.Context())
	if err != nil || len(checked) != 1 ||
		policy.Judge(policy.Check, policy.Settings{}, checked[0].Report).Class() != evidence.Integrity {
		t.Fatalf("%+v %v", checked, err)
	}
	// A bad slot is replaced where the good one is put.
	put(t, s, sample)
	if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
		t.Fatal(report, err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Path(), "quarantine")); len(left) != 1 {
		t.Error("not in quarantine:", left)
	}
}

func TestManyDifferences(t *testing.T) {
	s := newStore(t)
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("f%02d", i)] = "x"
	}
	slot := put(t, s, files)
	dir := tamper(t, slot)
	for name := range files {
		os.WriteFile(dir+"/content/"+name, []byte("y"), 0)
	}
	_, report, err := s.Audit(t.Context(), subject, slot.Digest)
	if err != nil || len(report) != 2+20+1 {
		t.Fatal(len(report), err)
	}
	if last := report[22]; last.Actual() != "30 more files differ" || last.Outcome != evidence.Mismatch ||
		report[2].Subject != subject+": f00" {
		t.Errorf("%+v", last)
	}
}

// Names in a tampered slot can be anything; what is printed is escaped.
func TestHostileNames(t *testing.T) {
	s := newStore(t)
	slot := put(t, s, sample)
	dir := tamper(t, slot)
	for _, name := range []string{"\x1b[2J", "a\nb", "\xff\xfe", "\u202egnp.exe"} {
		if err := os.WriteFile(dir+"/content/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, report, err := s.Audit(t.Context(), subject, slot.Digest)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	report.WriteText(&b)
	b.WriteString(policy.Judge(policy.Launch, policy.Settings{}, report).Err().Error())
	if strings.ContainsAny(b.String(), "\x1b\u202e") || !strings.Contains(b.String(), `\x1b[2J`) ||
		strings.Contains(b.String(), "a\nb") || bytes.Contains(b.Bytes(), []byte("\xff")) {
		t.Errorf("%q", b.String())
	}
}

// Every single byte counts, in the content and in the sidecar (R2).
func TestFlips(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	s := newStore(t)
	slot := put(t, s, sample)
	dir := tamper(t, slot)
	var paths []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, _ := d.Info(); !d.IsDir() && info.Size() > 0 {
			paths = append(paths, path)
		}
		return nil
	})
	rounds := 1000
	if text := os.Getenv("HALLMARK_FLIPS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("HALLMARK_FLIPS is %q", text)
		}
	}
	r := rand.New(rand.NewPCG(7, uint64(rounds)))
	for i := range rounds {
		path := paths[r.IntN(len(paths))]
		if i%2 == 0 {
			path = filepath.Join(dir, sidecarName)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(data)
		at, flip := r.IntN(len(data)), byte(1<<r.IntN(8))
		if i%4 < 2 {
			flip = byte(1 + r.IntN(255))
		}
		changed[at] ^= flip
		os.WriteFile(path, changed, 0)
		got, report, err := s.Audit(t.Context(), subject, slot.Digest)
		if err != nil || got != nil ||
			policy.Judge(policy.Launch, policy.Settings{}, report).Class() != evidence.Integrity {
			t.Fatalf("%s: byte %d ^ %#x went unnoticed: %v %v", path, at, flip, report, err)
		}
		rel, _ := filepath.Rel(dir, path)
		name := strings.TrimPrefix(filepath.ToSlash(rel), "content/")
		if !slices.ContainsFunc(report, func(e evidence.Evidence) bool { return e.Subject == subject+": "+name }) {
			t.Fatalf("%s is not named: %+v", name, report)
		}
		os.WriteFile(path, data, 0)
	}
	if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
		t.Fatal("the restored slot is bad:", report, err)
	}
}

func TestVerifyAndPrune(t *testing.T) {
	quiet(t)
	s := newStore(t)
	if checked, err := s.Verify(t.Context()); err != nil || len(checked) != 0 {
		t.Fatal(checked, err)
	}
	a := put(t, s, sample)
	b := put(t, s, map[string]string{"one": "1"})
	c := put(t, s, map[string]string{"two": "2"})
	os.WriteFile(tamper(t, b)+"/content/one", []byte("2"), 0)
	os.MkdirAll(s.Path()+"/sha256/zz", 0o700)
	os.WriteFile(s.Path()+"/sha256/zz/stray", nil, 0o600)
	os.WriteFile(s.Path()+"/sha256/file", nil, 0o600)
	checked, err := s.Verify(t.Context())
	if err != nil || len(checked) != 5 {
		t.Fatal(checked, err)
	}
	bad := map[string]bool{}
	for _, c := range checked {
		v := policy.Judge(policy.Check, policy.Settings{}, c.Report)
		if bad[c.Name] = !v.Allowed(); bad[c.Name] && v.Class() != evidence.Integrity {
			t.Errorf("%s: %v", c.Name, v.Err())
		}
		if !bad[c.Name] && c.Ref != subject {
			t.Errorf("%+v", c)
		}
	}
	name := func(slot *Slot) string { at, _ := address(slot.Digest); return at }
	if bad[name(a)] || !bad[name(b)] || bad[name(c)] || !bad["sha256/file"] || !bad["sha256/zz/stray"] {
		t.Errorf("%v", bad)
	}

	keep := func(d digest.Digest) bool { return d.String() == a.Digest.String() }
	if gone, err := s.Prune(t.Context(), time.Now().Add(-time.Hour), keep); err != nil || len(gone) != 0 {
		t.Fatal("young slots were removed:", gone, err)
	}
	gone, err := s.Prune(t.Context(), time.Now().Add(time.Hour), keep)
	if err != nil || len(gone) != 2 {
		t.Fatal(gone, err)
	}
	if got, _, err := s.Audit(t.Context(), subject, a.Digest); got == nil {
		t.Error("a slot to keep is gone:", err)
	}
	for _, d := range []digest.Digest{b.Digest, c.Digest} {
		if _, _, err := s.Audit(t.Context(), subject, d); !errors.Is(err, ErrNotStored) {
			t.Error(err)
		}
	}
	empty(t, filepath.Join(s.Path(), "staging"))
}

func TestCancel(t *testing.T) {
	s := newStore(t)
	slot := put(t, s, sample)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, err := s.Audit(ctx, subject, slot.Digest); got != nil || !errors.Is(err, context.Canceled) {
		t.Fatal(got, err)
	}
	if path, err := s.Quarantine(ctx, slot.Digest, "no"); path != "" || err == nil {
		t.Fatal("a slot was moved because the caller gave up")
	}
}

// The quarantine is pruned by age and by size: the oldest goes first, what is young stays, and no link is followed.
func TestPruneQuarantine(t *testing.T) {
	s := newStore(t)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Hour) }
	if gone, err := s.PruneQuarantine(t.Context(), now, now, 0); err != nil || len(gone) != 0 {
		t.Fatal(gone, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(elsewhere, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Path(), quarantineDir)
	begin := func() {
		t.Helper()
		for age, size := range map[int]int{1: 100, 10: 200, 20: 300, 40: 10} {
			at := filepath.Join(dir, fmt.Sprintf("%064x-%s-abcdefgh", age, hour(age).Format(quarantineTime)))
			os.RemoveAll(at)
			if err := os.MkdirAll(filepath.Join(at, contentDir), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, contentDir, "a"), make([]byte, size), 0o400); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(at, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(at, contentDir), 0o500); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		before, young time.Time
		most          int64
		left          string // ages in hours
	}{
		"nothing":                {hour(50), hour(24), 1 << 20, "[1 10 20 40]"},
		"by age":                 {hour(15), hour(5), 1 << 20, "[1 10]"},
		"by size, oldest first":  {hour(50), hour(0), 350, "[1 10]"},
		"no room":                {hour(50), hour(0), 0, "[]"},
		"what is young stays":    {hour(0), hour(15), 0, "[1 10]"},
		"young, and over a size": {hour(50), hour(5), 50, "[1]"},
	} {
		begin()
		gone, err := s.PruneQuarantine(t.Context(), c.before, c.young, c.most)
		entries, _ := os.ReadDir(dir)
		left := []int{}
		for _, e := range entries {
			age, _ := strconv.ParseInt(e.Name()[:64], 16, 64)
			left = append(left, int(age))
		}
		if fmt.Sprint(left) != c.left || err != nil || len(gone)+len(left) != 4 {
			t.Errorf("%s: %v are left, %v gone: %v", name, left, gone, err)
		}
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}
