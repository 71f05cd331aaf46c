package installed

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// live is something that a client does with a text when it loads it, before a model or a person sees it. It finds all
// that the client would, and more: what a client's own pattern leaves out today it may take tomorrow. Each mark counts
// by itself, also within what another one begins, as a client that passes over that one sees it.
type live struct {
	kind  facet.RunKind
	mark  string
	after func(rune) bool          // whether the mark counts after this, or 0 at the beginning; nil for any
	rest  func(text []byte) []byte // of what follows the mark, what it is about; nil if it is about nothing
}

// Limits of what is found in one text: a hostile one could hold a mark at every second byte.
const (
	maxLive     = 2000
	maxLiveText = 16 << 10 // bytes
)

// find is what l finds in a text.
func (l live) find(text []byte) (found [][]byte) {
	for at := 0; ; at++ {
		next := bytes.Index(text[at:], []byte(l.mark))
		if next < 0 {
			return found
		}
		at += next
		before := rune(0)
		if at > 0 {
			before, _ = utf8.DecodeLastRune(text[:at])
		}
		if l.after != nil && !l.after(before) {
			continue
		}
		rest := text[at+len(l.mark):]
		what := bytes.TrimSpace(l.rest(rest[:min(len(rest), maxLiveText)]))
		switch {
		case len(what) == 0:
		case len(found) == maxLive:
			return append(found, []byte("and more that begins with "+l.mark))
		case len(what) == maxLiveText:
			found = append(found, append(bytes.Clone(what), " …"...))
		default:
			found = append(found, what)
		}
	}
}

// upTo is the text up to an end, or all of it.
func upTo(end string) func([]byte) []byte {
	return func(text []byte) []byte {
		what, _, _ := bytes.Cut(text, []byte(end))
		return what
	}
}

// upToBrace is the text up to the brace that closes the one before it, or all of it.
func upToBrace(text []byte) []byte {
	open := 1
	for i, c := range text {
		switch c {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return text[:i]
			}
		}
	}
	return text
}

// findOutside finds the file that is named by what follows an @, if that is not below the project: /etc/passwd,
// ~/.ssh/id_rsa, ../other, with quotes too.
func findOutside(text []byte) []byte { return outside().Find(text) }

var outside = spelling.Form("^\"?(?:[/~]|[^\\s\"@`]*\\.\\./)[^\\s\"`]*")

// notIn reports whether a rune is no letter, no digit and none of others.
func notIn(others string) func(rune) bool {
	return func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(others, r)
	}
}

var (
	// Claude Code runs a fence with an exclamation mark wherever it begins in a line, and what stands between backticks
	// after such a mark that follows white space, over the ends of lines; and adds the files that are named after an @.
	liveInClaude = []live{
		{facet.RunCommand, "```!", nil, upTo("```")},
		{facet.RunCommand, "!`", notIn(""), upTo("`")},
		{facet.RunFile, "@", notIn("_./@`'\""), findOutside},
	}
	// opencode runs what stands between backticks after an exclamation mark, whatever precedes it.
	liveInOpencode = []live{
		{facet.RunCommand, "!`", nil, upTo("`")},
		{facet.RunFile, "@", notIn("_`"), findOutside},
	}
	// Gemini CLI and its forks run what is in braces after an exclamation mark, and add files and directories.
	liveInGemini = []live{
		{facet.RunCommand, "!{", nil, upToBrace},
		{facet.RunFile, "@{", nil, upToBrace},
	}
)
