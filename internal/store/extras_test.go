package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// refused reports that an audit refuses the slot as integrity, in the flows that use one
// and in Verify.
func refused(t *testing.T, s *Store, slot *Slot, what string) {
	t.Helper()
	got, report, err := s.Audit(t.Context(), subject, slot.Digest)
	if err != nil || got != nil ||
		policy.Judge(policy.Launch, policy.Settings{}, report).Class() != evidence.Integrity {
		t.Errorf("%s went unnoticed: %v %v", what, report, err)
	}
	checked, err := s.Verify(t.Context())
	bad := slices.ContainsFunc(checked, func(c SlotReport) bool {
		return policy.Judge(policy.Check, policy.Settings{}, c.Report).Class() == evidence.Integrity
	})
	if err != nil || !bad {
		t.Errorf("%s went unnoticed in Verify: %+v %v", what, checked, err)
	}
}

// TestAuditWithoutSidecar: a slot whose sidecar was not read is never handed out. No audit
// comes so far with evidence that matches throughout; that it would be refused all the same
// is for whoever changes what is reported.
func TestAuditWithoutSidecar(t *testing.T) {
	match, mismatch := evidence.Evidence{Outcome: evidence.Match}, evidence.Evidence{Outcome: evidence.Mismatch}
	for _, tt := range []struct {
		note   *sidecar
		report evidence.Report
		bad    bool
	}{
		{&sidecar{}, evidence.Report{match, match}, false},
		{&sidecar{}, evidence.Report{match, mismatch}, true},
		{nil, evidence.Report{match, match}, true},
		{nil, evidence.Report{mismatch}, true},
	} {
		if got := (&audit{sidecar: tt.note, report: tt.report}).isBad(); got != tt.bad {
			t.Errorf("sidecar %v, %v: bad is %t", tt.note != nil, tt.report, got)
		}
	}
}

// Whatever is put into a slot beside what was written, or given another mode that means
// something, is found, wherever it is; and everything undone, the slot is good again.
func TestExtras(t *testing.T) {
	for _, scheme := range []evidence.Scheme{evidence.Tree, evidence.FacetTar} {
		s := newStore(t).WithScheme(scheme)
		var slot *Slot
		if scheme == evidence.FacetTar {
			slot = putFacet(t, s, map[string]string{"a.md": "A", "skills/x/SKILL.md": "B", "skills/x/deep/c.txt": "C"})
		} else {
			slot = put(t, s, sample)
		}
		dir := tamper(t, slot)
		var dirs, all []string
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d.IsDir() {
				dirs = append(dirs, path)
			}
			all = append(all, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		type mutation struct {
			name     string
			do, undo func() error
		}
		var mutations []mutation
		for _, d := range dirs {
			extra := filepath.Join(d, "extra")
			remove := func() error { return os.RemoveAll(extra) }
			mutations = append(mutations,
				mutation{"mkdir " + extra, func() error { return os.Mkdir(extra, 0o755) }, remove},
				mutation{"mkdir below " + extra, func() error { return os.MkdirAll(extra+"/a/b", 0o755) }, remove},
				mutation{"file " + extra, func() error { return os.WriteFile(extra, nil, 0o644) }, remove},
				mutation{"link " + extra, func() error { return os.Symlink("sidecar.json", extra) }, remove})
		}
		if runtime.GOOS != "windows" {
			for _, path := range all {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				modes := []fs.FileMode{fs.ModeSetuid, fs.ModeSetgid}
				if info.IsDir() {
					modes = append(modes, fs.ModeSticky)
				} else if filepath.Base(path) != sidecarName {
					modes = append(modes, 0) // the permission to execute, turned over
				}
				for _, mode := range modes {
					to := info.Mode() | mode
					if mode == 0 {
						to = info.Mode() ^ 0o111
					}
					mutations = append(mutations, mutation{fmt.Sprintf("chmod %v %s", to, path),
						func() error { return os.Chmod(path, to) },
						func() error { return os.Chmod(path, info.Mode()) }})
				}
			}
		}
		for _, path := range all {
			if path == dir {
				continue
			}
			away := filepath.Join(s.root, "..", "away")
			mutations = append(mutations, mutation{"remove " + path,
				func() error { return os.Rename(path, away) }, func() error { return os.Rename(away, path) }})
		}
		for _, m := range mutations {
			if err := m.do(); err != nil {
				t.Fatal(err)
			}
			refused(t, s, slot, m.name)
			if err := m.undo(); err != nil {
				t.Fatal(err)
			}
		}
		if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
			t.Errorf("the restored slot is bad: %v, %v", report, err)
		}
	}
}

