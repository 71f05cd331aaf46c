package installed

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Whatever a publisher writes: each client gets the body, a front matter that can be read with the
// deliverable's own name, and no more than that.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"", "---\n---\n", "---\nname: b\ntools: Read\n---\nx", "---\n{a: b}\n---\n", "---\na: &x [1]\nb: *x\n---\ny",
		"---\n? a\n: b\n---\n", "---\r\nname: a\r\n---\r\nB", "---\n\"name\": a\n#c\n---\n", "---\nx: |\n  ---\n---\n", "---\n- a\n---\n", "---\na: b\n"} {
		f.Add(seed, `{"model":"m","tools":{"a":[1,null]}}`)
	}
	f.Fuzz(func(t *testing.T, text, adapter string) {
		var o map[string]json.RawMessage
		if json.Unmarshal([]byte(adapter), &o) != nil || o == nil {
			adapter = "{}"
		}
		for _, target := range All() {
			prompt := facet.Prompt{Description: "d", Adapters: map[string]json.RawMessage{target.Name: json.RawMessage(adapter)}}
			m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": prompt}, Commands: map[string]facet.Prompt{"a": prompt}}
			for _, d := range m.Deliverables() {
				for _, p := range target.Places(m, d) {
					if p.Fixed != nil {
						continue
					}
					r, err := target.Render(p, m, d, []byte(text))
					if err != nil {
						continue // adapters that are no object
					}
					if target.noun(d.Kind).form != markdown {
						continue
					}
					_, body := splitHead([]byte(text))
					if !bytes.HasSuffix(r.Data, trimLines(body)) {
						t.Fatalf("%s: %q lost its body: %q", target.Name, text, r.Data)
					}
					head, _ := splitHead(r.Data)
					if head == nil || bytes.Equal(r.Data, []byte(text)) {
						continue
					}
					h := readHead(head)
					if h.err != nil {
						t.Fatalf("%s: %q became %q: %v", target.Name, text, r.Data, h.err)
					}
					if name, ok := h.find("name"); ok && name != "a" {
						t.Fatalf("%s: %q became %q", target.Name, text, r.Data)
					}
					if again, err := target.Render(p, m, d, r.Data); err != nil || len(again.Data) > 2*len(r.Data)+100 {
						t.Fatalf("%s: %q became %q, %v", target.Name, r.Data, again.Data, err)
					}
				}
			}
		}
	})
}
