package installed

import (
	"slices"

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

// LiveFor is what the clients of targets do with a text when they load it. What only some of them do names these.
func LiveFor(targets []Target) facet.Live {
	return func(d facet.Deliverable, text []byte) (all []facet.Run) {
		for _, t := range targets {
			for _, r := range t.Live(d, text) {
				i := slices.IndexFunc(all, func(o facet.Run) bool { return o.Kind == r.Kind && o.Text == r.Text })
				if i < 0 {
					all = append(all, r)
				} else {
					all[i].Clients = append(all[i].Clients, r.Clients...)
				}
			}
		}
		for i := range all {
			if len(all[i].Clients) == len(targets) {
				all[i].Clients = nil
			}
		}
		return all
	}
}