// harmless are the members of a sidecar that say where the tree came from and when. They
// are compared with nothing, and nothing is decided by them.
var harmless = map[string]string{
	"content_hash": "of the archive that the tree was unpacked from, which is not kept; no flow reads it",
}

// Whoever can write the store can write a sidecar whose own digest holds. One with a member
// less, a member more, or another list of files than that of the content is refused.
func TestSidecarResealed(t *testing.T) {
	for _, scheme := range []evidence.Scheme{evidence.Tree, evidence.FacetTar} {
		s := newStore(t).WithScheme(scheme)
		var slot *Slot
		if scheme == evidence.FacetTar {
			slot = putFacet(t, s, map[string]string{"a.md": "A", "x/b.md": "B\"<&\u2028é"})
		} else {
			slot = put(t, s, map[string]string{"a": "A", "x/b!": "B", "x/é<&": "C"})
		}
		path := filepath.Join(tamper(t, slot), sidecarName)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(before[:strings.LastIndex(string(before), selfBefore)]) + "}"
		check := func(what string, body []byte) {
			t.Helper()
			sealed := append(body[:len(body)-1:len(body)-1], selfBefore...)
			sealed = append(append(sealed, digest.FromBytes(body[:len(body)-1]).String()...), selfAfter...)
			if err := os.WriteFile(path, sealed, 0o644); err != nil {
				t.Fatal(err)
			}
			refused(t, s, slot, what)
		}
		plain := func() (note *sidecar, members map[string]json.RawMessage) {
			note = new(sidecar)
			if err := errors.Join(json.Unmarshal([]byte(text), note), json.Unmarshal([]byte(text), &members)); err !=
				nil {
				t.Fatal(err)
			}
			return note, members
		}
		seal := func(what string, change func(*sidecar)) {
			t.Helper()
			note, _ := plain()
			change(note)
			body, err := json.Marshal(note)
			if err != nil {
				t.Fatal(err)
			}
			check(what, body)
		}

		// Each member is needed, in the order that it has.
		_, members := plain()
		for name, value := range members {
			member := fmt.Sprintf("%q:%s", name, value)
			if harmless[name] == "" {
				check("without "+name,
					[]byte(strings.Replace(strings.Replace(text, ","+member, "", 1), member+",", "", 1)))
			}
			check("twice "+name, []byte(strings.Replace(text, member, member+","+member, 1)))
			check("in capitals "+name, []byte(strings.Replace(text, member, strings.ToUpper(member[:2])+member[2:], 1)))
		}
		check("one member more", []byte(strings.Replace(text, `"ref":`, `"more":1,"ref":`, 1)))
		check("null files", []byte(strings.Replace(text, string(members["files"]), "null", 1)))

		// Each file, each member of its note.
		note, _ := plain()
		for file, n := range note.Files {
			seal("without "+file, func(c *sidecar) { delete(c.Files, file) })
			seal("without "+file+", and its size", func(c *sidecar) { delete(c.Files, file); c.Size -= n.Size })
			seal("another file "+file, func(c *sidecar) { delete(c.Files, file); c.Files["z"] = n })
			seal("another size of "+file, func(c *sidecar) { n.Size++; c.Files[file] = n; c.Size++ })
			seal("another mode of "+file, func(c *sidecar) { n := c.Files[file]; n.Exec = !n.Exec; c.Files[file] = n })
			raw, err := json.Marshal(note.Files[file])
			if err != nil {
				t.Fatal(err)
			}
			for _, cut := range []string{fmt.Sprintf(`,"size":%d`, note.Files[file].Size),
				fmt.Sprintf(`"sha256":"%s",`, note.Files[file].SHA256)} {
				check("without "+cut,
					[]byte(strings.Replace(text, string(raw), strings.Replace(string(raw), cut, "", 1), 1)))
			}
			for _, names := range []string{"{}", "null", `""`} { // a list of names
				check(names+" of "+file, []byte(strings.Replace(text, string(raw), names, 1)))
			}
		}
		seal("one file more", func(c *sidecar) { c.Files["z"] = fileNote{SHA256: slot.Digest} })
		seal("no file", func(c *sidecar) { c.Files = map[string]fileNote{} })
		seal("another size", func(c *sidecar) { c.Size++ })

		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
			t.Errorf("the restored slot is bad: %v, %v", report, err)
		}
	}
}

