package clients

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// LineEnd returns the line end that a file uses.
func LineEnd(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// FormatList writes texts as a list in brackets, which all formats have.
func FormatList(texts []string) string { return "[" + strings.Join(quoteAll(texts), ", ") + "]" }

// FormatListLike writes texts as a list in the style of old, a list in data, which it replaces.
func (f Format) FormatListLike(data []byte, old *Node, texts []string) string {
	if f != YAML || old.Flow {
		return FormatList(texts)
	}
	_, column := Position(data, old.Start)
	return "- " + strings.Join(quoteAll(texts), LineEnd(data)+strings.Repeat(" ", column-1)+"- ")
}

func quoteAll(texts []string) (quoted []string) {
	for _, s := range texts {
		quoted = append(quoted, Quote(s))
	}
	return quoted
}

// Quote writes a string so that JSON, JSON5, TOML and YAML read it alike.
func Quote(s string) string {
	text, _ := machine.Marshal(s) // strings always encode
	var out strings.Builder
	for _, r := range string(text) {
		if 0x7f <= r && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff { // which YAML, or TOML, has not
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
