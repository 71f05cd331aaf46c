package installed

import (
	"bytes"

	"github.com/pelletier/go-toml/v2"
)

// writeTOML writes the members that the client gets, and the body as one more.
func (w *writer) writeTOML(bodyName string, body []byte) ([]byte, error) {
	members := object{}
	for i, m := range w.own.object {
		if w.stays[i] {
			members = append(members, m)
		}
	}
	members = append(members, w.more...)
	var b bytes.Buffer
	for _, name := range nameAndDescription { // first, as people expect them
		if v, ok := members.find(name); ok {
			if err := addTOML(&b, name, v); err != nil {
				return nil, err
			}
		}
	}
	text, err := toml.Marshal(bodyOf(bodyName, string(trimLines(body))))
	if err != nil {
		return nil, err
	}
	b.Write(text)
	rest := map[string]any{} // tables among them stand last
	var none []string
	for _, m := range members {
		if m.name == "name" || m.name == "description" {
			continue
		}
		v, ok := tomlValue(m.value)
		if !ok {
			none = append(none, m.name)
			continue
		}
		rest[m.name] = v
	}
	w.noteNames("lacks members that TOML cannot hold: ", none)
	if text, err = toml.Marshal(rest); err != nil {
		return nil, err
	}
	b.Write(text)
	return b.Bytes(), nil
}

// bodyOf is a document with the body in one member, on lines of its own.
func bodyOf(name, text string) any {
	if name == prompt {
		return struct {
			Prompt string `toml:"prompt,multiline"`
		}{text}
	}
	return struct {
		Instructions string `toml:"developer_instructions,multiline"`
	}{text}
}

// addTOML writes one member.
func addTOML(b *bytes.Buffer, name string, v any) error {
	value, ok := tomlValue(v)
	if !ok {
		return nil
	}
	text, err := toml.Marshal(map[string]any{name: value})
	if err != nil {
		return err
	}
	b.Write(text)
	return nil
}
