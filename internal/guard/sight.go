package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
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
	{surface.KindTool, "tools/list", "tools", "tools", "name", "notifications/tools/list_changed", names("tools", "nextCursor")},
	{surface.KindPrompt, "prompts/list", "prompts", "prompts", "name", "notifications/prompts/list_changed", names("prompts", "nextCursor")},
	{surface.KindResource, "resources/list", "resources", "resources", "uri", "notifications/resources/list_changed", names("resources", "nextCursor")},
	{surface.KindTemplate, "resources/templates/list", "resourceTemplates", "resources", "uriTemplate", "notifications/resources/list_changed", names("resourceTemplates", "nextCursor")},
}

// maxSeen bounds the drifted items of listings that the client asked for.
const maxSeen = 10_000

// sight is what is known about the surface of this process. It is guarded by
// relay.mu.
type sight struct {
	approved map[string]digest.Digest
	exclude  map[surface.Kind]bool
	judge    func(key string, want, got digest.Digest) error

	// Drift that the guard's own last listing showed, by key. A listing replaces
	// that of its kinds.
	listed map[string]Drift
	// Drift in answers to the client since then. It lasts until an answer to the
	// client shows the item as approved: a server that shows the guard another
	// surface than the client gains nothing.
	answered map[string]Drift
	// Everything in answered ever, for reports.
	caught map[string]Drift

	failed  map[surface.Kind]string // kinds that could not be listed, and why
	listing surface.Listing         // as last listed, kind by kind
}

