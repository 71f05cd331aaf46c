package hashline

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// echoedTag matches lines as they are printed, by the width of tags.
var echoedTag = sync.OnceValue(func() map[int]*regexp.Regexp {
	return map[int]*regexp.Regexp{
		2: regexp.MustCompile(`^[0-9]+:[0-9a-f]{2}\|`),
		3: regexp.MustCompile(`^[0-9]+:[0-9a-f]{3}\|`),
		4: regexp.MustCompile(`^[0-9]+:[0-9a-f]{4}\|`),
	}
})

// contentLines divides content into lines without endings.
func contentLines(content string, width int) ([][]byte, *Error) {
	if err := CheckContent(content, width); err != nil {
		return nil, err.(*Error)
	}
	lines := bytes.Split([]byte(strings.TrimSuffix(content, "\n")), []byte{'\n'})
	for i, line := range lines {
		lines[i] = bytes.TrimRight(line, "\r")
	}
	return lines, nil
}

// JoinLines is the content that is given as lines; each may hold several, and its line feed
// may be left out as that of content. No lines are no content: nil.
func JoinLines(lines []string) *string {
	if len(lines) == 0 {
		return nil
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimSuffix(line, "\n"))
		b.WriteByte('\n')
	}
	content := b.String()
	return &content
}

// CheckContent refuses content that is no text, or of which every line begins with a tag
// as a reader is shown it. Its error is an *[Error].
func CheckContent(content string, width int) error {
	if i := strings.IndexByte(content, 0); i >= 0 || !utf8.ValidString(content) {
		return refuse(Binary, "content is not text: it holds a NUL or is not UTF-8")
	}
	for line := range strings.Lines(content) {
		if !echoedTag()[width].MatchString(line) {
			return nil
		}
	}
	if content == "" {
		return nil
	}
	return refuse(EchoedTags, "each line of content begins with a tag such as %s; give the text after the bar only",
		quote(echoedTag()[width].FindString(content)))
}
