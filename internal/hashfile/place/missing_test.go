//go:build unix

package place

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// TestRefuseMissing: the refusal of what is missing says what may have been meant, of the names that may be listed.
func TestRefuseMissing(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "main.go", "x\n", "secret1", "no\n", "sub/handler_test.go", "x\n",
		"AGENTS.md", "---\nforbidden: [secret1]\n---\n")
	sc := allow(t, d)
	for path, want := range map[string][]string{
		"mian.go":       {"is it main.go?", "search_files with glob mian.go"},
		"MAIN.GO2":      {"is it main.go?"},
		"main.go:12":    {"is it main.go?", "start_line and end_line"},
		"main.go#L3-L9": {"is it main.go?", "start_line and end_line"},
		"`main.go`":     {"stands in quotes; give it as main.go"},
		"sub/handler.g": {"is it sub/handler_test.go?", "list_directory with path sub"},
		"secret2":       {"list_directory with path . shows"},
		"*.go":          {"it to search_files as glob"},
		"new/x/y.go":    {"nor does new;"},
		d + "/mian.go":  {"is it " + d + "/main.go?", "list_directory with path " + d},
		"main.go ":      {"has blanks around it; give it as main.go"},
		" \t":           {"is blank; give a path in " + d},
		"~/main.go":     {"begins with ~"},
		"$HOME/main.go": {"begins with a variable"},
		"https://a/b":   {"nor a URI as file:///"},
	} {
		p := at(t, sc, path)
		r := p.RefuseMissing()
		for _, text := range want {
			if got := r.Message; !strings.Contains(got, text) || strings.Contains(got, "secret1") {
				t.Errorf("%q: %s, want %s", path, got, text)
			}
		}
		refused(t, path, r, NotFound)
		if odd := p.CheckName(); odd != nil {
			refused(t, path, odd, hashline.Invalid)
		}
		if strings.ContainsAny(r.Message, "\t\n") {
			t.Errorf("%q is shown as it is: %q", path, r.Message)
		}
	}
}

// TestNearNames: the nearest names come first, and few of them.
func TestNearNames(t *testing.T) {
	for name, want := range map[string]string{
		"confg.yaml":             "config.yaml configs.yaml",
		"CONFIG.yml":             "config.yaml configs.yaml",
		"x":                      "b c d", // of which each is a letter away
		"handler.ts":             "request_handler_v2.go",
		strings.Repeat("x", 200): "", "": "", "nothing like it": "",
	} {
		got := nearNames(name, []string{"e", "d", "c", "b", "configs.yaml", "config.yaml", "request_handler_v2.go",
			strings.Repeat("x", 199)})
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b    string
		most, n int
	}{{"", "", 3, 0}, {"abc", "abc", 3, 0}, {"abc", "abd", 3, 1}, {"abc", "ac", 3, 1}, {"ac", "abc", 3, 1},
		{"kitten", "sitting", 3, 3}, {"abc", "xyz", 2, 3}, {"a", "aaaaa", 3, 4}, {"ab", "ba", 3, 2}} {
		if n := distance(c.a, c.b, c.most); n != c.n {
			t.Errorf("from %q to %q is %d, want %d", c.a, c.b, n, c.n)
		}
	}
}
