package pages

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/surface"
)

func TestShown(t *testing.T) {
	for text, want := range map[string][]piece{
		"":                   {{Text: ""}},
		"plain <b>\n\t\\n":   {{Text: "plain <b>\n\t\\n"}},
		"a\u202eb":           {{"a", ""}, {`\u{202e}`, surface.ClassBidi}, {"b", ""}},
		"\u200b\u200c\u202d": {{`\u{200b}\u{200c}`, surface.ClassZeroWidth}, {`\u{202d}`, surface.ClassBidi}},
		"\xffü\x1b":          {{`\xff`, surface.ClassInvalid}, {"ü", ""}, {`\x1b`, surface.ClassControl}},
	} {
		if got := splitShown(text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+q: %q, want %q", text, got, want)
		}
	}
	many := splitShown(strings.Repeat("é\u200b", 5*surface.MaxHidden) + "end")
	if len(many) != 10*surface.MaxHidden+1 || many[len(many)-1].Text != "end" {
		t.Errorf("%d pieces", len(many))
	}
	for _, p := range many {
		if len(surface.FindHidden(p.Text)) > 0 {
			t.Fatalf("%+q", p.Text)
		}
	}
}

func TestOutLink(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://example.com": true, "http://example.com/a?b=c&d=%20#e": true, "https://[::1]:8080/x": true,
		"HTTPS://example.com/": true,
		"":                     false, "javascript:alert(1)": false, "JAVASCRIPT://example.com/%0aalert(1)": false,
		"//example.com": false, "/docs": false, "docs": false,
		"https:": false, "https:/x": false, "https:example.com": false, "https://": false,
		"https://a@example.com": false, "https://a:b@example.com/": false,
		" https://example.com": false, "https://example.com/a b": false, "https://example.com\\@x": false,
		"ftp://example.com": false, "data:text/html,x": false,
		"https://exam\u200bple.com": false, "https://\u202eexample.com": false, "https://example.com/\"x": false,
		"https://example.com/'x":   false,
		"https://example.com/\x01": false, "https://example.com/" + strings.Repeat("a", maxLink): false,
		"vbscript:x": false, "https://:80/": false,
	} {
		if got := outLink(text); (got != "") != ok {
			t.Errorf("%+.60q: %.60q", text, got)
		}
	}
}

func TestTypeable(t *testing.T) {
	for text, ok := range map[string]bool{
		"io.github.acme/notes": true, "@acme/review": true, "1.0.0-rc.1+build.5": true, "v1": true,
		"": false, "a b": false, "a;b": false, "$(x)": false, "`x`": false, "a\"": false, "a\nb": false, "-rf": false,
		"a/-x": false, "a/": false, "/a": false, "..": false, "ä": false, "a\u200b": false, "+": false,
	} {
		if isPlainWord(text) != ok {
			t.Errorf("%+q: %v", text, !ok)
		}
	}
}

// Capabilities of a plugin are shown by their names, whether these stand alone or in objects.
func TestCapabilities(t *testing.T) {
	var m manifestText
	if err := json.Unmarshal([]byte(`{"capabilities":{"tools":["ping",{"name":"pong","title":"P"}],"resources":[{"uri":"r"}]}}`),
		&m); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(m.contents())
	if want := fmt.Sprint([]contents{{Title: "Tools", Items: []labelledText{{Label: "ping"}, {Label: "pong"}}},
		{Title: "Resources", Items: []labelledText{{Label: `{"uri":"r"}`}}}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
