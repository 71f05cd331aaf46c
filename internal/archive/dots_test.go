package archive

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// forged is a tar of members, each "NAME=CONTENT"; "!" before the name makes it executable, and a
// name that ends in "/" is a directory.
func forged(members ...string) []byte {
	t := forge.Tar{End: make([]byte, 1024)}
	for _, m := range members {
		name, content, _ := strings.Cut(m, "=")
		name, exec := strings.CutPrefix(name, "!")
		kind := byte('0')
		if strings.HasSuffix(name, "/") {
			kind = '5'
		}
		member := forge.NewMember(name, kind, []byte(content))
		if exec {
			member.Set(100, "0000755\x00")
		}
		t.Members = append(t.Members, member)
	}
	return t.Bytes()
}

// TestDots: the segments of a path that other programs drop are dropped, and a file that is there
// twice with equal bytes is given once.
func TestDots(t *testing.T) {
	type files = map[string]string
	for name, c := range map[string]struct {
		members []string
		want    files
	}{
		"a dot":       {[]string{"package/./a=1", "package/././b/./c=2"}, files{"package/a": "1", "package/b/c": "2"}},
		"two slashes": {[]string{"package//a=1", ".//package///b=2"}, files{"package/a": "1", "package/b": "2"}},
		"above":       {[]string{"./package/a=1", "././package/b=2"}, files{"package/a": "1", "package/b": "2"}},
		"directories": {[]string{"./", ".//", "././", "package/./d/", "package//d//", "package/d/a=1"},
			files{"package/d/a": "1"}},
		"equal":         {[]string{"package/a=1", "package/./a=1", "package/a=1"}, files{"package/a": "1"}},
		"equal, by dot": {[]string{"package/./a=1", "package/b=2", "package/a=1"}, files{"package/a": "1", "package/b": "2"}},
		"executable":    {[]string{"!package/a=1", "!package/./a=1"}, files{"package/a": "1"}},
		"empty":         {[]string{"a", "./a"}, files{"a": ""}},
	} {
		for _, read := range []bool{true, false} {
			got := files{}
			_, err := Walk(bytes.NewReader(zipped(t, forged(c.members...))), Package, Limits{},
				func(e Entry, r io.Reader) error {
					if _, again := got[e.Path]; again {
						t.Errorf("%s: %s is given twice", name, e.Path)
					}
					got[e.Path] = c.want[e.Path]
					if !read {
						return nil
					}
					content, err := io.ReadAll(r)
					got[e.Path] = string(content)
					return err
				})
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
}

// TestDotsRefused: no program reads these as another does, or they leave the archive.
func TestDotsRefused(t *testing.T) {
	long := strings.Repeat("./", MaxPath/2)
	for name, c := range map[string]struct {
		tar     []byte
		problem Problem
		class   evidence.Class
	}{
		"other bytes":       {forged("package/a=1", "package/./a=2"), ProblemConflict, evidence.Integrity},
		"other bytes first": {forged("package/./a=2", "package/a=1"), ProblemConflict, evidence.Integrity},
		"another length":    {forged("package/a=1", "package/a=11"), ProblemConflict, evidence.Integrity},
		"executable once":   {forged("!package/a=1", "package/./a=1"), ProblemConflict, evidence.Integrity},
		"the third":         {forged("a=1", "a=1", "./a=2"), ProblemConflict, evidence.Integrity},
		"a link beside": {(&forge.Tar{Members: []*forge.Member{forge.NewMember("package/a", '0', nil),
			forge.NewMember("package/./a", '2', nil)}}).Bytes(), ProblemLink, evidence.Validation},
		"a directory beside": {forged("package/a=1", "package/./a/"), ProblemFileAndDir, evidence.Validation},
		"a file beside":      {forged("package/./a/", "package/a=1"), ProblemFileAndDir, evidence.Validation},
		"a file above":       {forged("package/a=1", "package/./a//b=1"), ProblemFileAndDir, evidence.Validation},
		"parent":             {forged("package/../x=1"), ProblemParent, evidence.Validation},
		"parent behind dots": {forged("./package/.//../x=1"), ProblemParent, evidence.Validation},
		"above the root":     {forged("./../x=1"), ProblemParent, evidence.Validation},
		"absolute":           {forged("/package/a=1"), ProblemAbsolute, evidence.Validation},
		"slashes first":      {forged("//package/a=1"), ProblemAbsolute, evidence.Validation},
		"the root as a file": {forged(".=1"), ProblemUnclean, evidence.Validation},
		"a dot last":         {forged("package/.=1"), ProblemUnclean, evidence.Validation},
		"a repository":       {forged("package/./.git/./config=1"), ProblemRepository, evidence.Validation},
		"a drive":            {forged("./C:/x=1"), ProblemDrive, evidence.Validation},
		"long": {(&forge.Tar{Members: []*forge.Member{
			forge.NewMember("x", 'x', forge.Records("path", "package/"+long+"a")),
			forge.NewMember("x", '0', nil)}}).Bytes(), ProblemLongPath, evidence.Validation},
	} {
		_, err := Walk(bytes.NewReader(zipped(t, c.tar)), Package, Limits{}, discard)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Problem != c.problem || e.Layer != layerTar || evidence.ClassOf(err) != c.class {
			t.Errorf("%s: %v of class %s; want %s", name, err, evidence.ClassOf(err), c.problem)
		}
	}
	// Another case is another file to npm, and none to a tree that is unpacked anywhere.
	_, err := Walk(bytes.NewReader(forged("d/a=1", "./D/a=1")), Tar, Limits{}, discard)
	refused(t, err, ProblemAlias, layerTar)
	repeated := forged(slices.Repeat([]string{"a=1"}, 11)...)
	_, err = Walk(bytes.NewReader(repeated), Tar, Limits{Entries: 10}, discard)
	refused(t, err, ProblemTooManyEntries, layerTar)
}
