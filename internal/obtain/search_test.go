package obtain

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/project"
)

// Pages are asked for until there are enough hits, no more pages, or too many; what repeats its cursor is
// not asked for ever, and what is left out is told.
func TestSearchPages(t *testing.T) {
	for name, c := range map[string]struct {
		next        func(cursor string) string
		limit       int
		pages, hits int
		more        bool
	}{
		"one page":     {func(string) string { return "" }, 100, 1, 2, false},
		"the limit":    {func(string) string { return "" }, 2, 1, 2, false},
		"beyond it":    {func(string) string { return "" }, 1, 1, 1, true},
		"two pages":    {func(c string) string { return strings.TrimPrefix("b", c) }, 100, 2, 4, false},
		"the same":     {func(string) string { return "b" }, 100, 2, 4, false},
		"without end":  {func(c string) string { return c + "x" }, 100, maxSearchPages, 2 * maxSearchPages, true},
		"enough early": {func(c string) string { return c + "x" }, 3, 2, 3, true},
	} {
		asked, out := 0, &SearchResult{}
		s := &registrySearch{words: []string{"notes", "kept"}, limit: c.limit}
		err := s.each(registry.Query{}, func(q registry.Query) ([]SearchHit, string, error) {
			asked++
			hits := []SearchHit{{Name: "@acme/Notes", Description: "are kept"}, {Name: "notes"},
				{Name: "x", Description: "Kept notes"}}
			return hits, c.next(q.Cursor), nil
		}, out)
		if err != nil || asked != c.pages || len(out.Hits) != c.hits || out.More != c.more {
			t.Errorf("%s: %d pages, %d hits, more: %v, %v", name, asked, len(out.Hits), out.More, err)
		}
	}
}

// A registry is not asked without consent, and one of servers only has no facets.
func TestSearchRegistry(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("search"))
		if !strings.HasSuffix(r.URL.Path, "/servers") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"servers":[{"server":{"name":"io.github.acme/notes","version":"1.0.0"},"_meta":{}}],` +
			`"metadata":{}}`))
	}))
	defer s.Close()
	h := &host.Host{Getenv: func(string) string { return "" }, Places: host.Places{State: t.TempDir()}}
	_, err := Search(t.Context(), h, project.Registry{URL: s.URL}, []string{"notes"}, 0)
	if evidence.ClassOf(err) != evidence.Refused || len(asked) != 0 {
		t.Errorf("nobody agreed: %v, asked %q", err, asked)
	}
	h.Sending = &host.Sending{Hosts: []string{"127.0.0.1:*"}}
	found, err := Search(t.Context(), h, project.Registry{URL: s.URL}, []string{"io", "NOTES"}, 0)
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Name != "io.github.acme/notes" || asked[0] != "NOTES" {
		t.Errorf("%+v, %v, asked %q", found, err, asked)
	}
	_, err = Look(t.Context(), h, project.Registry{URL: s.URL}, "kit@1.0.0", LookOptions{})
	if evidence.ClassOf(err) != evidence.Validation || !strings.Contains(err.Error(), "is not in the registry") {
		t.Errorf("%v", err)
	}
}

// What a client or model may run is told, by its bits, its first bytes or its name; and so is what a front
// matter allows, in the forms that clients read.
func TestReadMember(t *testing.T) {
	for name, c := range map[string]struct {
		entry   archive.Entry
		text    string
		program bool
		tools   string
	}{
		"a text":   {archive.Entry{Path: "a.txt"}, "---\ntools: x\n---\n", false, ""},
		"by bits":  {archive.Entry{Path: "a", Exec: true}, "", true, ""},
		"by bytes": {archive.Entry{Path: "a.txt"}, "#!/bin/sh\n", true, ""},
		"by name":  {archive.Entry{Path: "a/B.PY"}, "", true, ""},
		"one line": {archive.Entry{Path: "a.md"}, "---\nname: a\nallowed-tools: Bash(*), Read\n---\ntools: no\n",
			false, "Bash(*), Read"},
		"a list": {archive.Entry{Path: "a.md"}, "---\r\ntools:\r\n  - Bash\r\n  - Read\r\nname: x\r\n---\r\n", false,
			"Bash Read"},
		"quoted":    {archive.Entry{Path: "a.md"}, "---\n\"Allowed-Tools\": Bash\n", false, "Bash"},
		"no front":  {archive.Entry{Path: "a.md"}, "# x\n---\ntools: Bash\n---\n", false, ""},
		"two of it": {archive.Entry{Path: "a.md"}, "---\ntools: Read\nallowed-tools: Bash\n---\n", false, "Read Bash"},
		"behind a long line": {archive.Entry{Path: "a.md"},
			"---\nname: " + strings.Repeat("x", 1<<17) + "\ntools: Bash\n---\n", false, "Bash"},
		"before a space": {archive.Entry{Path: "a.md"}, "---\n\"tools\" : Bash\n---\n", false, "Bash"},
		"of another key": {archive.Entry{Path: "a.md"}, "---\nmetadata:\n  tools: x\n---\n", false, ""},
	} {
		m, err := lookAtMember(c.entry, strings.NewReader(c.text))
		if err != nil || m.Program != c.program || m.Tools != c.tools {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}
