package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

var facetSample = map[string]string{"a.md": "content A", "b.md": "content B"}

// The vector of spec/canonical-tar.md.
const facetSum = "sha256:63ab91b7cb80ca647428dbac05a6d0862659a1c8cec2768541ef0fe1edf31a6e"

func putFacet(t *testing.T, s *Store, files map[string]string) *Slot {
	t.Helper()
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	fill(t, st.Dir(), files)
	st.ContentHash = digest.FromBytes([]byte("archive"))
	o, err := st.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slot, err := s.Put(t.Context(), admit(t, o.SHA256()), subject, st, "kit@1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// A slot for the contents of an archive is addressed by their facet-tar fingerprint, and
// its sidecar has that, a digest of each file and the transport hash.
func TestFacetSlot(t *testing.T) {
	quiet(t)
	base := newStore(t)
	s := base.WithScheme(evidence.FacetTar)
	slot := putFacet(t, s, facetSample)
	if slot.Digest.String() != facetSum || filepath.Base(filepath.Dir(slot.Dir())) != slot.Digest.Hex() {
		t.Fatal(slot)
	}
	got, report, err := s.Audit(t.Context(), subject, slot.Digest)
	if err != nil || got == nil || report.Count(evidence.Match) != 2 || report[0].Scheme != evidence.FacetTar ||
		report[1].Authority != evidence.Sidecar {
		t.Fatal(got, report, err)
	}
	if len(got.Assets) != 2 || got.Assets["a.md"].String() != digest.FromBytes([]byte("content A")).String() ||
		got.Size != 18 {
		t.Errorf("assets %v, size %d", got.Assets, got.Size)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(slot.Dir()), sidecarName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"scheme":"facet-tar"`, `"integrity":"` + facetSum + `"`,
		`"content_hash":"` + digest.FromBytes([]byte("archive")).String() + `"`,
		`"a.md":{"sha256":"` + got.Assets["a.md"].String()} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the sidecar has no %s:\n%s", want, data)
		}
	}
	// Under the other fingerprint the slot is none.
	if got, report, err := base.Audit(t.Context(), subject, slot.Digest); got != nil || err != nil ||
		report.Count(evidence.Mismatch) == 0 {
		t.Error(got, report, err)
	}
	// Verify looks at both kinds; Prune removes both.
	put(t, base, sample)
	all, err := base.Verify(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, c := range all {
		if c.Report.Count(evidence.Match) != len(c.Report) {
			t.Errorf("%+v", c)
		}
	}
	gone, err := base.Prune(t.Context(), time.Now().Add(time.Minute), func(digest.Digest) bool { return false })
	if err != nil || len(gone) != 2 {
		t.Error(gone, err)
	}
}

// The list of digests is compared on every hit, although the tree matches.
func TestFacetSidecarListed(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, slot *Slot, note *sidecar){
		"another digest": func(t *testing.T, _ *Slot, note *sidecar) {
			f := note.Files["a.md"]
			f.SHA256 = note.Files["b.md"].SHA256
			note.Files["a.md"] = f
		},
		"a file less": func(t *testing.T, _ *Slot, note *sidecar) { delete(note.Files, "a.md") },
		"a file more": func(t *testing.T, _ *Slot, note *sidecar) { note.Files["c.md"] = note.Files["a.md"] },
		"executable": func(t *testing.T, slot *Slot, note *sidecar) {
			f := note.Files["a.md"]
			f.Exec = true
			note.Files["a.md"] = f
			if err := os.Chmod(filepath.Join(slot.Dir(), "a.md"), 0o555); err != nil {
				t.Fatal(err)
			}
		},
		"another fingerprint": func(t *testing.T, _ *Slot, note *sidecar) {
			note.Integrity = note.Files["a.md"].SHA256
		},
		"another scheme": func(t *testing.T, _ *Slot, note *sidecar) { note.Scheme = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t).WithScheme(evidence.FacetTar)
			slot := putFacet(t, s, facetSample)
			path := filepath.Join(filepath.Dir(slot.Dir()), sidecarName)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			note, err := parseSidecar(data)
			if err != nil || note.decodeFiles() != nil {
				t.Fatal(err)
			}
			tamper(t, slot)
			change(t, slot, note)
			if data, err = note.encode(); err != nil {
				t.Fatal(err)
			}
			os.Chmod(path, 0o600)
			if err := os.WriteFile(path, data, 0o400); err != nil {
				t.Fatal(err)
			}
			got, report, err := s.Audit(t.Context(), subject, slot.Digest)
			if err != nil || got != nil || report.Count(evidence.Mismatch) == 0 {
				t.Fatal(got, report, err)
			}
		})
	}
}

// The entry of a server that is a program may be executable, and no other file.
func TestFacetProgram(t *testing.T) {
	quiet(t)
	server := func(runtime, entry string) string {
		return `{"name":"kit","version":"1.0.0","runtime":"` + runtime + `","entry":"` + entry + `"}`
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		good  bool
	}{
		{"entry", map[string]string{"server.json": server("binary", "bin/s"), "bin/s!": "program", "data": "x"}, true},
		{"another file", map[string]string{"server.json": server("binary", "bin/s"), "bin/s!": "program", "data!": "x"},
			false},
		{"another runtime", map[string]string{"server.json": server("node", "bin/s"), "bin/s!": "program", "data": "x"},
			false},
		{"no server.json", map[string]string{"bin/s!": "program"}, false},
		{"no server", map[string]string{"server.json": "{}", "bin/s!": "program"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t).WithScheme(evidence.FacetTar)
			slot := putFacet(t, s, c.files)
			got, report, err := s.Audit(t.Context(), subject, slot.Digest)
			if err != nil || (got != nil) != c.good || c.good != (report.Count(evidence.Mismatch) == 0) {
				t.Fatal(got, report, err)
			}
		})
	}
}

// Every single-byte change of content or sidecar is found (R2, in small).
func TestFacetFlips(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	quiet(t)
	s := newStore(t).WithScheme(evidence.FacetTar)
	slot := putFacet(t, s,
		map[string]string{"facet.json": strings.Repeat("{}", 300), "skills/x/SKILL.md": strings.Repeat("é", 700)})
	tamper(t, slot)
	var files []string
	for _, name := range []string{"content/facet.json", "content/skills/x/SKILL.md", sidecarName} {
		files = append(files, filepath.Join(filepath.Dir(slot.Dir()), name))
	}
	for range 1000 {
		path := files[rand.N(len(files))]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := rand.N(len(data)), byte(1)<<rand.N(8)
		data[at] ^= bit
		os.Chmod(path, 0o600)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := s.Audit(t.Context(), subject, slot.Digest); got != nil || err != nil {
			t.Fatalf("byte %d of %s ^ %#x: %v %v", at, path, bit, got, err)
		}
		data[at] ^= bit
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, report, err := s.Audit(t.Context(), subject, slot.Digest); got == nil {
		t.Fatal("not as it was", report, err)
	}
}
