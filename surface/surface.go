// Package surface gives what an MCP server shows a model one canonical form,
// digests of it, and a classified comparison of two of them.
//
// # Format
//
// The canonical form, hallmark.surface/v1, is the RFC 8785 (JCS) encoding of
//
//	{"schema": "hallmark.surface/v1",
//	 "instructions": string,        "" if the server gave none
//	 "tools": [...],                as listed, all pages, sorted by "name"
//	 "prompts": [...],              sorted by "name"
//	 "resources": [...],            sorted by "uri"
//	 "resourceTemplates": [...]}    sorted by "uriTemplate"
//
// with all six members always there, and items sorted by the bytes of the UTF-8
// name. Every member of an item is kept, known or not, with these rules:
//
//   - An item's own title and description that are "" or null, annotations and
//     _meta that are {} or null, and icons that are [] or null are left out: they
//     equal absent ones. Nothing else is left out, and nothing inside schemas.
//   - Arrays "required" of strings are sorted in byte order where they are JSON
//     Schema's keyword: in a tool's inputSchema and outputSchema and the schemas
//     below them, but not in data (const, enum, default, examples) and not below
//     keywords that JSON Schema does not have.
//   - A number is the IEEE 754 double nearest to it, so that 1, 1.0 and 1e0 are
//     the same and -0 is 0; but an integer (in exact value, however written)
//     beyond ±2^53 is {"$hallmark.int":"digits"}.
//
// Refused are: member names twice in an object, lone surrogates, bytes that are
// not UTF-8, more than 128 levels in an item, numbers that no double holds, a
// fraction beyond ±2^53, the member name $hallmark.int in what a server sends,
// items without a name, a name twice among a kind, more than 10,000 items or
// 64 MiB.
//
// Three digests, all SHA-256, are taken:
//
//	surface      the canonical form
//	api_surface  {"schema":"hallmark.surface/v1","tools":[...]} in RFC 8785, each
//	             tool reduced to the members name, description and inputSchema
//	             that its canonical form has
//	an item's    the item's canonical form (of instructions: the JSON string)
//
// The form is specified for other implementations in spec/surface.md, with
// vectors in spec/surface.json.
package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Schema names the canonical form.
const Schema = "hallmark.surface/v1"

// Limits of a surface. Size holds for a listing as sent, the canonical form and
// a stored file each.
const (
	MaxItems  = 10_000
	MaxSize   = 64 << 20 // bytes
	MaxDepth  = 128      // levels of arrays and objects in an item, itself the first
	MaxValues = 1 << 20  // JSON values, which take most of the memory that reading does
)

// Listing is what a server listed: its instructions and its items, as it sent them.
type Listing struct {
	Instructions string // "" and absent are the same; see ParseInstructions
	// The items as sent, of all pages.
	Tools, Prompts, Resources, ResourceTemplates []json.RawMessage
}

func (l *Listing) kind(k Kind) []json.RawMessage {
	switch k {
	case KindTool:
		return l.Tools
	case KindPrompt:
		return l.Prompts
	case KindResource:
		return l.Resources
	}
	return l.ResourceTemplates
}

// ParseInstructions reads the member "instructions" of a server's initialize or
// discover result: a string, or null, which is "". Unlike encoding/json it
// refuses what New refuses in items.
func ParseInstructions(raw []byte) (string, error) {
	v, err := parse(raw, Limits{}, modeSent)
	if err != nil {
		return "", withItem(string(KindInstructions), err)
	}
	if v.kind != isString && v.kind != isNull {
		return "", withItem(string(KindInstructions), newError(ProblemShape, "not a string"))
	}
	return v.text, nil
}

// Surface is a listing in canonical form. It is immutable.
type Surface struct {
	items     []Item // in the order of Items
	canonical []byte
}

// New brings a listing into canonical form. An error is an [*Error] that names
// the item.
func New(l Listing) (*Surface, error) {
	size, values := len(l.Instructions), 0
	for _, k := range listedKinds {
		for _, raw := range l.kind(k) {
			size += len(raw)
		}
	}
	if size > MaxSize {
		return nil, newError(ProblemSize, "the listing has %d bytes, limit %d", size, MaxSize)
	}
	if !utf8.ValidString(l.Instructions) {
		return nil, withItem(string(KindInstructions), newError(ProblemUTF8, "not UTF-8"))
	}
	if n := len(l.Tools) + len(l.Prompts) + len(l.Resources) + len(l.ResourceTemplates); n > MaxItems {
		return nil, tooManyItems(n)
	}
	var items []Item
	if l.Instructions != "" {
		items = append(items, InstructionsItem(l.Instructions))
	}
	for _, k := range listedKinds {
		for i, raw := range l.kind(k) {
			place := fmt.Sprintf("%s[%d]", k.member(), i)
			if values == MaxValues {
				return nil, newError(ProblemSize, "more than %d JSON values", MaxValues)
			}
			p := parser{mode: modeSent, limits: Limits{Values: MaxValues - values}}
			v, err := p.parse(raw)
			if err != nil {
				return nil, withItem(place, err)
			}
			values += p.values
			item, _, err := newItem(k, v)
			if err != nil {
				return nil, withItem(place, err)
			}
			items = append(items, item)
		}
	}
	return assemble(items)
}

