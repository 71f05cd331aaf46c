package installed

import (
	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Live is what the client of the target does with the text of a deliverable when it loads it. That of a directory is
// not known, and may be any.
func (t Target) Live(d facet.Deliverable, text []byte) (runs []facet.Run) {
	does := t.noun(d.Kind).live
	if t.dir != "" {
		for _, client := range table {
			does = append(does, client.noun(d.Kind).live...)
		}
	}
	seen := map[string]bool{}
	for _, l := range does {
		for _, found := range l.find(text) {
			r := facet.Run{Kind: l.kind, Text: string(found), Clients: []string{t.Name}}
			if key := string(r.Kind) + r.Text; !seen[key] {
				seen[key] = true
				runs = append(runs, r)
			}
		}
	}
	return runs
}
