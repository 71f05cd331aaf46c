package hashline

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	// shownLine matches a line as it is printed, with what is put before it when text is quoted.
	shownLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[ \t>+-]*([1-9][0-9]{0,9}):([0-9a-f]{2,4})\|(.*)`)
	})
	// shownHeader matches the line before the lines of a file, and shownCut what stands for a part of a long line.
	shownHeader = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[ \t>+-]*\[file_hash=(?:sha256:)?[0-9a-f]{12,64}[ \]]`)
	})
	shownCut = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+ bytes cut\]`) })
)

// contentLines divides content into lines without endings.
func contentLines(content string) [][]byte {
	lines := bytes.Split([]byte(strings.TrimSuffix(content, "\n")), []byte{'\n'})
	for i, line := range lines {
		lines[i] = bytes.TrimRight(line, "\r")
	}
	return lines
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

// CheckContent refuses content that is no text, or that holds what a reader was shown besides the text of lines: see
// [Options.Tagged]. Read is the file as it was read, nil if there is none. Its error is an *[Error].
func CheckContent(content string, read *File, o Options) error {
	if i := strings.IndexByte(content, 0); i >= 0 || !utf8.ValidString(content) {
		return refuse(Binary, "content is not text: it holds a NUL or is not UTF-8")
	}
	if o.Tagged {
		return nil
	}
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if what := read.echoIn(line); what != "" && !read.holds(line) {
			return refuse(EchoedTags, "line %d of content holds %s; give the text of lines only, without NUMBER:TAG| and "+
				"without what is in brackets. If the file itself is to hold this, repeat the call with tags_meant true",
				number, what)
		}
	}
	return nil
}

// echoIn says what of a line was shown to a reader besides the text of lines; "" if nothing shows that.
func (f *File) echoIn(line string) string {
	m := shownLine().FindStringSubmatch(line)
	switch {
	case m != nil && f.isShown(m[1], m[2], m[3]):
		return "the tag of a line, " + quote(m[1]+":"+m[2]+"|")
	case shownHeader().MatchString(line):
		return "the header of a file"
	}
	if cut := shownCut().FindString(line); cut != "" {
		return quote(cut) + ", which stands for a part of a line that was not shown"
	}
	return ""
}

// holds reports whether a line of the file has this content.
func (f *File) holds(content string) bool {
	for n := 1; f != nil && n <= f.Lines(); n++ {
		if string(f.Line(n)) == content {
			return true
		}
	}
	return false
}

// isShown reports whether a tag was copied: it is that of the text behind it, or of the line with this number.
func (f *File) isShown(number, tag, text string) bool {
	is := func(content []byte) bool { return Tag(Hash(content), len(tag)) == tag }
	if len(trimSpace([]byte(text))) > 0 && is([]byte(text)) {
		return true
	}
	n, err := strconv.Atoi(number)
	return err == nil && f != nil && n <= f.Lines() && is(f.Line(n))
}
