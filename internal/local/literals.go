package local

import (
	"bytes"
	"encoding/json"
	"strings"
)

// literal is a text in quotes, with the key whose value it is: in JSON a text before a colon, in TOML a
// word before an equals sign.
type literal struct {
	key, text string
}

// findLiterals returns the texts in quotes of JSON with comments, TOML or a module of python. comment says
// how comments begin: '#', or '/' for "//" and "/*". A file in another format is read as far as it looks
// like one of these.
func findLiterals(data []byte, comment byte) (out []literal) {
	key := ""
	for i := 0; i < len(data); i++ {
		if n := commentLength(data[i:], comment); n > 0 {
			i += n - 1
			continue
		}
		switch c := data[i]; {
		case c == '=' && comment == '#':
			key = lastWord(data[:i])
		case c == '"', c == '\'' && comment == '#':
			text, end := readQuoted(data, i)
			if end >= len(data) {
				return out
			}
			i = end
			if comment == '/' && isBeforeColon(data[end+1:]) {
				key = text
				continue
			}
			out = append(out, literal{key, text})
		}
	}
	return out
}

// commentLength returns the length of the comment with which data begins, 0 if it begins with none.
func commentLength(data []byte, comment byte) int {
	end, mark := -1, 0
	switch {
	case comment == '#' && data[0] == '#', comment == '/' && bytes.HasPrefix(data, []byte("//")):
		end, mark = bytes.IndexByte(data, '\n'), len("\n")
	case comment == '/' && bytes.HasPrefix(data, []byte("/*")):
		if end = bytes.Index(data[2:], []byte("*/")); end >= 0 {
			end, mark = 2+end, len("*/")
		}
	default:
		return 0
	}
	if end < 0 {
		return len(data)
	}
	return end + mark
}

// readQuoted returns the text whose opening quote stands at start, and the offset of its closing quote or
// of the end of the line, len(data) or more if there is neither.
func readQuoted(data []byte, start int) (text string, end int) {
	quote := data[start]
	for end = start + 1; end < len(data) && data[end] != quote && data[end] != '\n'; end++ {
		if data[end] == '\\' && quote == '"' {
			end++
		}
	}
	if end >= len(data) {
		return "", end
	}
	text = string(data[start+1 : end])
	if quote == '"' {
		var unescaped string
		if json.Unmarshal([]byte(`"`+text+`"`), &unescaped) == nil {
			text = unescaped
		}
	}
	return text, end
}

// isBeforeColon reports whether a colon follows after white space, within 63 bytes.
func isBeforeColon(rest []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(rest[:min(len(rest), 63)], " \t\r\n"), []byte(":"))
}

// lastWord returns the last word of data, without quotes around it.
func lastWord(data []byte) string {
	words := strings.Fields(string(data[max(0, len(data)-128):]))
	if len(words) == 0 {
		return ""
	}
	return strings.Trim(words[len(words)-1], `"'`)
}
