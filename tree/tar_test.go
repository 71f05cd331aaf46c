package tree

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/hallmark-mcp/hallmark/digest"
)

// tarVectors is the shape of spec/canonical-tar.json.
type tarVectors struct {
	Trees []struct {
		Name  string `json:"name"`
		Files []struct {
			Path   string `json:"path"`
			Text   string `json:"text"`
			Base64 string `json:"base64"`
			Repeat int    `json:"repeat"`
		} `json:"files"`
		Size  int64  `json:"size"`
		Tar   string `json:"facet-tar"`
		Error string `json:"error"`
	} `json:"trees"`
	Headers []struct {
		Path   string `json:"path"`
		Size   int64  `json:"size"`
		Header string `json:"header"`
	} `json:"headers"`
	Order []string `json:"order"`
}

func TestTarVectors(t *testing.T) {
	data, err := os.ReadFile("../spec/canonical-tar.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var v tarVectors
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Trees {
		t.Run(c.Name, func(t *testing.T) {
			m, files := memory{}, []File(nil)
			for _, f := range c.Files {
				content := []byte(f.Text)
				if f.Base64 != "" {
					if content, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
						t.Fatal(err)
					}
				}
				content = bytes.Repeat(content, max(f.Repeat, 1))
				m[f.Path] = entry{content: content}
				files = append(files, File{Path: f.Path, Size: int64(len(content))})
			}
			d, size, err := FacetTar(t.Context(), files, m.open, 0)
			if c.Error != "" {
				if err == nil || !strings.Contains(err.Error(), c.Error) {
					t.Fatalf("got %v, %v; want an error that holds %q", d, err, c.Error)
				}
				return
			}
			if err != nil || d.String() != c.Tar || size != c.Size {
				t.Fatalf("got %s, %d bytes, %v; want %s, %d bytes", d, size, err, c.Tar, c.Size)
			}
		})
	}
	for _, c := range v.Headers {
		got, err := TarHeader(c.Path, c.Size)
		want := append([]byte(c.Header), make([]byte, TarBlock-len(c.Header))...)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("header of %q, %d bytes: got %q, %v", c.Path, c.Size, got, err)
		}
	}
	for i, a := range v.Order {
		for j, b := range v.Order {
			if got := CompareUTF16(a, b); got != min(max(i-j, -1), 1) {
				t.Errorf("CompareUTF16(%q, %q) = %d", a, b, got)
			}
		}
	}
}

// The archive is a tar for others too: what is read back is what was written, in the
// order of UTF-16 code units, whatever the number of readers.
func TestTarIsTar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawTree(t)
		var out bytes.Buffer
		size, err := WriteTar(t.Context(), &out, m.files(), m.open, rapid.IntRange(0, 4).Draw(t, "width"))
		if err != nil || size != int64(out.Len()) || size%TarRecord != 0 {
			t.Fatal(size, out.Len(), err)
		}
		d, _, err := FacetTar(t.Context(), m.files(), m.open, 1)
		if err != nil || d.String() != digest.FromBytes(out.Bytes()).String() {
			t.Fatal(d, err)
		}
		r := tar.NewReader(&out)
		var paths []string
		for {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(content, m[h.Name].content) || h.Mode != 0o644 || h.ModTime.Unix() != 0 {
				t.Fatal(h, err)
			}
			paths = append(paths, h.Name)
		}
		if len(paths) != len(m) || !slices.IsSortedFunc(paths, units) {
			t.Fatal(paths)
		}
	})
}

func units(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func TestCompareUTF16(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("a/é\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff")))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got, want := CompareUTF16(a, b), units(a, b); got != want {
			t.Fatalf("CompareUTF16(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func TestTarRefusals(t *testing.T) {
	m := memory{"a": {content: []byte("12345")}}
	for _, size := range []int64{4, 6, 600, -1, MaxTarSize + 1} {
		if _, _, err := FacetTar(t.Context(), []File{{Path: "a", Size: size}}, m.open, 1); err == nil {
			t.Errorf("5 bytes declared as %d: no error", size)
		}
	}
	if _, err := TarHeader("", 0); !errors.Is(err, ErrPath) {
		t.Error(err)
	}
	if _, err := TarHeader("a", MaxTarSize+1); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := WriteTar(t.Context(), failing{}, m.files(), m.open, 1); err == nil {
		t.Error("a writer that fails is not noticed")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }
