package pages

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/surface"
)

// piece is a part of a text from outside: as it is, or with the class of its hidden
// characters, which Text then names by number.
type piece struct{ Text, Hidden string }

// splitShown splits text from outside into pieces, so that a page can mark what a reader would not
// see. Line feeds and tabs stay; they are white space to a page. The pieces are no HTML.
func splitShown(s string) []piece {
	hidden := surface.FindHidden(s)
	if len(hidden) == 0 {
		return []piece{{Text: s}}
	}
	var out []piece
	add := func(text, class string) {
		if n := len(out); n > 0 && out[n-1].Hidden == class {
			out[n-1].Text += text
			return
		}
		out = append(out, piece{text, class})
	}
	// More than are listed are found piece by piece.
	for at, begin := 0, 0; begin < len(s); {
		if len(hidden) == 0 {
			if hidden = surface.FindHidden(s[begin:]); len(hidden) == 0 {
				add(s[begin:], "")
				break
			}
			at = 0
		}
		end := begin
		for ; at < hidden[0].Offset; at++ {
			_, n := utf8.DecodeRuneInString(s[end:])
			end += n
		}
		if end > begin {
			add(s[begin:end], "")
		}
		_, n := utf8.DecodeRuneInString(s[end:])
		add(surface.Escape(s[end:end+n]), hidden[0].Class)
		begin, at, hidden = end+n, at+1, hidden[1:]
	}
	return out
}

// clip is the beginning of s, at most n bytes of it, and says that it is.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " …"
}

// maxLink is the length of a link that a page has, in bytes.
const maxLink = 2048

// outLink is a URL that a publisher supplied if a page may link to it, else "": http and
// https with a host and nothing that would mislead about which one.
func outLink(text string) string {
	if len(text) > maxLink || strings.ContainsAny(text, "\\\"'<>` \t\r\n") || surface.Escape(text) != text {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		u.Opaque != "" {
		return ""
	}
	return u.String()
}