func newSight(a Approved, judge func(string, digest.Digest, digest.Digest) error) *sight {
	if judge == nil {
		judge = Judge
	}
	return &sight{
		approved: a.Items, exclude: a.Exclude, judge: judge,
		listed: map[string]Drift{}, answered: map[string]Drift{}, caught: map[string]Drift{},
		failed: map[surface.Kind]string{},
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

// one judges an item by itself; place tells apart those without a name.
func (g *sight) one(kind surface.Kind, raw []byte, place int) item {
	it, err := surface.NewItem(kind, raw)
	if err != nil {
		name := nameOf(kind, raw)
		if name == "" {
			name = fmt.Sprintf("#%d", place+1)
		}
		return item{name, &Drift{Key: key(kind, name), Reason: Malformed, Want: g.approved[key(kind, name)]}}
	}
	return item{it.Name, g.compare(it.Key(), it.Digest)}
}

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

// nameOf is the name of an item that is malformed otherwise, or "".
func nameOf(kind surface.Kind, raw []byte) string {
	for _, l := range listings {
		if l.kind != kind {
			continue
		}
		var (
			s  scanner
			at [1]span
		)
		if _, err := s.object(raw, 0, names(l.naming), at[:]); err == nil && at[0].ok() {
			name, _ := text(at[0].of(raw))
			return name
		}
	}
	return ""
}

// key is surface.Item.Key.
func key(kind surface.Kind, name string) string { return string(kind) + ":" + name }

// drifts returns what is known against the item of key.
func (g *sight) drifts(key string) (Drift, bool) {
	if d, ok := g.listed[key]; ok {
		return d, true
	}
	d, ok := g.answered[key]
	return d, ok
}

// refusal says why an item must not be used, or "".
func (g *sight) refusal(kind surface.Kind, name string) string {
	if g.exclude[kind] {
		return ""
	}
	k := key(kind, name)
	if d, ok := g.drifts(k); ok {
		return quoted(kind, name) + ": " + d.Reason
	}
	if why := g.failed[kind]; why != "" {
		return fmt.Sprintf("the server's %ss could not be listed: %s", kind, why)
	}
	if g.approved[k].IsZero() {
		return quoted(kind, name) + ": was never approved"
	}
	return ""
}

// quoted is the name of an item for a message.
func quoted(kind surface.Kind, name string) string { return string(kind) + " " + shown(name) }

// uriRefusal says why the resource under uri must not be read, or "". The rules are
// in the package comment.
func (g *sight) uriRefusal(uri string, offered bool) string {
	if g.exclude[surface.KindResource] {
		return ""
	}
	if d, ok := g.drifts(key(surface.KindResource, uri)); ok {
		return quoted(surface.KindResource, uri) + ": " + d.Reason
	}
	if why := g.failed[surface.KindResource]; why != "" {
		return "the server's resources could not be listed: " + why
	}
	if !g.approved[key(surface.KindResource, uri)].IsZero() {
		return ""
	}
	plain := normalURI(uri)
	for _, drift := range []map[string]Drift{g.listed, g.answered} {
		for k, d := range drift {
			if template, ok := strings.CutPrefix(k, "template:"); ok && !g.exclude[surface.KindTemplate] && (matchTemplate(template, uri) || matchTemplate(template, plain)) {
				return quoted(surface.KindTemplate, template) + ": " + d.Reason
			}
			if other, ok := strings.CutPrefix(k, "resource:"); ok && normalURI(other) == plain {
				return quoted(surface.KindResource, other) + ": " + d.Reason
			}
		}
	}
	if why := g.failed[surface.KindTemplate]; why != "" && !g.exclude[surface.KindTemplate] {
		return "the server's resource templates could not be listed: " + why
	}
	if !offered {
		return quoted(surface.KindResource, uri) + ": the server offers no resources"
	}
	return ""
}

// any returns the first drift or failure by key, or "".
func (g *sight) any() string {
	for _, drift := range []map[string]Drift{g.listed, g.answered} {
		if len(drift) > 0 {
			k := slices.Min(slices.Collect(maps.Keys(drift)))
			return shown(k) + ": " + drift[k].Reason
		}
	}
	for _, l := range listings {
		if why := g.failed[l.kind]; why != "" {
			return fmt.Sprintf("the server's %ss could not be listed: %s", l.kind, why)
		}
	}
	return ""
}

// replace sets what the guard's own listing of kind showed.
func (g *sight) replace(kind surface.Kind, raw []json.RawMessage, err error) {
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
	maps.DeleteFunc(g.listed, func(k string, _ Drift) bool { return strings.HasPrefix(k, string(kind)+":") })
	delete(g.failed, kind)
	if err != nil {
		g.failed[kind] = err.Error()
		return
	}
	for _, it := range g.items(kind, raw) {
		if it.drift != nil {
			g.listed[it.drift.Key] = *it.drift
		}
	}
}

// instructions judges those of an initialize or discover result; text is "" if there
// are none. ok reports whether they may be shown.
func (g *sight) instructions(text string, malformed bool) (ok bool) {
	const k = string(surface.KindInstructions)
	delete(g.listed, k)
	g.listing.Instructions = text
	if g.exclude[surface.KindInstructions] || text == "" && !malformed {
		return true
	}
	d := &Drift{Key: k, Reason: Malformed, Want: g.approved[k]}
	if !malformed {
		if d = g.compare(k, surface.InstructionsItem(text).Digest); d == nil {
			return true
		}
	}
	g.listed[k] = *d
	return false
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
		before, known := g.listed[k]
		if it.drift == nil {
			if known && before.Reason == Duplicate {
				continue // one of two: which is meant cannot be told
			}
			keep[i] = g.failed[kind] == ""
			delete(g.answered, k)
			again = again || known
			continue
		}
		drifted = append(drifted, *it.drift)
		_, answered := g.answered[k]
		if !known && !answered {
			again = true
		}
		if answered || len(g.answered) < maxSeen {
			g.answered[k] = *it.drift
		} else {
			g.failed[kind] = fmt.Sprintf("more than %d drifted items", maxSeen)
		}
		if len(g.caught) < maxSeen {
			g.caught[k] = *it.drift
		}
	}
	return keep, drifted, again
}

// report is what a listing showed, with all that answers to the client ever showed.
func (g *sight) report() Report {
	all := maps.Clone(g.caught)
	maps.Copy(all, g.answered)
	maps.Copy(all, g.listed)
	r := Report{Listing: g.listing, Failed: maps.Clone(g.failed)}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		r.Drift = append(r.Drift, all[k])
	}
	return r
}
