package closure

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

func TestEntryPoint(t *testing.T) {
	ref, err := artifact.NewPyPI("fast-mcp", "1.0", "")
	if err != nil {
		t.Fatal(err)
	}
	type scripts = map[string]string
	slim, cli := scripts{"fast-mcp": "slim:app", "other": "slim:other"}, scripts{"other": "cli:other"}
	for name, c := range map[string]struct {
		own  scripts
		more []scripts
		bin  string
		want string // "" is a refusal
	}{
		"named":                          {scripts{"a": "m:a", "b": "m:b"}, nil, "b", "m:b"},
		"the only one":                   {scripts{"a": "m:a"}, []scripts{slim}, "", "m:a"},
		"of the package's name":          {scripts{"a": "m:a", "fast_mcp": "m:b"}, []scripts{slim}, "", "m:b"},
		"several":                        {scripts{"a": "m:a", "b": "m:b"}, []scripts{slim}, "", ""},
		"its own before a dependency's":  {scripts{"other": "m:a"}, []scripts{slim}, "other", "m:a"},
		"of a dependency":                {nil, []scripts{slim}, "fast-mcp", "slim:app"},
		"of a dependency, unnamed":       {nil, []scripts{cli, slim}, "", "slim:app"},
		"of a dependency, beside others": {scripts{"a": "m:a"}, []scripts{cli}, "other", "cli:other"},
		"of two":                         {nil, []scripts{slim, cli}, "other", ""},
		"of two that mean one":           {nil, []scripts{slim, slim}, "other", "slim:other"},
		"of none":                        {nil, []scripts{slim}, "c", ""},
		"none at all":                    {nil, nil, "", ""},
	} {
		p := &Packages{Ref: ref, Wheel: &fetch.Wheel{Scripts: c.own}}
		p.read = []*fetch.Wheel{p.Wheel}
		for _, more := range c.more {
			p.read = append(p.read, &fetch.Wheel{Scripts: more})
		}
		if got, err := p.EntryPoint(c.bin); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
