package surface

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Kind is what an item is.
type Kind string

// The kinds, in the order of [Surface.Items].
const (
	KindInstructions Kind = "instructions"
	KindTool         Kind = "tool"
	KindPrompt       Kind = "prompt"
	KindResource     Kind = "resource"
	KindTemplate     Kind = "template"
)

// listedKinds are the kinds that servers list, in the order of Surface.Items.
var listedKinds = [...]Kind{KindTool, KindPrompt, KindResource, KindTemplate}

// member is the member of the canonical object that holds the items of a kind.
func (k Kind) member() string {
	switch k {
	case KindTool:
		return "tools"
	case KindPrompt:
		return "prompts"
	case KindResource:
		return "resources"
	case KindTemplate:
		return "resourceTemplates"
	}
	return string(k)
}

// naming is the member of an item that identifies it among its kind.
func (k Kind) naming() string {
	switch k {
	case KindTool, KindPrompt:
		return "name"
	case KindResource:
		return "uri"
	case KindTemplate:
		return "uriTemplate"
	}
	return ""
}

// Item is one tool, prompt, resource or resource template, or the instructions.
type Item struct {
	Kind   Kind
	Name   string        // name, URI or URI template, not empty; "" for instructions
	Digest digest.Digest // SHA-256 of JSON
	JSON   []byte        // in canonical form; not to be modified
}

// Key identifies the item within its surface: "tool:" and its name, "resource:"
// and its URI, and so on, or "instructions". It holds text from the server as it
// is: [Escape] it before printing.
func (i Item) Key() string { return key(i.Kind, i.Name) }

// KindOf is the kind of the item with the given key, "" if there is no such kind.
func KindOf(key string) Kind {
	name, _, _ := strings.Cut(key, ":")
	for _, k := range Kinds() {
		if name == string(k) {
			return k
		}
	}
	return ""
}

func key(k Kind, name string) string {
	if k == KindInstructions {
		return string(k)
	}
	return string(k) + ":" + name
}

// NewItem brings one item alone into canonical form. raw is the item as the
// server sent it; for instructions it is a JSON string. Errors are [*Error].
func NewItem(kind Kind, raw []byte) (Item, error) {
	v, err := parse(raw, Limits{}, modeSent)
	if err != nil {
		return Item{}, withItem(string(kind), err)
	}
	if kind == KindInstructions {
		if v.kind != isString {
			return Item{}, withItem(string(kind), newError(ProblemShape, "not a string"))
		}
		return InstructionsItem(v.text), nil
	}
	item, _, err := newItem(kind, v)
	if err != nil {
		return Item{}, withItem(string(kind), err)
	}
	return item, nil
}

// InstructionsItem is the item of a server's instructions. Bytes that are not
// UTF-8 become U+FFFD, as in a JSON decoder; [New] refuses them.
func InstructionsItem(text string) Item {
	text = strings.ToValidUTF8(text, "\ufffd")
	b := appendString(nil, text)
	return Item{Kind: KindInstructions, Digest: digest.FromBytes(b), JSON: b}
}

// newItem takes over v, and reports whether v was in canonical form.
func newItem(kind Kind, v value) (item Item, canonical bool, _ *Error) {
	naming := kind.naming()
	if naming == "" {
		return Item{}, false, newError(ProblemShape, "no such kind of item: \"%s\"", Escape(clip(string(kind), 40)))
	}
	if v.kind != isObject {
		return Item{}, false, newError(ProblemShape, "not an object")
	}
	name, ok := v.get(naming)
	switch {
	case !ok:
		return Item{}, false, newError(ProblemName, "no member \"%s\"", naming)
	case name.kind != isString || name.text == "":
		return Item{}, false, newError(ProblemName, "the member \"%s\" is not a string or is empty", naming)
	}
	sent := len(v.members)
	v.members = slices.DeleteFunc(v.members, func(m member) bool { return emptyAsAbsent(&m) })
	canonical = len(v.members) == sent
	for i := range v.members {
		if m := &v.members[i]; kind == KindTool && (m.name == "inputSchema" || m.name == "outputSchema") {
			canonical = sortRequired(&m.value) && canonical
		}
	}
	item = Item{Kind: kind, Name: strings.Clone(name.text), JSON: v.canonical()}
	if len(item.JSON) > MaxSize {
		return Item{}, false, newError(ProblemSize, "%d bytes in canonical form, limit %d", len(item.JSON), MaxSize)
	}
	item.Digest = digest.FromBytes(item.JSON)
	return item, canonical, nil
}

// emptyAsAbsent reports whether an item's own member m means the same as none.
func emptyAsAbsent(m *member) bool {
	v := &m.value
	switch m.name {
	case "title", "description":
		return v.kind == isNull || v.kind == isString && v.text == ""
	case "annotations", "_meta":
		return v.kind == isNull || v.kind == isObject && len(v.members) == 0
	case "icons":
		return v.kind == isNull || v.kind == isArray && len(v.list) == 0
	}
	return false
}

// parseJSON is the item's JSON parsed again.
func (i Item) parseJSON() value {
	v, err := parse(i.JSON, Limits{}, modeStored)
	if err != nil {
		return value{} // an Item that this package did not make
	}
	return v
}
