package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// The kinds that servers list: the method that lists one, the member of its answer
// that holds the items, and the capability with which a server offers it.
var listings = []struct {
	kind           surface.Kind
	method, member string
	capability     string
	naming, note   string
	fields         [][]byte // of the answer
}{
	{surface.KindTool, "tools/list", "tools", "tools", "name", "notifications/tools/list_changed",
		jsonrpc.Names("tools", "nextCursor")},
	{surface.KindPrompt, "prompts/list", "prompts", "prompts", "name", "notifications/prompts/list_changed",
		jsonrpc.Names("prompts", "nextCursor")},
	{surface.KindResource, "resources/list", "resources", "resources", "uri", "notifications/resources/list_changed",
		jsonrpc.Names("resources", "nextCursor")},
	{surface.KindTemplate, "resources/templates/list", "resourceTemplates", "resources", "uriTemplate",
		"notifications/resources/list_changed", jsonrpc.Names("resourceTemplates", "nextCursor")},
}

// sight is what is known about the surface of this process. It is guarded by
// relay.mu.
type sight struct {
	approved map[string]digest.Digest
	exclude  map[surface.Kind]bool
	judge    func(key string, want, got digest.Digest) error

	// Drift that the guard's own last listing showed, by key. A listing replaces
	// that of its kinds.
	listed memory[Drift]
	// Drift in answers to the client since then. It lasts until an answer to the
	// client shows the item as approved: a server that shows the guard another
	// surface than the client gains nothing.
	answered memory[Drift]
	// Everything in answered ever, for reports.
	caught memory[Drift]
	// Kinds of which more drifted than can be remembered. This lasts: what was not
	// remembered cannot be told from what was approved.
	flooded map[surface.Kind]bool

	// Approved items that the guard's own last listing of their kind did not show; true if
	// the kind could be listed.
	absent map[string]bool

	failed  map[surface.Kind]string // kinds that could not be listed, and why
	listing surface.Listing         // as last listed, kind by kind
	sizes   map[surface.Kind]int    // bytes of listing
}

func newSight(a Approved, judge func(string, digest.Digest, digest.Digest) error) *sight {
	if judge == nil {
		judge = Judge
	}
	return &sight{
		approved: a.Items, exclude: a.Exclude, judge: judge,
		absent: map[string]bool{}, flooded: map[surface.Kind]bool{}, failed: map[surface.Kind]string{},
		sizes: map[surface.Kind]int{},
	}
}

// item is one item of a listing with its judgement.
type item struct {
	name  string
	drift *Drift // nil if it may be shown
}

// items judges the items of one listing or page. What has the name of another one is
// a duplicate, both are.
func (g *sight) items(kind surface.Kind, raw []json.RawMessage) []item {
	out := make([]item, len(raw))
	first := make(map[string]int, len(raw))
	for i, r := range raw {
		out[i] = g.one(kind, r, i)
		if at, again := first[out[i].name]; again {
			for _, k := range []int{at, i} {
				d := Drift{Key: key(kind, out[i].name), Reason: Duplicate, Want: g.approved[key(kind, out[i].name)]}
				if out[k].drift != nil {
					d.Got = out[k].drift.Got
				}
				out[k].drift = &d
			}
			continue
		}
		first[out[i].name] = i
	}
	return out
}

// one judges an item by itself; place tells apart those without a name. One with a
// name beyond maxName is malformed, and the digest of the name stands for it.
func (g *sight) one(kind surface.Kind, raw []byte, place int) item {
	name, quoted := "", nameOf(kind, raw)
	if len(quoted) > longestEscape*maxName+2 {
		name = stand(quoted) // without a copy of it
	} else if it, err := surface.NewItem(kind, raw); err != nil {
		name, _ = jsonrpc.Text(quoted)
	} else if name = it.Name; len(name) <= maxName {
		return item{name, g.compare(it.Key(), it.Digest)}
	}
	switch {
	case name == "":
		name = fmt.Sprintf("#%d", place+1)
	case len(name) > maxName:
		name = stand([]byte(name))
	}
	return item{name, &Drift{Key: key(kind, name), Reason: Malformed, Want: g.approved[key(kind, name)]}}
}

// longestEscape is the most bytes in which a JSON string may write one: \u0061.
const longestEscape = 6

// compare judges the digest of an item.
func (g *sight) compare(key string, got digest.Digest) *Drift {
	want := g.approved[key]
	if g.judge(key, want, got) == nil {
		return nil
	}
	d := &Drift{Key: key, Reason: Changed, Want: want, Got: got}
	if want.IsZero() {
		d.Reason = New
	}
	return d
}

