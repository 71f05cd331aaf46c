package place

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/internal/frontmatter"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

var (
	// leadingComment matches a comment that may stand before front matter, such as a copyright notice.
	leadingComment = spelling.Form(`^(?s:<!--.*?-->)`)
	// directive matches directives of YAML before a line "---". They can give tags another meaning.
	directive = spelling.Form(`(?m)^%[A-Za-z][^\n]*\n(?:[ \t]*(?:[%#][^\n]*)?\n)*---`)
	// keyInLine matches a key of YAML or TOML, its group 1, at the beginning of a line or in brackets, or a word that
	// has a line for itself, its group 2. It is for what is not YAML.
	keyInLine = spelling.Form(`(?m)(?:^|[\[{,\x{85}\x{2028}\x{2029}\v\f])[\s\pZ\pC]*(?:[-?:]\s+|[!&]\S*\s+)*` +
		`["']?(<<|[\pL\pM\pN\p{Cf}_ \\-]{1,64}?)["']?\s*[:=]|^["']?([\pL\pM\pN\p{Cf}_-]{1,64})["']?[ \t]*$`)
)

// rulesAdvice ends each error about a key that resembles one of the three names.
const rulesAdvice = "rules are forbidden:, read_only: and ignore:, each at the beginning of its line between two " +
	"lines ---"

// rulesReader reads the front matter of one AGENTS.md.
type rulesReader struct {
	set  *ruleSet
	line int // of the file, from 1, in which the section begins that is read
	seen map[*[]Glob]bool
}

// parse reads the front matter: one YAML document whose value is a mapping, with the keys of [ruleSet.listOf]. Front
// matter without any of these keys, or others that resemble them, belongs to another program and restricts nothing, as
// does text that does not begin with front matter. Front matter in which such a key is anywhere else is an error.
func (s *ruleSet) parse(text string) error {
	if at := strings.IndexFunc(strings.ToValidUTF8(text, "\x00"), func(c rune) bool { return c == 0 }); at >= 0 {
		return fmt.Errorf("line %d: it is not text in UTF-8", 1+strings.Count(text[:at], "\n"))
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	start := frontStart(text)
	r := rulesReader{set: s, line: 1 + strings.Count(text[:start], "\n"), seen: map[*[]Glob]bool{}}
	return r.read([]byte(text[start:]))
}

// frontStart returns the offset of the first text that is not blank, invisible or a comment of HTML.
func frontStart(text string) int {
	rest := text
	for {
		rest = strings.TrimLeftFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) })
		comment := leadingComment().FindString(rest)
		if comment == "" {
			return len(text) - len(rest)
		}
		rest = rest[len(comment):]
	}
}

// read reads text that may begin with front matter. YAML takes a document without a value for none, so that front
// matter may follow front matter that is empty.
func (r *rulesReader) read(text []byte) error {
	if at := directive().FindIndex(text); at != nil && at[0] == 0 {
		return r.refuseDirective(0)
	}
	for {
		m, found := frontmatter.Split(text)
		if !found {
			break
		}
		end := m.Offset + len(m.YAML)
		section := text[:end] // with the first line, which begins the document
		if !m.Closed {
			return r.passOver(section, "its front matter has no end; write a line --- behind it")
		}
		root, err := frontmatter.Parse(section)
		switch {
		case err != nil:
			return r.passOver(text[:end+len("---")], explainYAML(err))
		case root.Kind == yaml.MappingNode:
			return r.readMapping(root)
		case root.ShortTag() != "!!null":
			return r.passOver(section, rulesAdvice)
		}
		r.line += bytes.Count(section, []byte("\n"))
		text = text[end:]
	}
	if !bytes.HasPrefix(text, []byte("---")) && !bytes.HasPrefix(text, []byte("+++")) {
		return nil
	}
	return r.passOver(text[:beforeFence(text)], "front matter must begin with a line --- and nothing else in it")
}

// beforeFence returns how many bytes of text come before the second line that begins like a fence.
func beforeFence(text []byte) int {
	end := len(text)
	for _, fence := range []string{"\n---", "\n+++"} {
		if at := bytes.Index(text[:end], []byte(fence)); at >= 0 {
			end = at + 1
		}
	}
	return end
}

// lineInError matches what the parser says of a line, which it does not count as people do.
var lineInError = spelling.Form(`line \d+: `)

// explainYAML returns the reason of an error of [frontmatter.Parse], and what to write instead.
func explainYAML(err error) string {
	reason := Show(lineInError().ReplaceAllString(err.Error(), ""))
	if errors.Is(err, frontmatter.ErrTooLarge) || errors.Is(err, frontmatter.ErrNotOne) {
		return reason + "; write a short one between two lines ---"
	}
	return reason + `; put globs in quotes, as "*.pem"`
}

// passOver reads a section that is not plainly YAML, or not where front matter must be. It fails with the reason if a
// key in it resembles one of the three names, whether by its look or to a reader of YAML; if not, the section belongs
// to another program.
func (r *rulesReader) passOver(section []byte, reason string) error {
	if at := directive().FindIndex(section); at != nil {
		return r.refuseDirective(bytes.Count(section[:at[0]], []byte("\n")))
	}
	for _, at := range keyInLine().FindAllSubmatchIndex(section, -1) {
		if at[2] < 0 {
			at = at[2:]
		}
		key := string(section[at[2]:at[3]])
		escaped := bytes.HasSuffix(section[:at[2]], []byte(`"`)) && strings.Contains(key, `\`)
		if escaped || resembles(key) {
			line := 1 + bytes.Count(section[:at[2]], []byte("\n"))
			return r.errorf(line, "%s cannot be read: %s", Show(key), reason)
		}
	}
	documents, _ := frontmatter.Documents(section)
	for _, n := range documents {
		if key := findSuspect(n); key != nil {
			return r.errorf(key.Line, "%s cannot be read: %s", Show(key.Value), reason)
		}
	}
	return nil
}

func (r *rulesReader) refuseDirective(before int) error {
	return r.errorf(1+before, "a directive of YAML is not supported; take the lines that begin with %% out")
}

// errorf returns an error with a line that counts from 1 at the beginning of the section.
func (r *rulesReader) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", r.line+line-1, fmt.Errorf(format, args...))
}
