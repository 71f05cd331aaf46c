package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// editKinds are the mistakes, in the order of the table.
var editKinds = []struct {
	name string
	make func(*taskMaker, string) task
}{
	{"no mistake", (*taskMaker).correct},
	{"wrong line number", (*taskMaker).wrongNumber},
	{"stale file", (*taskMaker).stale},
	{"echoed tags in content", (*taskMaker).echoedTags},
	{"an echo in one line, indented, of a diff, or a header", (*taskMaker).oneEcho},
	{"times of day before a bar", (*taskMaker).times},
	{"two operations in one text", (*taskMaker).twoInText},
	{"CRLF file, LF content", (*taskMaker).carriageReturns},
	{"spaces for tabs in old text", (*taskMaker).spaces},
	{"shortened tag", (*taskMaker).shortTag},
	{"altered tag", (*taskMaker).alteredTag},
	{"wrong file_hash", (*taskMaker).wrongHash},
	{"printed line as anchor", (*taskMaker).printedLine},
	{"prefix of file_hash", (*taskMaker).hashPrefix},
	{"other spellings of operations", (*taskMaker).spellings},
	{"overlapping operations", (*taskMaker).overlapping},
	{"empty file", (*taskMaker).empty},
	{"no final newline", (*taskMaker).openEnd},
	{"byte order mark", (*taskMaker).marked},
	{"range one line off", (*taskMaker).rangeOff},
	{"next line repeated", (*taskMaker).repeatsNext},
	{"spaces for tabs in new text", (*taskMaker).spacesInNew},
}

// Kinds of which no server can know that they are mistakes, or of which the source of ours
// says what becomes of them. Suffixes divide a kind by what the file happens to hold.
const (
	agreesSuffix = ", where the anchor agrees with another line"
	movesSuffix  = ", where one other line has the tag"
)

// unknowable reports whether no server can see that tasks of a kind are mistaken, because
// all that is sent agrees with the file.
func unknowable(kind string) bool {
	return strings.HasSuffix(kind, agreesSuffix) || kind == "range one line off" || kind == "next line repeated" ||
		kind == "spaces for tabs in new text"
}

// relocates reports whether the source of ours (004, "Anchor Resolution Algorithm") takes
// tasks of a kind for a line that has moved, and a model that follows it edits that one.
func relocates(kind string) bool { return strings.HasSuffix(kind, movesSuffix) }

// taskMaker makes tasks on real files, the same ones with the same seed.
type taskMaker struct {
	r     *rand.Rand
	files [][]byte
}

// newTaskMaker reads the Go files of the standard library and, if own, of this module. Tasks
// stay the same as long as these do.
func newTaskMaker(seed uint64, own bool) (*taskMaker, error) {
	questions := [][]string{{"env", "GOROOT"}}
	if own {
		questions = append(questions, []string{"list", "-m", "-f", "{{.Dir}}"})
	}
	var roots []string
	for _, q := range questions {
		out, err := exec.Command("go", q...).Output()
		if err != nil {
			return nil, fmt.Errorf("find source files: go %s: %w", strings.Join(q, " "), err)
		}
		roots = append(roots, strings.TrimSpace(string(out)))
	}
	roots[0] = filepath.Join(roots[0], "src")
	files, err := sources(roots...)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(data []byte) bool { return strings.ContainsAny(string(data), "\r\ufeff") })
	return &taskMaker{r: rand.New(rand.NewPCG(15, seed)), files: files}, nil
}

// tasks makes n tasks, of all kinds in turn.
func (m *taskMaker) tasks(n int) []task {
	var all []task
	for i := range n {
		k := editKinds[i%len(editKinds)]
		t := k.make(m, k.name)
		for t.want == t.now.String() && !t.nothing { // as likely as a line that repeats
			t = k.make(m, k.name)
		}
		if k.name == "wrong line number" || k.name == "altered tag" {
			if agrees, moves := t.misleads(); agrees {
				t.kind += agreesSuffix
			} else if moves {
				t.kind += movesSuffix
			}
		}
		all = append(all, t)
	}
	return all
}

func (m *taskMaker) file() text { return textOfFile(string(m.files[m.r.IntN(len(m.files))])) }

// newLines makes n lines indented as line at is.
func (m *taskMaker) newLines(f text, at, n int) (lines []string) {
	line := f.lines[at-1]
	indent := line[:len(line)-len(strings.TrimLeft(line, "\t "))]
	for range n {
		lines = append(lines, fmt.Sprintf("%scheck(value%d, %q)", indent, m.r.IntN(10_000), pick(m.r, words)))
	}
	return lines
}

// change makes a change of a file at a place.
func (m *taskMaker) change(f text, op string, first, last int) change {
	c := change{op: op, first: first, last: last}
	if op != "delete" {
		c.lines = m.newLines(f, first, 1+m.r.IntN(3))
	}
	return c
}

// anyChange makes a change anywhere in a file.
func (m *taskMaker) anyChange(f text) change {
	first := 1 + m.r.IntN(len(f.lines)-6)
	op := pick(m.r, []string{"replace", "replace", "insert_after", "insert_before", "delete"})
	last := first
	if (op == "replace" || op == "delete") && m.r.IntN(2) == 0 {
		last += 1 + m.r.IntN(5)
	}
	return m.change(f, op, first, last)
}

// replacing makes a replacement of lines, several if ranged.
func (m *taskMaker) replacing(f text, ranged bool) change {
	first := 2 + m.r.IntN(len(f.lines)-8)
	last := first
	if ranged {
		last += 1 + m.r.IntN(4)
	}
	return m.change(f, "replace", first, last)
}

