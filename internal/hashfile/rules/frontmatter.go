package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

var (
	// fenceLine matches a line that begins or ends front matter.
	fenceLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^---(?:[ \t]+#.*|[ \t]*)$`)
	})
	// leadingComment matches a comment that may stand before it, such as a copyright notice.
	leadingComment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?s:<!--.*?-->)`)
	})
	// directiveLines matches directives of YAML before front matter.
	directiveLines = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^%[A-Za-z][^\n]*\n(?:[ \t]*(?:[%#][^\n]*)?\n)*---`)
	})
)

// errDirective is the error of front matter that begins with a directive, which can give tags another meaning.
var errDirective = errors.New("its front matter begins with a directive of YAML, which is not supported")

// errSpelling ends each error about a key that resembles one of the three names.
const errSpelling = "rules are forbidden:, read_only: and ignore:, each at the beginning of its line between two " +
	"lines ---"

// parse reads the front matter. Of YAML it understands the forms
//
//	forbidden: [a, "b/**"]
//	read_only:
//	  - c
//	ignore: d
//
// In the names letter case is ignored, and "-" stands for "_" as well. Any other form of a member with one of these
// names is an error, as is a key that resembles one of them, at whatever depth. Front matter without any belongs to
// another program and restricts nothing, as does text that does not begin with front matter.
func (s *Set) parse(text string) error {
	if at := strings.IndexFunc(strings.ToValidUTF8(text, "\x00"), func(c rune) bool { return c == 0 }); at >= 0 {
		return fmt.Errorf("line %d: it is not text in UTF-8", 1+strings.Count(text[:at], "\n"))
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	rest := text
	for {
		rest = strings.TrimLeftFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) })
		comment := leadingComment().FindString(rest)
		if comment == "" {
			break
		}
		rest = rest[len(comment):]
	}
	if before := text[:len(text)-len(rest)]; directiveLines().MatchString(rest) {
		return fmt.Errorf("line %d: %w", 1+strings.Count(before, "\n"), errDirective)
	}
	if !strings.HasPrefix(rest, "---") && !strings.HasPrefix(rest, "+++") {
		return nil
	}
	s.text = rest
	defer func() { s.text = "" }()
	lines := strings.Split(rest, "\n")
	number := strings.Count(text[:len(text)-len(rest)], "\n") + 1 // of lines[0]
	read := s.readMembers
	if !fenceLine().MatchString(lines[0]) {
		read, number = passOver, number-1
	} else {
		lines = lines[1:]
	}
	if n, err := read(lines); err != nil {
		return fmt.Errorf("line %d: %w", number+n, err)
	}
	return nil
}

// passOver reads lines that begin like front matter and are not, and fails on a key that resembles one of the three
// names. Number is the line of the error, from 1, as in the functions below.
func passOver(lines []string) (number int, err error) {
	// A document of YAML may begin in the line of its dashes.
	document := strings.HasPrefix(lines[0], "--- ") || strings.HasPrefix(lines[0], "---\t")
	lines[0] = strings.TrimLeft(lines[0], "-+")
	for i, line := range lines {
		if i > 0 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++")) {
			lines = lines[:i]
			break
		}
		if key := resemblingKey(line); key != "" {
			return i + 1, fmt.Errorf("%s stands in what does not begin as front matter does; %s", refusal.Show(key),
				errSpelling)
		}
	}
	if document {
		return findHiddenKey(lines)
	}
	return 0, nil
}
