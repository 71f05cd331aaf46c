package facet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// update writes the results into the vectors. A version of the rule that was released never changes them.
var update = flag.Bool("update", false, "write what the rules give into spec/wrap.json and spec/wrap-2.json")

type vectorFile struct {
	Path   string `json:"path"`
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
	Repeat int    `json:"repeat,omitempty"`
}

type vector struct {
	Name      string            `json:"name"`
	Given     string            `json:"given,omitempty"`
	Files     []vectorFile      `json:"files"`
	Links     map[string]string `json:"links,omitempty"`
	Error     *string           `json:"error,omitempty"`    // part of the message
	Manifest  string            `json:"manifest,omitempty"` // facet.json
	Paths     []string          `json:"paths,omitempty"`
	Integrity string            `json:"integrity,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
}

type wrapVectors struct {
	Names [][2]string `json:"names,omitempty"` // what is written, and the name that is made of it
	Wraps []vector    `json:"wraps"`
}

// dir is the directory of a vector.
func (v vector) dir(t *testing.T) Dir {
	contents := map[string][]byte{}
	d := Dir{Links: v.Links, Open: func(p string) (io.ReadCloser, error) {
		data, ok := contents[p]
		if !ok {
			return nil, os.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
	for _, f := range v.Files {
		data := []byte(f.Text)
		if f.Base64 != "" {
			var err error
			if data, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
				t.Fatal(err)
			}
		}
		data = bytes.Repeat(data, max(f.Repeat, 1))
		contents[f.Path] = data
		d.Files = append(d.Files, tree.File{Path: f.Path, Size: int64(len(data))})
	}
	return d
}

// TestVectors wraps the directories of both files of vectors, each by its rule.
func TestVectors(t *testing.T) {
	for rule, at := range map[int]string{1: "../../spec/wrap.json", 2: "../../spec/wrap-2.json"} {
		t.Run(path.Base(at), func(t *testing.T) { checkVectors(t, rule, at) })
	}
}

func checkVectors(t *testing.T, rule int, at string) {
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var all wrapVectors
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, pair := range all.Names {
		if got := assetName(pair[0]); got != pair[1] {
			t.Errorf("of %q the name %q is made, want %q", pair[0], got, pair[1])
		}
	}
	for i, v := range all.Wraps {
		t.Run(v.Name, func(t *testing.T) { all.Wraps[i] = checkVector(t, rule, v) })
	}
	if *update {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(all); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkVector compares what the rule gives with a vector, and returns the vector as the rule gives it.
func checkVector(t *testing.T, rule int, v vector) vector {
	d := v.dir(t)
	got := vector{Name: v.Name, Given: v.Given, Files: v.Files, Links: v.Links}
	w, err := WrapBy(rule, d, v.Given)
	if err != nil {
		got.Error = new(string)
		*got.Error = err.Error()
		if v.Error != nil {
			got.Error = v.Error
		}
		if evidence.ClassOf(err) != evidence.Validation || v.Error == nil || !strings.Contains(err.Error(), *v.Error) {
			t.Errorf("class %v: %v", evidence.ClassOf(err), err)
		}
		return got
	}
	if v.Error != nil {
		t.Errorf("no error; want one that holds %q", *v.Error)
	}
	for _, f := range w.Files {
		got.Paths = append(got.Paths, f.Path)
	}
	for _, n := range w.Notes {
		got.Notes = append(got.Notes, n.What)
	}
	text, err := readSome(w.Open, ManifestFile, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	got.Manifest = string(text)
	integrity, _, err := tree.FacetTar(t.Context(), w.Files, w.Open, 0)
	if err != nil {
		t.Fatal(err)
	}
	got.Integrity = integrity.String()
	if !*update && (got.Manifest != v.Manifest || got.Integrity != v.Integrity || !slices.Equal(got.Paths, v.Paths) ||
		!slices.Equal(got.Notes, v.Notes)) {
		t.Errorf("got  %+v\nwant %+v", got, v)
	}
	// What was wrapped packs, and reads back as what it says of itself.
	packed, err := Pack(context.Background(), io.Discard, w.Files, w.Open, archive.Limits{})
	if err != nil || packed.Integrity.String() != got.Integrity || packed.Name() != w.Name || len(packed.Warnings()) > 0 {
		t.Errorf("packed: %v %+v", err, packed)
	}
	return got
}