// correct makes one to three changes that do not meet.
func (m *taskMaker) correct(kind string) task {
	f := m.file()
	var meant []change
	first := 1
	for range 1 + m.r.IntN(3) {
		first += 1 + m.r.IntN(max(1, len(f.lines)/4))
		if first > len(f.lines) {
			break
		}
		meant = append(meant, m.change(f, pick(m.r, []string{"replace", "insert_after", "delete"}), first, first))
		first++
	}
	if len(meant) == 0 {
		meant = append(meant, m.anyChange(f))
	}
	m.r.Shuffle(len(meant), func(i, j int) { meant[i], meant[j] = meant[j], meant[i] })
	return plain(kind, f, meant...)
}

// wrongNumber has the tag of the line that is meant, and a number 1 to 20 off.
func (m *taskMaker) wrongNumber(kind string) task {
	f := m.file()
	t := plain(kind, f, m.anyChange(f))
	off := (1 + m.r.IntN(20)) * (1 - 2*m.r.IntN(2))
	shift := func(n int) string { return fmt.Sprintf("%d:%s", max(n+off, 1), f.tag(n)) }
	t.sent[0].anchor = shift(t.meant[0].first)
	if t.sent[0].end != "" {
		t.sent[0].end = shift(t.meant[0].last)
	}
	return t
}

// shortTag has a digit of the tag, or none.
func (m *taskMaker) shortTag(kind string) task {
	f := m.file()
	c := m.anyChange(f)
	t := plain(kind, f, c)
	t.sent[0].anchor = fmt.Sprintf("%d:%s", c.first, f.tag(c.first)[:m.r.IntN(2)])
	return t
}

// alteredTag has the right number, and a tag of other digits.
func (m *taskMaker) alteredTag(kind string) task {
	f := m.file()
	c := m.anyChange(f)
	t := plain(kind, f, c)
	tag := f.tag(c.first)
	for tag == f.tag(c.first) {
		tag = fmt.Sprintf("%02x", m.r.IntN(256))
	}
	t.sent[0].anchor = fmt.Sprintf("%d:%s", c.first, tag)
	return t
}

// echoedTags has NUMBER:TAG| before each new line, as lines were shown.
func (m *taskMaker) echoedTags(kind string) task {
	f := m.file()
	c := m.replacing(f, m.r.IntN(2) == 0)
	t := plain(kind, f, c)
	echo := text{lines: c.lines}
	var lines []string
	for i := range c.lines {
		lines = append(lines, fmt.Sprintf("%d:%s|%s", c.first+i, echo.tag(i+1), c.lines[i]))
	}
	content := strings.Join(lines, "\n")
	t.sent[0].content = &content
	return t
}

// oneEcho has a copy of what was shown somewhere in the new lines: a line as it was read, or the header of a file.
func (m *taskMaker) oneEcho(kind string) task {
	f := m.file()
	c := m.replacing(f, true)
	for c.lines = m.newLines(f, c.first, 3); strings.TrimSpace(f.line(c.first)) == ""; {
		c = m.replacing(f, true)
		c.lines = m.newLines(f, c.first, 3)
	}
	t := plain(kind, f, c)
	lines := slices.Clone(c.lines)
	echo := f.anchor(c.first) + "|" + f.line(c.first)
	lines[m.r.IntN(3)] = pick(m.r, []string{echo, "    " + echo, "+" + echo, ">" + echo,
		f.anchor(c.first) + "|" + lines[0], "[file_hash=sha256:0123456789ab total_lines=9]"})
	content := strings.Join(lines, "\n")
	t.sent[0].content = &content
	return t
}

// times has lines that look like tags and are none.
func (m *taskMaker) times(kind string) task {
	f := m.file()
	c := m.replacing(f, false)
	for i := range c.lines {
		n, tag := 10+m.r.IntN(14), m.r.IntN(60)
		what := text{lines: []string{pick(m.r, words)}}
		is := func(hex string) bool { return hex == fmt.Sprintf("%02d", tag) }
		for is(what.tag(1)) || n <= len(f.lines) && is(f.tag(n)) {
			tag = (tag + 1) % 60
		}
		c.lines[i] = fmt.Sprintf("%d:%02d|%s", n, tag, what.line(1))
	}
	return plain(kind, f, c)
}

// twoInText has two operations in one text, which a server that takes texts may read as one.
func (m *taskMaker) twoInText(kind string) task {
	f := m.file()
	first := 2 + m.r.IntN(len(f.lines)-8)
	a, b := m.change(f, "replace", first, first), m.change(f, "replace", first+2, first+2)
	a.lines, b.lines = a.lines[:1], b.lines[:1]
	t := plain(kind, f, a, b)
	between := pick(m.r, []string{"\n", ", ", "; ", ",\n  "})
	raw := fmt.Sprintf("replace %s with '%s'%sreplace %s with '%s'", f.anchor(a.first), a.content(), between,
		f.anchor(b.first), b.content())
	t.sent = []sent{{raw: raw}}
	return t
}

// printedLine has the whole line as it was shown for an anchor.
func (m *taskMaker) printedLine(kind string) task {
	f := m.file()
	c := m.anyChange(f)
	t := plain(kind, f, c)
	t.sent[0].anchor += "|" + f.line(c.first)
	if t.sent[0].end != "" {
		t.sent[0].end += "|" + f.line(c.last)
	}
	return t
}
