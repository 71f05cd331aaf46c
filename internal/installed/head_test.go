package installed

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// The limits of an agent are not lost without a word, however its front matter is written: the client gets
// them, or a person reads a note.
func TestLimitsAreKeptOrNoted(t *testing.T) {
	const body = "Look, and do not touch.\n"
	m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": {Description: "d"}}}
	for _, head := range []string{
		"---\nname: a\ndescription: d\ntools: Read\n---\n",
		"--- \nname: a\ndescription: d\ntools: Read\n---\t\n",
		"\ufeff---\nname: a\ndescription: d\ntools: Read\n---\n",
		"---\r\nname: a\r\ndescription: d\r\ntools: Read\r\n--- \r\n",
		"---\nname: a\ndescription: d\ntools: Read\n",
		"---\nname: a\ndescription: d\n...\ntools: Read\n---\n",
		"---\nname: a\ndescription: d\rtools: Read\n---\n",
		"---\nname: a\ndescription: d\u2028tools: Read\n---\n",
		"---\nname: a\ndescription: d\n--- \ntools: Read\n---\n",
		"---\nname: a\ndescription: d\ntools: [Bash]\ntools: Read\n---\n",
		"---\nname: a\ndescription: d\n<<: {tools: Read}\n---\n",
		"---\nname: a\ndescription: d\n? tools\n: Read\n---\n",
		"---\n{name: a, description: d, \"tools\": Read}\n---\n",
		"---\n name: a\n description: d\ntools: Read\n---\n",
	} {
		for _, target := range All() {
			for _, d := range m.Deliverables() {
				for _, p := range target.Places(m, d) {
					r, err := target.Render(p, m, d, []byte(head+body))
					if err != nil {
						t.Fatal(err)
					}
					text, _ := splitHead(r.Data)
					kept := strings.Contains(string(text), "tools")
					ended := !strings.Contains(head, "\n--- \ntools") // what follows is text for all
					if !kept && ended && !slices.ContainsFunc(r.Notes, func(n string) bool {
						return strings.Contains(n, "front matter") || strings.Contains(n, "tool")
					}) {
						t.Errorf("%s: %q became %q, %q", target.Name, head, r.Data, r.Notes)
					}
				}
			}
		}
	}
}

// A member that a client is not to get does not come with the lines of another.
func TestNoMemberInAnother(t *testing.T) {
	m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": {Description: "d"}}}
	for _, head := range []string{
		"---\nname: a\ndescription: d\rhooks: x\nmodel: y\n---\n",
		"---\nname: a\ndescription: d\u0085hooks: x\nmodel: y\n---\n",
		"---\nname: a\ndescription: d\n...\nhooks: x\n---\n",
		"---\nname: a\ndescription: d\n--- x\nhooks: x\n---\n",
	} {
		for _, target := range All() {
			if target.agents.all {
				continue
			}
			for _, d := range m.Deliverables() {
				for _, p := range target.Places(m, d) {
					r, err := target.Render(p, m, d, []byte(head+"Text.\n"))
					if err != nil || strings.Contains(string(r.Data), "hooks") {
						t.Errorf("%s: %q became %q, %v", target.Name, head, r.Data, err)
					}
				}
			}
		}
	}
}
