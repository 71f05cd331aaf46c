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

// A description that is no YAML, as people write it, takes no limit away from an agent or a skill.
func TestLimitsBesideBrokenLines(t *testing.T) {
	m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": {Description: "d"}},
		Skills: map[string]facet.Skill{"s": {Description: "d"}}}
	const broken = "---\nname: a\ndescription: Use when: asked.\nuser: \"x\"\\nassistant: \"y\"\n"
	for _, c := range []struct {
		kind       facet.Kind
		head       string
		target     Target
		want, note string
	}{
		{facet.KindAgent, "tools: Read, Grep\n", opencode, `"*": "deny"`, "has as its tools"},
		{facet.KindAgent, "tools: [Read, Grep]\n", copilot, `tools: ["read", "search"]`, "has as its tools"},
		{facet.KindAgent, "tools: Read # only\r\n", codex, "sandbox_mode = 'read-only'", "has as its tools"},
		{facet.KindAgent, "tools:\n  - Read\n  - Grep\n", copilot, `tools: ["read", "search"]`, "has as its tools"},
		{facet.KindAgent, "tools: {a: b\n", opencode, `{"*": "deny"}`, "has as its tools"},
		{facet.KindAgent, "tools: {a: b\n", copilot, "", "may use every tool"},
		{facet.KindAgent, "disallowedTools: Bash\n", gemini, "", "may use every tool"},
		{facet.KindAgent, "tools:\n  - Foo(a - Bash\n", opencode, `{"*": "deny"}`, "has as its tools"},
		{facet.KindAgent, "tools: Bash\ntools: Read\n", opencode, `{"*": "deny"}`, "has as its tools"},
		{facet.KindAgent, "x\u2028tools: Read\n", copilot, "", "may use every tool"},
		{facet.KindSkill, "disable-model-invocation: true\n", codex, "disable-model-invocation: true\n", ""},
	} {
		for _, d := range m.Deliverables() {
			if d.Kind != c.kind {
				continue
			}
			data := broken + c.head + "---\nBody\n"
			r, err := c.target.Render(c.target.Places(m, d)[0], m, d, []byte(data))
			notes := strings.Join(r.Notes, "\n")
			if err != nil || !strings.Contains(string(r.Data), c.want) || !strings.Contains(notes, c.note) {
				t.Errorf("%s: %q became %q, %q, %v", c.target.Name, data, r.Data, r.Notes, err)
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