// nameOf is the name of an item, which may be malformed, as it is written, or nil.
func nameOf(kind surface.Kind, raw []byte) []byte {
	for _, l := range listings {
		if l.kind != kind {
			continue
		}
		var (
			s  jsonrpc.Scanner
			at [1]jsonrpc.Span
		)
		if _, err := s.Object(raw, 0, jsonrpc.Names(l.naming), at[:]); err == nil && at[0].Present() {
			return at[0].Of(raw)
		}
	}
	return nil
}

// key is surface.Item.Key.
func key(kind surface.Kind, name string) string { return string(kind) + ":" + name }

// replace sets what the guard's own listing of kind showed; raw is nil if the server has no
// method to list it.
func (g *sight) replace(kind surface.Kind, raw []json.RawMessage, err error) {
	g.sizes[kind] = 0
	for _, r := range raw {
		g.sizes[kind] += len(r)
	}
	total := 0
	for _, n := range g.sizes {
		total += n
	}
	if total > maxListing { // the kinds were not all listed at once
		raw, g.sizes[kind] = nil, 0
		if err == nil {
			err = fmt.Errorf("more than %d bytes with what was listed before", maxListing)
		}
	}
	switch kind {
	case surface.KindTool:
		g.listing.Tools = raw
	case surface.KindPrompt:
		g.listing.Prompts = raw
	case surface.KindResource:
		g.listing.Resources = raw
	case surface.KindTemplate:
		g.listing.ResourceTemplates = raw
	}
	if g.exclude[kind] {
		return
	}
	for k := range g.listed.m {
		if strings.HasPrefix(k, string(kind)+":") {
			g.listed.drop(k)
		}
	}
	delete(g.failed, kind)
	maps.DeleteFunc(g.absent, func(k string, _ bool) bool { return strings.HasPrefix(k, string(kind)+":") })
	if err != nil {
		g.failed[kind] = err.Error()
		return
	}
	for k := range g.approved {
		if strings.HasPrefix(k, string(kind)+":") {
			g.absent[k] = raw != nil
		}
	}
	for _, it := range g.items(kind, raw) {
		delete(g.absent, key(kind, it.name))
		if it.drift != nil && !g.listed.put(it.drift.Key, *it.drift, 0) {
			g.failed[kind] = "more drifted than can be remembered"
		}
	}
}

// instructions judges those of an initialize or discover result; text is "" if there
// are none. It returns nil if they may be shown.
func (g *sight) instructions(text string, malformed bool) *Drift {
	const k = string(surface.KindInstructions)
	g.listed.drop(k)
	g.listing.Instructions = text
	if delete(g.absent, k); text == "" && !malformed && !g.exclude[surface.KindInstructions] &&
		!g.approved[k].IsZero() {
		g.absent[k] = true
	}
	if g.exclude[surface.KindInstructions] || text == "" && !malformed {
		return nil
	}
	d := &Drift{Key: k, Reason: Malformed, Want: g.approved[k]}
	if !malformed {
		if d = g.compare(k, surface.InstructionsItem(text).Digest); d == nil {
			return nil
		}
	}
	g.listed.put(k, *d, 0) // without room there is drift enough
	return d
}

// page judges the items of an answer to the client and remembers what drifted. It
// returns those that may be shown, what drifted, and whether the guard should list
// the kind again because the answer differs from what it had seen.
func (g *sight) page(kind surface.Kind, raw []json.RawMessage) (keep []bool, drifted []Drift, again bool) {
	keep = make([]bool, len(raw))
	for i, it := range g.items(kind, raw) {
		if g.exclude[kind] {
			keep[i] = true
			continue
		}
		k := key(kind, it.name)
		before, known := g.listed.m[k]
		if it.drift == nil {
			if known && before.Reason == Duplicate {
				continue // one of two: which is meant cannot be told
			}
			keep[i] = g.blind(kind) == ""
			g.answered.drop(k)
			again = again || known || g.absent[k] // shown now
			continue
		}
		drifted = append(drifted, *it.drift)
		_, answered := g.answered.m[k]
		if !known && !answered {
			again = true
		}
		k = it.drift.Key // the same, and in memory once
		if !g.answered.put(k, *it.drift, 0) || !g.caught.put(k, *it.drift, 0) {
			g.flooded[kind] = true
		}
	}
	return keep, drifted, again
}

// report is what a listing showed, with all that answers to the client ever showed.
func (g *sight) report() Report {
	all := map[string]Drift{}
	for _, m := range []memory[Drift]{g.caught, g.answered, g.listed} {
		maps.Copy(all, m.m)
	}
	r := Report{Listing: g.listing, Failed: maps.Clone(g.failed), Absent: slices.Sorted(maps.Keys(g.absent))}
	for kind := range g.flooded {
		if r.Failed[kind] == "" {
			r.Failed[kind] = "more drifted than can be remembered"
		}
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		r.Drift = append(r.Drift, all[k])
	}
	return r
}
