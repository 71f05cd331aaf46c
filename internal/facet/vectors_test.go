package facet

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

type documentVector struct {
	Name     string   `json:"name"`
	Text     string   `json:"text"`
	Paths    []string `json:"paths"`
	Warnings int      `json:"warnings"`
	Error    *string  `json:"error"` // part of the message

	Entries map[string]string `json:"entries"` // of a manifest: what its servers are called where they are installed
}

// refusedAs reports whether v wants an error, and checks that err is it.
func (v documentVector) refusedAs(t *testing.T, err error) bool {
	t.Helper()
	if v.Error == nil {
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
	if err == nil || !strings.Contains(err.Error(), *v.Error) {
		t.Fatalf("got %v; want an error that holds %q", err, *v.Error)
	}
	if evidence.ClassOf(err) != evidence.Validation || strings.ContainsAny(err.Error(), "\x00\n") {
		t.Errorf("%q has class %v", err, evidence.ClassOf(err))
	}
	return true
}

type versionVector struct {
	Text   string   `json:"text"`
	Among  []string `json:"among"`
	Newest string   `json:"newest"` // "" for none
	Error  bool     `json:"error"`
}

type vectors struct {
	Manifests    []documentVector `json:"manifests"`
	Sources      []documentVector `json:"sources"`
	Builds       []documentVector `json:"builds"`
	Requirements []versionVector  `json:"requirements"`
	Floors       []versionVector  `json:"floors"`
	Archives     []struct {
		Name        string            `json:"name"`
		Gzip        string            `json:"gzip"` // base64 of the gzip of the .facet
		Error       string            `json:"error"`
		ContentHash string            `json:"content_hash"`
		Integrity   string            `json:"content_integrity"`
		Files       map[string]string `json:"files"`
		Mismatch    []string          `json:"mismatch"` // claims of the archive that are false: "" or a member
	} `json:"archives"`
}

func readVectors(t testing.TB) vectors {
	data, err := os.ReadFile("../../spec/facet.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var v vectors
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestManifestVectors(t *testing.T) {
	for _, v := range readVectors(t).Manifests {
		t.Run(v.Name, func(t *testing.T) {
			m, err := ParseManifest([]byte(v.Text))
			if v.refusedAs(t, err) {
				return
			}
			if got := m.Paths(); !slices.Equal(got, v.Paths) || len(m.Warnings) != v.Warnings ||
				string(m.Raw) != v.Text {
				t.Errorf("got %q, %q", got, m.Warnings)
			}
			for name, want := range v.Entries {
				found, _, ok := m.FindServer(want)
				if got := EntryName(name); got != want || !ok || found != name {
					t.Errorf("the server %q is called %q, and %q is %q", name, got, want, found)
				}
			}
		})
	}
}

func TestSourceVectors(t *testing.T) {
	for _, v := range readVectors(t).Sources {
		t.Run(v.Name, func(t *testing.T) {
			s, err := ParseSource([]byte(v.Text))
			if !v.refusedAs(t, err) &&
				(len(s.Warnings) != v.Warnings || s.Entry != "dist/index.js" || s.Name != "@acme/notes" ||
					s.Version != "1.4.0") {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestBuildVectors(t *testing.T) {
	for _, v := range readVectors(t).Builds {
		t.Run(v.Name, func(t *testing.T) {
			b, err := ParseBuild([]byte(v.Text))
			if v.refusedAs(t, err) {
				return
			}
			data, err := b.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseBuild(data)
			if err != nil || again.Integrity.String() != b.Integrity.String() || len(again.Files) != len(b.Files) {
				t.Errorf("%s: %v", data, err)
			}
		})
	}
}

func TestVersionVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Requirements {
		r, err := artifact.ParseRequirement(c.Text)
		c.check(t, err, r.String(), r.Newest, r.Matches)
		if r.Exact() != (err == nil && strings.Count(c.Text, ".") == 2 && !strings.Contains(c.Text, "*")) {
			t.Errorf("%q: exact %v", c.Text, r.Exact())
		}
	}
	for _, c := range v.Floors {
		f, err := artifact.ParseFloor(c.Text)
		c.check(t, err, f.String(), f.Newest, f.Matches)
	}
	if (artifact.Requirement{}).Matches("1.0.0") || (artifact.Floor{}).Matches("1.0.0") {
		t.Error("the zero value matches")
	}
}

func (c versionVector) check(t *testing.T, err error, text string, newest func([]string) (string, bool),
	matches func(string) bool) {
	t.Helper()
	if (err != nil) != c.Error {
		t.Errorf("%q: %v", c.Text, err)
		return
	}
	if c.Error {
		return
	}
	got, ok := newest(c.Among)
	if got != c.Newest || ok != (c.Newest != "") || text != c.Text {
		t.Errorf("%q: newest %q, %v; want %q", c.Text, got, ok, c.Newest)
	}
	slices.Reverse(c.Among)
	if again, _ := newest(c.Among); again != got {
		t.Errorf("%q: newest %q from behind", c.Text, again)
	}
	if ok && !matches(got) {
		t.Errorf("%q does not match %q", c.Text, got)
	}
}

func TestArchiveVectors(t *testing.T) {
	for _, v := range readVectors(t).Archives {
		t.Run(v.Name, func(t *testing.T) {
			a, err := Read(bytes.NewReader(unzipped(t, v.Gzip)), archive.Limits{}, nil)
			if v.Error != "" {
				if err == nil || !strings.Contains(err.Error(), v.Error) ||
					evidence.ClassOf(err) != evidence.Validation {
					t.Fatalf("got %v; want an error that holds %q", err, v.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for path, d := range a.Digests {
				got[path] = d.String()
			}
			if a.ContentHash.String() != v.ContentHash || a.Integrity.String() != v.Integrity ||
				!maps.Equal(got, v.Files) {
				t.Errorf("got %s, %s, %v", a.ContentHash, a.Integrity, got)
			}
			var wrong []string
			for _, e := range a.Evidence("x", "x.facet") {
				switch e.Outcome {
				case evidence.Match:
				case evidence.Mismatch:
					wrong = append(wrong, strings.TrimPrefix(strings.TrimPrefix(e.Subject, "x"), "/"))
				default:
					t.Errorf("%+v", e)
				}
			}
			if !slices.Equal(wrong, v.Mismatch) {
				t.Errorf("mismatch of %q, want %q", wrong, v.Mismatch)
			}
		})
	}
}

func unzipped(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}
