package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// drifts returns what is known against the item of key.
func (g *sight) drifts(key string) (Drift, bool) {
	if d, ok := g.listed.m[key]; ok {
		return d, true
	}
	d, ok := g.answered.m[key]
	return d, ok
}

// blind says why nothing is known of a kind, or "".
func (g *sight) blind(kind surface.Kind) string {
	if why := g.failed[kind]; why != "" {
		return fmt.Sprintf("the server's %s could not be listed: %s", plural(kind), why)
	}
	if g.flooded[kind] {
		return fmt.Sprintf("more of the server's %s drifted than can be remembered", plural(kind))
	}
	return ""
}

func plural(kind surface.Kind) string {
	if kind == surface.KindTemplate {
		return "resource templates"
	}
	return string(kind) + "s"
}

// tooLong is said of a name that cannot be looked up, see one.
var tooLong = fmt.Sprintf("longer than %d bytes", maxName)

// refusal says why an item must not be used, or "".
func (g *sight) refusal(kind surface.Kind, name string) string {
	if g.exclude[kind] {
		return ""
	}
	if len(name) > maxName {
		return showItem(kind, name) + ": " + tooLong
	}
	k := key(kind, name)
	if d, ok := g.drifts(k); ok {
		return showItem(kind, name) + ": " + d.Reason
	}
	if why := g.blind(kind); why != "" {
		return why
	}
	if g.approved[k].IsZero() {
		return showItem(kind, name) + ": was never approved"
	}
	if g.absent[k] && (kind == surface.KindTool || kind == surface.KindPrompt) {
		return showItem(kind, name) + ": " + NotShown
	}
	return ""
}

// showItem is the name of an item for a message.
func showItem(kind surface.Kind, name string) string { return string(kind) + " " + showName(name) }

// uriRefusal says why the resource under uri must not be read, or "". The rules are
// in the package comment.
func (g *sight) uriRefusal(uri string, offered bool) string {
	if g.exclude[surface.KindResource] {
		return ""
	}
	if len(uri) > maxName {
		return showItem(surface.KindResource, uri) + ": " + tooLong
	}
	if d, ok := g.drifts(key(surface.KindResource, uri)); ok {
		return showItem(surface.KindResource, uri) + ": " + d.Reason
	}
	if why := g.blind(surface.KindResource); why != "" {
		return why
	}
	if !g.approved[key(surface.KindResource, uri)].IsZero() {
		return ""
	}
	plain := jsonrpc.NormalURI(uri)
	for _, drift := range []map[string]Drift{g.listed.m, g.answered.m} {
		for k, d := range drift {
			// A name that was too long to be kept may match anything.
			if template, ok := strings.CutPrefix(k, "template:"); ok && !g.exclude[surface.KindTemplate] &&
				(strings.HasPrefix(template, longMark) || jsonrpc.MatchTemplate(template, uri) ||
					jsonrpc.MatchTemplate(template, plain)) {
				return showItem(surface.KindTemplate, template) + ": " + d.Reason
			}
			if other, ok := strings.CutPrefix(k, "resource:"); ok && (strings.HasPrefix(other, longMark) ||
				jsonrpc.NormalURI(other) == plain) {
				return showItem(surface.KindResource, other) + ": " + d.Reason
			}
		}
	}
	if why := g.blind(surface.KindTemplate); why != "" && !g.exclude[surface.KindTemplate] {
		return why
	}
	if !offered {
		return showItem(surface.KindResource, uri) + ": the server offers no resources"
	}
	return ""
}

// any returns the first drift or failure by key, or "".
func (g *sight) any() string {
	for _, drift := range []map[string]Drift{g.listed.m, g.answered.m} {
		if len(drift) > 0 {
			k := slices.Min(slices.Collect(maps.Keys(drift)))
			return showName(k) + ": " + drift[k].Reason
		}
	}
	for _, l := range listings {
		if why := g.blind(l.kind); why != "" {
			return why
		}
	}
	return ""
}
