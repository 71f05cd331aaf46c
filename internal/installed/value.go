package installed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// A value is what a member of a front matter or of adapters holds: nil, a bool, a [json.Number], a
// string, a list ([]any) or an [object]. Objects keep the order of their members: in the permissions of
// opencode the last rule that fits wins.

// object is an object with its members in their order.
type object []member

// member is a named value.
type member struct {
	name  string
	value any
}

// find returns the value of a member.
func (o object) find(name string) (value any, ok bool) {
	if i := slices.IndexFunc(o, func(m member) bool { return m.name == name }); i >= 0 {
		return o[i].value, true
	}
	return nil, false
}

// maxDepth and maxValues bound the values of a front matter, which aliases of YAML may multiply.
const (
	maxDepth  = 64
	maxValues = 1 << 14
)

// errTooLarge says that a front matter has more values than one that people write.
var errTooLarge = errors.New("has too many values, or too deep ones")

// readJSON reads the object of a target in adapters. [facet.ParseManifest] has checked it: no member is
// there twice, and it is no deeper than its limit.
func readJSON(data []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readJSONValue(d)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.New("is no object")
	}
	return o, nil
}

// readJSONValue reads the next value.
func readJSONValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := readJSONValue(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), value}) // the decoder has checked that a name is a string
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := readJSONValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

// yamlReader makes values of the nodes of a library.
type yamlReader struct {
	count int
}

// jsonNumber is a number that JSON, TOML and all versions of YAML write alike.
var jsonNumber = spelling.Form(`^-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?$`)

// readValue makes a value of a node. It follows aliases, within the limits.
func (r *yamlReader) readValue(n *yaml.Node, depth int) (any, error) {
	if r.count++; r.count > maxValues || depth > maxDepth {
		return nil, errTooLarge
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.readValue(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := r.readValue(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		o := object{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return nil, errors.New("has a key that is no text")
			}
			if _, twice := o.find(key.Value); twice {
				return nil, fmt.Errorf("has the member %+q twice", key.Value)
			}
			v, err := r.readValue(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.Value, v})
		}
		return o, nil
	}
	switch {
	case n.Tag == "!!null":
		return nil, nil
	case n.Tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case (n.Tag == "!!int" || n.Tag == "!!float") && jsonNumber().MatchString(n.Value):
		return json.Number(n.Value), nil
	}
	return n.Value, nil
}

// plainKey is a key that needs no quotes in YAML.
var plainKey = spelling.Form(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// yamlWords are plain scalars that some version of YAML reads as something else than text.
var yamlWords = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// yamlKey is a key in YAML.
func yamlKey(s string) string {
	if plainKey().MatchString(s) && !slices.Contains(yamlWords, strings.ToLower(s)) {
		return s
	}
	return yamlText(s)
}

// yamlValue is a value on one line of YAML.
func yamlValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		return v.String()
	case string:
		return yamlText(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = yamlValue(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case object:
		items := make([]string, len(v))
		for i, m := range v {
			items[i] = yamlText(m.name) + ": " + yamlValue(m.value)
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	panic(fmt.Sprintf("adapter: a value of type %T", v)) // readers make no others
}

// yamlText is s as a double-quoted scalar of YAML, which takes the escapes of JSON.
func yamlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0xfeff || r >= 0x2028 && r <= 0x2029:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// tomlValue is a value as a library writes it to TOML; ok is false if TOML has nothing for it.
func tomlValue(v any) (value any, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, true
		}
		f, err := v.Float64()
		return f, err == nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], ok = tomlValue(item); !ok {
				return nil, false
			}
		}
		return list, true
	case object:
		table := map[string]any{}
		for _, m := range v {
			if table[m.name], ok = tomlValue(m.value); !ok {
				return nil, false
			}
		}
		return table, true
	}
	return v, true
}
