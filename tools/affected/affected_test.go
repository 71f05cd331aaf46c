package main

import (
	"io/fs"
	"slices"
	"testing"
)

// TestAffectedBy has a module of five packages, in which e mentions a page in a test.
func TestAffectedBy(t *testing.T) {
	packages := []pkg{
		{dir: ".", imports: []string{"b"}, tests: []string{"x_test.go"}},
		{dir: "a"},
		{dir: "b", imports: []string{"a"}},
		{dir: "c/d", imports: []string{"b"}, tests: []string{"c/d/d_test.go"}},
		{dir: "e", tests: []string{"e/e_test.go"}},
	}
	files := map[string]string{"e/e_test.go": `read("../docs/page.md")`, "x_test.go": "", "c/d/d_test.go": "",
		"tools/go.mod": ""}
	read := func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}
	for _, c := range []struct {
		file                  string
		test, through, others []string
	}{
		{"a/a.go", []string{"a", "b"}, []string{".", "c/d"}, nil},
		{"a/schema.json", []string{"a", "b"}, []string{".", "c/d"}, nil},
		{"a/a_test.go", []string{"a"}, nil, nil},
		{"a/testdata/x.go", []string{"a"}, nil, nil},
		{"b/b.go", []string{".", "b", "c/d"}, nil, nil},
		{"x.go", []string{"."}, nil, nil},
		{"x_test.go", []string{"."}, nil, nil},
		{"c/other.txt", nil, nil, []string{"c/other.txt"}},
		{"docs/page.md", []string{"e"}, nil, nil},
		{"docs/unread.md", nil, nil, []string{"docs/unread.md"}},
		{"docs/age.md", nil, nil, []string{"docs/age.md"}},
		{"page.md", []string{"e"}, nil, nil},
		{".ci/page.md", nil, nil, []string{".ci/page.md"}},
		{"tools/page.md", nil, nil, []string{"tools/page.md"}},
		{"go.sum", []string{".", "a", "b", "c/d", "e"}, nil, nil},
	} {
		got := affectedBy(packages, []string{c.file}, read)
		if !slices.Equal(got.test, c.test) || !slices.Equal(got.through, c.through) || !slices.Equal(got.others, c.others) {
			t.Errorf("%s: %+v, want %+v", c.file, got, c)
		}
		if said := got.leftOut(); len(said) != 1+min(1, len(c.through))+min(1, len(c.others)) {
			t.Errorf("%s: said %q", c.file, said)
		}
	}
}
