package guard

import (
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// A Method lists one kind of items.
type Method struct {
	Kind       surface.Kind
	Name       string   // "tools/list"
	Member     string   // of the answer, which holds the items
	Capability string   // with which a server offers the items
	Naming     string   // the member of an item by which it is named
	Note       string   // the notification that items changed
	Fields     [][]byte // Member and nextCursor
}

// Methods are those that list.
var Methods = []Method{
	{surface.KindTool, "tools/list", "tools", "tools", "name", "notifications/tools/list_changed",
		jsonrpc.Names("tools", "nextCursor")},
	{surface.KindPrompt, "prompts/list", "prompts", "prompts", "name", "notifications/prompts/list_changed",
		jsonrpc.Names("prompts", "nextCursor")},
	{surface.KindResource, "resources/list", "resources", "resources", "uri", "notifications/resources/list_changed",
		jsonrpc.Names("resources", "nextCursor")},
	{surface.KindTemplate, "resources/templates/list", "resourceTemplates", "resources", "uriTemplate",
		"notifications/resources/list_changed", jsonrpc.Names("resourceTemplates", "nextCursor")},
}

// FindMethod returns the index in Methods of the method with that name, or -1.
func FindMethod(name string) int {
	return slices.IndexFunc(Methods, func(m Method) bool { return m.Name == name })
}

// Plural names a kind in a message.
func Plural(kind surface.Kind) string {
	if kind == surface.KindTemplate {
		return "resource templates"
	}
	return string(kind) + "s"
}

// Offers are the capabilities of a server that can be listed.
type Offers struct{ Tools, Prompts, Resources bool }

// AllOffers is for a server that has not said what it offers.
var AllOffers = Offers{true, true, true}

// Has reports whether the capability called name is offered.
func (o Offers) Has(name string) bool {
	switch name {
	case "tools":
		return o.Tools
	case "prompts":
		return o.Prompts
	}
	return o.Resources
}

var capabilityFields = jsonrpc.Names("tools", "prompts", "resources")

// ReadOffers reads the capabilities object at b[at].
func ReadOffers(s *jsonrpc.Scanner, b []byte, at jsonrpc.Span) (o Offers, err error) {
	if !at.Present() || b[at.Lo] == 'n' {
		return o, nil
	}
	var in [3]jsonrpc.Span
	if _, err := s.Object(b, at.Lo, capabilityFields, in[:]); err != nil {
		return o, fmt.Errorf("capabilities: %w", err)
	}
	offered := func(v jsonrpc.Span) bool { return v.Present() && b[v.Lo] != 'n' }
	return Offers{offered(in[0]), offered(in[1]), offered(in[2])}, nil
}
