package local

import (
	"bytes"
	"encoding/json"
	"strings"
)

// literal is a text that stands in quotes in a file, with the key that it is a value of: that of
// JSON, which stands in quotes too and before a colon, or of TOML.
type literal struct {
	key, text string
}

// literals are the texts in quotes of JSON with comments, TOML or a module of python; comment
// begins a comment up to the end of its line: '#' or '/', which is "//" or "/*". What is no such
// file gives what looks like one.
func literals(data []byte, comment byte) (out []literal) {
	key := ""
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '#' && comment == '#', c == '/' && comment == '/' && i+1 < len(data) && data[i+1] == '/':
			for i < len(data) && data[i] != '\n' {
				i++
			}
		case c == '/' && comment == '/' && i+1 < len(data) && data[i+1] == '*':
			end := bytes.Index(data[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += 2 + end + 1
		case c == '=' && comment == '#':
			key = lastWord(data[:i])
		case c == '"', c == '\'' && comment == '#':
			start := i
			for i++; i < len(data) && data[i] != c && data[i] != '\n'; i++ {
				if data[i] == '\\' && c == '"' {
					i++
				}
			}
			if i >= len(data) {
				return out
			}
			text := string(data[start+1 : i])
			if c == '"' {
				var s string
				if json.Unmarshal([]byte(`"`+text+`"`), &s) == nil {
					text = s
				}
			}
			if rest := strings.TrimLeft(string(data[i+1:min(len(data), i+64)]), " \t\r\n"); strings.HasPrefix(rest,
				":") && comment == '/' {
				key = text
				continue
			}
			out = append(out, literal{key, text})
		}
	}
	return out
}

// lastWord is the last word before an equals sign.
func lastWord(data []byte) string {
	words := strings.Fields(string(data[max(0, len(data)-128):]))
	if len(words) == 0 {
		return ""
	}
	return strings.Trim(words[len(words)-1], `"'`)
}
