package facet_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// dirOf is a directory with files, of which those called SKILL.md have a head.
func dirOf(paths ...string) facet.Dir {
	const head = "---\nname: greet\ndescription: Greets\n---\n"
	d := facet.Dir{Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(head)), nil }}
	for _, p := range paths {
		d.Files = append(d.Files, tree.File{Path: p, Size: int64(len(head))})
	}
	return d
}

// TestLimitsSayWhatNext: what is beyond a limit is refused with what there is, the limit, and what leads on.
func TestLimitsSayWhatNext(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n-len("skills/greet/")) } // n bytes in the facet
	var many []string
	for i := range 2001 {
		many = append(many, fmt.Sprintf("s%d/SKILL.md", i))
	}
	of := func(d facet.Dir) error { _, err := facet.Wrap(d, ""); return err }
	list := func(d facet.Dir) error { _, err := facet.List(d); return err }
	for name, c := range map[string]struct {
		err  error
		want []string // nil: none
	}{
		"path":       {of(dirOf("SKILL.md", long(100))), nil},
		"long path":  {of(dirOf("SKILL.md", long(102))), []string{"a path of 102 bytes; a canonical tar holds 100, which is the limit", "a name of at most 3 letters"}},
		"too long":   {of(dirOf("SKILL.md", long(105))), []string{"a path of 105 bytes", "its publisher has to shorten it"}},
		"long paths": {of(dirOf("SKILL.md", long(102), "b"+long(100))), []string{"which is the limit; with it, 2 paths are too long"}},
		"list":       {list(dirOf(many[:2000]...)), nil},
		"long list":  {list(dirOf(many...)), []string{"about 2,001 skills", "the limit of one list is 2,000", "--sub DIR"}},
	} {
		if len(c.want) == 0 {
			if c.err != nil {
				t.Errorf("%s: %v", name, c.err)
			}
			continue
		}
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) || evidence.ClassOf(c.err) != evidence.Validation {
				t.Errorf("%s: %v; want %s", name, c.err, want)
			}
		}
	}
}

// TestEmptyFileIsNotMissed: an empty file, as .gitkeep, does not have its directory named as one that is not installed.
func TestEmptyFileIsNotMissed(t *testing.T) {
	d := dirOf(".claude-plugin/plugin.json", "agents/a.md", "agents/.gitkeep", "commands/.gitkeep", "docs/a.txt")
	head := d.Open
	d.Open = func(p string) (io.ReadCloser, error) {
		if p == ".claude-plugin/plugin.json" {
			return io.NopCloser(strings.NewReader(`{"name":"kit"}`)), nil
		}
		return head(p)
	}
	for i, f := range d.Files {
		if strings.HasSuffix(f.Path, ".gitkeep") {
			d.Files[i].Size = 0
		}
	}
	f, err := facet.Wrap(d, "")
	if err != nil || len(f.Notes) != 1 || f.Notes[0].What != "docs/" {
		t.Errorf("%v, notes %v", err, f)
	}
}