// The digests that a sidecar lists of a tree's files are compared by Verify, and by any
// audit that finds something: that of the whole does not need them.
func TestSidecarDigests(t *testing.T) {
	s := newStore(t)
	slot := put(t, s, sample)
	path := filepath.Join(tamper(t, slot), sidecarName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseSidecar(data)
	if err == nil {
		err = c.decodeFiles()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := c.Files["package.json"]
	n.SHA256 = slot.Digest
	c.Files["package.json"] = n
	if data, err = c.encode(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	checked, err := s.Verify(t.Context())
	if err != nil || len(checked) != 1 ||
		policy.Judge(policy.Check, policy.Settings{}, checked[0].Report).Class() != evidence.Integrity {
		t.Errorf("%+v, %v", checked, err)
	}
}

// What programs leave in a tree and no fingerprint tells does not get into a slot.
func TestPutRemovesOddities(t *testing.T) {
	s := newStore(t)
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, st.Dir(), sample)
	if err := errors.Join(os.MkdirAll(filepath.Join(st.Dir(), "empty/below/it"), 0o755),
		os.Mkdir(filepath.Join(st.Dir(), "lib/none"), 0o755),
		os.Chmod(filepath.Join(st.Dir(), "lib/index.js"), 0o644|fs.ModeSetuid),
		os.Chmod(filepath.Join(st.Dir(), "lib"), 0o755|fs.ModeSetgid|fs.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	o, err := st.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slot, err := s.Put(t.Context(), admit(t, o.SHA256()), subject, st, subject)
	if err != nil {
		t.Fatal(err)
	}
	if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
		t.Errorf("%v, %v", report, err)
	}
	for _, name := range []string{"empty", "lib/none"} {
		if _, err := os.Lstat(filepath.Join(slot.Dir(), name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

// Verify names whatever is no part of a store, at each place of it, and what is in
// quarantine can be listed.
func TestVerifyStrays(t *testing.T) {
	quiet(t)
	s := newStore(t)
	put(t, s, sample)
	if away, err := s.ListQuarantined(); err != nil || len(away) != 0 {
		t.Fatal(away, err)
	}
	bad := put(t, s, map[string]string{"one": "1"})
	os.WriteFile(filepath.Join(tamper(t, bad), contentDir, "one"), []byte("2"), 0)
	moved, err := s.Quarantine(t.Context(), bad.Digest, "test")
	if err != nil {
		t.Fatal(err)
	}
	if away, err := s.ListQuarantined(); err != nil || !slices.Equal(away, []string{moved}) {
		t.Errorf("%v, %v", away, err)
	}
	clean, err := s.Verify(t.Context())
	if err != nil || len(clean) != 1 {
		t.Fatal(clean, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, dir := range []string{".", slotsDir, locksDir} {
		for kind, make := range map[string]func(string) error{
			"file":      func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"directory": func(path string) error { return os.Mkdir(path, 0o700) },
			"link":      func(path string) error { return os.Symlink("x", path) },
		} {
			for _, name := range []string{"stray", ".hidden", fmt.Sprintf("%c%c", 'g'+r.IntN(19), 'g'+r.IntN(19)),
				"SHA256"} {
				name = filepath.Join(dir, name)
				path := filepath.Join(s.root, name)
				if err := make(path); err != nil {
					t.Fatal(err)
				}
				checked, err := s.Verify(t.Context())
				if i := slices.IndexFunc(checked, func(c SlotReport) bool {
					return c.Name == name
				}); err != nil || len(checked) != 2 || i < 0 ||
					policy.Judge(policy.Check, policy.Settings{}, checked[i].Report).Class() != evidence.Integrity {
					t.Errorf("a %s %s: %+v, %v", kind, name, checked, err)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// A link in the place of one of the store's own directories.
	for _, dir := range []string{slotsDir, locksDir, stagingDir, quarantineDir} {
		path := filepath.Join(s.root, dir)
		if err := errors.Join(os.Rename(path, path+"-away"), os.Symlink(dir+"-away", path)); err != nil {
			t.Fatal(err)
		}
		checked, err := s.Verify(t.Context())
		if err != nil || !slices.ContainsFunc(checked, func(c SlotReport) bool { return c.Name == dir }) {
			t.Errorf("%s a link: %+v, %v", dir, checked, err)
		}
		if err := errors.Join(os.Remove(path), os.Rename(path+"-away", path)); err != nil {
			t.Fatal(err)
		}
	}
}
