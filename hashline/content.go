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
	// shownLine matches a line as it is printed, with the signs that may be put before it when text is quoted.
	shownLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[^\pL\pN_]{0,8}([1-9][0-9]{0,9}):([0-9a-f]{2,4})\|(.*)`)
	})
	// timeOfDay matches a tag that could be the minutes of the hour before it.
	timeOfDay = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-5][0-9]$`) })
	// shownHeader matches the line before the lines of a file, and shownCut what stands for a part of a long line.
	shownHeader = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[^\pL\pN_]{0,8}\[file_hash=(?:sha256:)?[0-9a-f]{12,64}[ \]]`)
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
	return checkContent(content, read, o, 0, 0)
}

// checkContent is [CheckContent] for content that replaces the lines first to last; 0 if it replaces none.
func checkContent(content string, read *File, o Options, first, last int) error {
	if i := strings.IndexByte(content, 0); i >= 0 || !utf8.ValidString(content) {
		return refuse(Binary, "content is not text: it holds a NUL or is not UTF-8")
	}
	if o.Tagged {
		return nil
	}
	e := echoes{file: read, first: first, last: last}
	number, what := e.find(content)
	if what == "" {
		return nil
	}
	return refuse(EchoedTags, "line %d of content holds %s; give the text of lines only, without NUMBER:TAG| and "+
		"without what is in brackets. If the file itself is to hold this, repeat the call with tags_meant true", number,
		what)
}

// find returns the first line of content that was copied from what a reader is shown, and what shows that. Lines
// that the file has are its text, whatever they look like.
func (e *echoes) find(content string) (number int, what string) {
	for line := range strings.Lines(content) {
		e.look(strings.TrimRight(line, "\r\n"))
	}
	if len(e.found) == 0 {
		return 0, ""
	}
	has := map[string]bool{}
	for _, x := range e.found {
		has[x.line] = false
	}
	for n, f := 1, e.file; f != nil && n <= f.Lines(); n++ {
		if _, ok := has[string(f.Line(n))]; ok {
			has[string(f.Line(n))] = true
		}
	}
	var weak []echo
	for _, x := range e.found {
		switch {
		case has[x.line]:
		case !x.weak:
			return x.number, x.what
		default:
			weak = append(weak, x)
		}
	}
	if len(weak) > 1 { // one may be a time of day
		return weak[0].number, weak[0].what
	}
	return 0, ""
}

// echoes finds lines of content that were copied from what a reader is shown.
type echoes struct {
	file   *File // that was read; nil if there is none
	first  int   // of the lines of file that the content replaces; 0 if there is none
	last   int   // of them
	number int   // of the latest line of content
	shown  int   // the number that it begins with; 0 if it does not look like a line that is shown
	run    int   // how many such lines with numbers that follow one another it ends
	letter bool  // one of their tags has a letter, which no time of day has
	found  []echo
}

// echo is a line of content, and what shows that it was copied.
type echo struct {
	number int
	line   string
	what   string
	weak   bool // a second one is needed
}

// look looks at the next line.
func (e *echoes) look(line string) {
	e.number++
	add := func(what string, weak bool) { e.found = append(e.found, echo{e.number, line, what, weak}) }
	if cut := shownCut().FindString(line); cut != "" {
		add(quote(cut)+", which stands for a part of a line that was not shown", false)
	}
	if shownHeader().MatchString(line) {
		add("the header of a file", false)
	}
	m := shownLine().FindStringSubmatch(line)
	if m == nil {
		e.shown = 0
		return
	}
	n, _ := strconv.Atoi(m[1])
	if e.shown == 0 || n != e.shown+1 {
		e.run, e.letter = 0, false
	}
	e.shown = n
	e.run++
	e.letter = e.letter || strings.Trim(m[2], "0123456789") != ""
	is := func(text []byte) bool { return Tag(Hash(text), len(m[2])) == m[2] }
	ofText := len(trimSpace([]byte(m[3]))) > 0 && is([]byte(m[3]))
	ofLine := e.file != nil && n <= e.file.Lines() && is(e.file.Line(n))
	tag := quote(m[1] + ":" + m[2] + "|")
	sure := ofLine && (is([]byte(m[3])) || e.first <= n && n <= e.last)
	switch {
	case ofText || ofLine:
		add("the tag of a line, "+tag, timeOfDay().MatchString(m[2]) && n < 24 && !sure)
	case e.run > 2 && e.letter:
		add("what is numbered like lines that are shown, "+tag, false)
	}
}