func tooManyItems(n int) *Error {
	return newError(ProblemSize, "%d items, limit %d", n, MaxItems)
}

// assemble makes a surface of canonical items in any order. It takes over items.
func assemble(items []Item) (*Surface, error) {
	slices.SortStableFunc(items, compareItems)
	for i := 1; i < len(items); i++ {
		if compareItems(items[i-1], items[i]) == 0 {
			return nil, withItem(items[i].Key(), newError(ProblemDuplicateItem, "listed twice"))
		}
	}
	s := &Surface{items: items}
	size := 256
	for _, i := range items {
		size += len(i.JSON) + 1
	}
	if size > MaxSize {
		return nil, newError(ProblemSize, "the canonical form has about %d bytes, limit %d", size, MaxSize)
	}
	b := make([]byte, 0, size)
	b = append(b, `{"instructions":`...)
	b = appendString(b, s.Instructions())
	for _, k := range [...]Kind{KindPrompt, KindTemplate, KindResource} {
		b = s.appendKind(append(b, ','), k)
	}
	b = append(b, `,"schema":"`+Schema+`",`...)
	b = s.appendKind(b, KindTool)
	s.canonical = append(b, '}')
	return s, nil
}

// appendKind writes the member that holds the items of a kind.
func (s *Surface) appendKind(b []byte, k Kind) []byte {
	b = append(b, `"`+k.member()+`":[`...)
	first := true
	for _, i := range s.items {
		if i.Kind != k {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, i.JSON...)
	}
	return append(b, ']')
}

var kindOrder = map[Kind]int{KindInstructions: 0, KindTool: 1, KindPrompt: 2, KindResource: 3, KindTemplate: 4}

// compareItems orders by kind, then by the bytes of the name.
func compareItems(a, b Item) int {
	if a.Kind != b.Kind {
		return kindOrder[a.Kind] - kindOrder[b.Kind]
	}
	return strings.Compare(a.Name, b.Name)
}

// Canonical is the RFC 8785 encoding of hallmark.surface/v1.
func (s *Surface) Canonical() []byte { return bytes.Clone(s.canonical) }

// Digest is the SHA-256 of the canonical form: "surface" in a lock.
func (s *Surface) Digest() digest.Digest { return digest.FromBytes(s.canonical) }

// APISurface is the SHA-256 of the form reduced to tools with name, description
// and inputSchema: "api_surface" in a lock.
func (s *Surface) APISurface() digest.Digest {
	b := []byte(`{"schema":"` + Schema + `","tools":[`)
	first := true
	for _, i := range s.items {
		if i.Kind != KindTool {
			continue
		}
		v := i.parseJSON()
		v.members = slices.DeleteFunc(v.members, func(m member) bool {
			return m.name != "name" && m.name != "description" && m.name != "inputSchema"
		})
		if !first {
			b = append(b, ',')
		}
		first = false
		b = v.append(b)
	}
	return digest.FromBytes(append(b, "]}"...))
}

// Items lists the instructions, if any, then tools, prompts, resources and
// resource templates, each sorted by name in byte order.
func (s *Surface) Items() []Item { return slices.Clone(s.items) }

// Instructions is what the server tells the model at the start, or "".
func (s *Surface) Instructions() string {
	if len(s.items) > 0 && s.items[0].Kind == KindInstructions {
		v := s.items[0].parseJSON()
		return v.text
	}
	return ""
}

// Union is the surface of a server that was captured twice, as different kinds
// of clients. An item that both have must be the same in both, else the error is
// an [*Error] with ProblemConflict that names it. Instructions that one capture
// lacks are taken from the other.
func Union(a, b *Surface) (*Surface, error) {
	items := slices.Clone(a.items)
	for _, i := range b.items {
		n, ok := slices.BinarySearchFunc(a.items, i, compareItems)
		switch {
		case !ok:
			items = append(items, i)
		case !bytes.Equal(a.items[n].JSON, i.JSON):
			return nil, withItem(i.Key(), newError(ProblemConflict, "differs between two captures of the same server"))
		}
	}
	if len(items) > MaxItems+1 {
		return nil, tooManyItems(len(items))
	}
	return assemble(items)
}
