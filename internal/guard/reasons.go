package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// lookUp returns the drift that is known of the item of key, or that it varies.
func (s *State) lookUp(key string) (Drift, bool) {
	if d, ok := s.varying[key]; ok {
		return d, true
	}
	if d, ok := s.listed.Get(key); ok {
		return d, true
	}
	return s.answered.Get(key)
}

// unknownKind says why items of a kind cannot be judged, or "".
func (s *State) unknownKind(kind surface.Kind) string {
	if why := s.failed[kind]; why != "" {
		return NotListed(kind, why)
	}
	if s.overflown[kind] {
		return fmt.Sprintf("more of the server's %s drifted than can be remembered", Plural(kind))
	}
	return ""
}

// NotListed says that a kind could not be listed.
func NotListed(kind surface.Kind, why string) string {
	return fmt.Sprintf("the server's %s could not be listed: %s", Plural(kind), why)
}

// showItem is the name of an item in a message.
func showItem(kind surface.Kind, name string) string {
	return string(kind) + " " + jsonrpc.ShowName(name)
}

// tooLong is the reason against a name that cannot be looked up, see State.judgeItem.
var tooLong = fmt.Sprintf("longer than %d bytes", jsonrpc.MaxName)

// RefuseItem says why the item of that kind and name must not be used, or "".
func (s *State) RefuseItem(kind surface.Kind, name string) string {
	if s.exclude[kind] {
		return ""
	}
	if len(name) > jsonrpc.MaxName {
		return showItem(kind, name) + ": " + tooLong
	}
	k := key(kind, name)
	if d, ok := s.lookUp(k); ok {
		return showItem(kind, name) + ": " + d.Reason
	}
	if why := s.unknownKind(kind); why != "" {
		return why
	}
	if s.approved[k].IsZero() {
		return showItem(kind, name) + ": was never approved"
	}
	if s.absent[k] && (kind == surface.KindTool || kind == surface.KindPrompt) {
		return showItem(kind, name) + ": " + NotShown
	}
	return ""
}

// RefuseReference says why a completion must not be asked for by a reference to a resource, or
// "". The name is a template's, or the URI of a resource.
func (s *State) RefuseReference(name string) string {
	template, resource := key(surface.KindTemplate, name), key(surface.KindResource, name)
	if why := s.RefuseItem(surface.KindTemplate, name); why == "" || !s.approved[template].IsZero() {
		return why
	}
	if !s.exclude[surface.KindResource] && s.approved[resource].IsZero() {
		return s.RefuseItem(surface.KindTemplate, name)
	}
	if _, drifted := s.lookUp(template); drifted {
		return s.RefuseItem(surface.KindTemplate, name)
	}
	return s.RefuseItem(surface.KindResource, name)
}

// RefuseURI says why the resource under uri must not be read, or "". offered is whether the server
// offers resources. The comment of package guard has the rules.
func (s *State) RefuseURI(uri string, offered bool) string {
	if s.exclude[surface.KindResource] {
		return ""
	}
	if len(uri) > jsonrpc.MaxName {
		return showItem(surface.KindResource, uri) + ": " + tooLong
	}
	if d, ok := s.lookUp(key(surface.KindResource, uri)); ok {
		return showItem(surface.KindResource, uri) + ": " + d.Reason
	}
	if why := s.unknownKind(surface.KindResource); why != "" {
		return why
	}
	if !s.approved[key(surface.KindResource, uri)].IsZero() {
		return ""
	}
	if why := s.refuseSpelling(uri); why != "" {
		return why
	}
	if why := s.unknownKind(surface.KindTemplate); why != "" && !s.exclude[surface.KindTemplate] {
		return why
	}
	if !offered {
		return showItem(surface.KindResource, uri) + ": the server offers no resources"
	}
	return ""
}

// refuseSpelling says which drifted template uri matches, or of which drifted resource it is another
// spelling, or "". A name that was too long to be kept may match anything.
func (s *State) refuseSpelling(uri string) string {
	plain := jsonrpc.NormalURI(uri)
	for _, drift := range []map[string]Drift{s.varying, s.listed.Entries(), s.answered.Entries()} {
		for k, d := range drift {
			if template, ok := strings.CutPrefix(k, "template:"); ok && !s.exclude[surface.KindTemplate] &&
				(strings.HasPrefix(template, digestMark) || jsonrpc.MatchTemplate(template, uri) ||
					jsonrpc.MatchTemplate(template, plain)) {
				return showItem(surface.KindTemplate, template) + ": " + d.Reason
			}
			if other, ok := strings.CutPrefix(k, "resource:"); ok && (strings.HasPrefix(other, digestMark) ||
				jsonrpc.NormalURI(other) == plain) {
				return showItem(surface.KindResource, other) + ": " + d.Reason
			}
		}
	}
	return ""
}

// RefuseAll returns the first drift or failure by key, or "": why nothing may be used where any
// drift blocks.
func (s *State) RefuseAll() string {
	for _, drift := range []map[string]Drift{s.listed.Entries(), s.answered.Entries()} {
		if len(drift) > 0 {
			k := slices.Min(slices.Collect(maps.Keys(drift)))
			return jsonrpc.ShowName(k) + ": " + drift[k].Reason
		}
	}
	for _, m := range Methods {
		if why := s.unknownKind(m.Kind); why != "" {
			return why
		}
	}
	return ""
}
