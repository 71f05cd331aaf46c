package facet

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxDescription is the longest description that is taken, in code points.
const maxDescription = 1024

// Head is what stands before the text of a Markdown file, between two lines of three hyphens, and the text's first
// line. It is read line by line and not as YAML; spec/facet.md says how.
type Head struct {
	Members map[string]string // by the names that stand at the beginning of a line
	Unread  []string          // lines that are no member and go with none, or that others may read as several
	Open    bool              // it begins and does not end in what was read, so that no member is taken

	metadataVersion string
	firstLine       string // of the text
	pieces          map[string][]string
}

// memberLine is a line that begins a member: a name, which may be quoted, a colon, and what follows.
var memberLine = spelling.Form(`^(?:([A-Za-z0-9_][A-Za-z0-9_. /-]*?)|"([A-Za-z0-9_. /-]+)"` +
	`|'([A-Za-z0-9_. /-]+)')[ \t]*:(?:[ \t](.*))?$`)

// blockMark is what begins a text of several lines.
var blockMark = spelling.Form(`^[|>][-+0-9]*$`)

// otherBreaks are what readers of YAML may take for the end of a line, and this one does not: what follows
// one may be a member to them.
const otherBreaks = "\r\u0085\u2028\u2029"

// ParseHead reads the head of a Markdown file, of which data is the beginning.
func ParseHead(data []byte) Head {
	h := Head{Members: map[string]string{}}
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	text := lines
	if isFence(lines[0]) {
		end := 1
		for end < len(lines) && !isFence(lines[end]) {
			end++
		}
		if end == len(lines) {
			h.Open = true
			return h
		}
		h.readMembers(lines[1:end])
		for _, line := range lines[1:end] {
			if strings.ContainsAny(line, otherBreaks) {
				h.Unread = append(h.Unread, line)
			}
		}
		text = lines[end+1:]
	}
	for _, line := range text {
		if line = strings.TrimRight(strings.TrimLeft(line, "# \t"), " \t"); line != "" {
			h.firstLine = line
			break
		}
	}
	return h
}

// Written returns the lines of a member as they are written: what follows its colon, then those that belong to it,
// without the white space around them. A line of the head that begins another member of the name is one of them.
func (h Head) Written(name string) []string {
	written := slices.Clone(h.pieces[name])
	for _, line := range h.Unread {
		if m := memberLine().FindStringSubmatch(line); m != nil && m[1]+m[2]+m[3] == name {
			written = append(written, line)
		}
	}
	return written
}

// isFence reports whether a line begins or ends a head.
func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// readMembers reads the lines of a head.
func (h *Head) readMembers(lines []string) {
	name := ""
	pieces := map[string][]string{}
	h.pieces = pieces
	for _, line := range lines {
		trimmed := strings.Trim(line, " \t")
		m := memberLine().FindStringSubmatch(line)
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case line[0] == ' ' || line[0] == '\t' || trimmed == "-" || strings.HasPrefix(line, "- "):
			if name == "" {
				h.Unread = append(h.Unread, line)
				continue
			}
			pieces[name] = append(pieces[name], trimmed)
		case m == nil || pieces[m[1]+m[2]+m[3]] != nil: // a second one of a name is not read either
			h.Unread, name = append(h.Unread, line), ""
		default:
			name = m[1] + m[2] + m[3]
			pieces[name] = []string{strings.Trim(m[4], " \t")}
		}
	}
	for name, all := range pieces {
		h.Members[name] = joinText(all)
	}
	if len(pieces["metadata"]) == 0 {
		return
	}
	for _, piece := range pieces["metadata"][1:] {
		if m := memberLine().FindStringSubmatch(piece); m != nil && m[1]+m[2]+m[3] == "version" {
			h.metadataVersion = joinText([]string{strings.Trim(m[4], " \t")})
			break
		}
	}
}

// joinText is the text of a member whose lines are pieces: without the mark of a text of several lines, what follows a
// hash, and quotes around all of it.
func joinText(pieces []string) string {
	if blockMark().MatchString(pieces[0]) {
		pieces = pieces[1:]
	}
	text := strings.Trim(strings.Join(pieces, " "), " ")
	if !isQuoted(text) {
		text, _, _ = strings.Cut(text, " #")
		text = strings.TrimRight(text, " \t")
	}
	if isQuoted(text) {
		text = text[1 : len(text)-1]
	}
	return text
}

func isQuoted(s string) bool {
	return len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

// version is the member version, or else that of metadata, if it is M.N.P; else 0.0.0.
func (h Head) version() string {
	if v, ok := h.Members["version"]; ok {
		return versionOf(v)
	}
	return versionOf(h.metadataVersion)
}

// description is the member description, or else the first line of the text, or else the name: at most 1024 code
// points.
func (h Head) description(name string) string {
	for _, text := range []string{h.Members["description"], h.firstLine} {
		if text != "" && utf8.ValidString(text) {
			return clipRunes(text)
		}
	}
	return name
}

// clipRunes are the first code points of s.
func clipRunes(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxDescription {
			return s[:i]
		}
	}
	return s
}
