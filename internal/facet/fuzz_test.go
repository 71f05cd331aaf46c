package facet

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// FuzzManifest holds that the plan of a manifest which is read can be packed.
func FuzzManifest(f *testing.F) {
	for _, v := range readVectors(f).Manifests {
		f.Add([]byte(v.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		var names archive.Names
		paths := m.Paths()
		for _, path := range paths {
			if _, err := tree.TarHeader(path, 0); err != nil {
				t.Fatal(err)
			}
			if err := names.Add(path); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.IsSortedFunc(paths, tree.CompareUTF16) || !CheckName(m.Name) {
			t.Fatal(m.Name, paths)
		}
	})
}

func FuzzSource(f *testing.F) {
	for _, v := range readVectors(f).Sources {
		f.Add([]byte(v.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParseSource(data); err == nil && archive.CheckPath(s.Entry) != nil {
			t.Fatal(s.Entry)
		}
	})
}

// FuzzBuild holds that what is read is written so that it reads alike.
func FuzzBuild(f *testing.F) {
	for _, v := range readVectors(f).Builds {
		f.Add([]byte(v.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBuild(data)
		if err != nil {
			return
		}
		first, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBuild(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Fatal(err)
		}
	})
}

// FuzzRead holds that an archive whose own claims match has the contents that they
// name.
func FuzzRead(f *testing.F) {
	for _, v := range readVectors(f).Archives {
		f.Add(unzipped(f, v.Gzip))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		contents := directory{}
		a, err := Read(bytes.NewReader(data), archive.Limits{Unpacked: 1 << 22},
			func(e archive.Entry, r io.Reader) error {
				content, err := io.ReadAll(r)
				contents[e.Path] = string(content)
				return err
			})
		if err != nil || a.Evidence("x", "y").Count(evidence.Match) != 1+len(a.Files) {
			return
		}
		d, _, err := tree.FacetTar(t.Context(), contents.files(), contents.open, 1)
		if err != nil || d.String() != a.Build.Integrity.String() {
			t.Fatal(d, err)
		}
	})
}

func FuzzRequirement(f *testing.F) {
	for _, v := range readVectors(f).Requirements {
		f.Add(v.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := artifact.ParseRequirement(text)
		if err != nil {
			return
		}
		if r.String() != text || r.Exact() && !r.Matches(text) {
			t.Fatal(text)
		}
	})
}
