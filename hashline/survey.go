package hashline

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Survey is an [io.Writer] that gathers what a reader is told about a file (size, lines,
// endings, encoding) and keeps a range of its lines; it only counts the others. Memory is
// bounded by MaxBytes and by the size of one write. Write the whole file, call Close, and then
// ask.
type Survey struct {
	// Set before the first write.
	First, Last int // the lines to keep, from 1; Last 0 is the last of the file
	MaxLines    int // kept at most; 0 is no limit
	MaxBytes    int // kept at most; 0 is no limit

	kept       []byte // whole lines, and the beginning of one while it is read
	lines      int    // kept that are whole
	wholeBytes int    // bytes of them
	full       bool   // a limit ended the range
	feeds      int    // line feeds so far
	returns    int    // carriage returns so far
	crlf       int
	size       int64
	last       byte
	head       []byte // as long as a byte order mark
	partial    []byte // of a code point at the end of the last write
	whole      []byte // the file so far, of which kept is a part; nil if kept is a copy
}

// Write refuses binary data with an *[Error], after which the survey is void.
func (s *Survey) Write(p []byte) (int, error) {
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	if err := s.checkUTF8(p); err != nil {
		return 0, err
	}
	if missing := len(bom) - len(s.head); missing > 0 {
		s.head = append(s.head, p[:min(missing, n)]...)
	}
	if returns := bytes.Count(p, []byte{'\r'}); returns > 0 {
		s.returns += returns
		s.crlf += bytes.Count(p, []byte("\r\n"))
	}
	if s.last == '\r' && p[0] == '\n' {
		s.crlf++
	}
	s.size += int64(n)
	s.last = p[n-1]
	s.keepLines(p)
	return n, nil
}

// checkUTF8 validates p after what was left of the last write.
func (s *Survey) checkUTF8(p []byte) error {
	offset := s.size - int64(len(s.partial))
	if len(s.partial) > 0 { // complete the code point
		need := utf8.UTFMax - len(s.partial)
		joined := append(slices.Clone(s.partial), p[:min(need, len(p))]...)
		if !utf8.FullRune(joined) {
			s.partial = joined // p was too short
			return nil
		}
		_, size := utf8.DecodeRune(joined)
		if size == 1 {
			return checkText(joined, offset)
		}
		p = p[size-len(s.partial):]
		offset += int64(size)
		s.partial = nil
	}
	tail := len(p)
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if c := p[len(p)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-i:]) {
				tail = len(p) - i
			}
			break
		}
	}
	if err := checkText(p[:tail], offset); err != nil {
		return err
	}
	s.partial = slices.Clone(p[tail:])
	return nil
}

// Extend is Write of what data, the beginning of a file, holds beyond what was written so far. What
// is kept becomes part of data, which the caller does not change any more.
func (s *Survey) Extend(data []byte) error {
	s.whole = data
	_, err := s.Write(data[s.size:])
	return err
}

// WriteAll is Extend with a whole file, and Close.
func (s *Survey) WriteAll(data []byte) error {
	if err := s.Extend(data); err != nil {
		return err
	}
	return s.Close()
}

// keepLines counts lines, and keeps those that are wanted.
func (s *Survey) keepLines(p []byte) {
	p = s.skipLines(p)
	p = s.takeLines(p)
	s.feeds += bytes.Count(p, []byte{'\n'})
}

// skipBlock is how many bytes are counted at once while lines are skipped.
const skipBlock = 16 << 10

// skipLines returns p from line First on. Each byte is counted once; only those of the block in which the line begins
// are looked at a second time.
func (s *Survey) skipLines(p []byte) []byte {
	for s.feeds+1 < s.First && len(p) > 0 {
		block := p[:min(len(p), skipBlock)]
		n := bytes.Count(block, []byte{'\n'})
		if s.feeds+n+1 < s.First {
			s.feeds += n
			p = p[len(block):]
			continue
		}
		for ; s.feeds+1 < s.First; s.feeds++ {
			_, p = cutLine(p)
		}
	}
	return p
}

// takeLines keeps what p begins with, as far as it is wanted, and returns the rest.
func (s *Survey) takeLines(p []byte) []byte {
	if s.Last == 0 && s.MaxLines == 0 && !s.full && (s.MaxBytes == 0 || len(s.kept)+len(p) <= s.MaxBytes) {
		n := bytes.Count(p, []byte{'\n'})
		s.feeds += n
		s.lines += n
		if n > 0 {
			s.wholeBytes = len(s.kept) + bytes.LastIndexByte(p, '\n') + 1
		}
		s.keep(p, len(p))
		return nil
	}
	end := 0
	for end < len(p) && !s.full && (s.Last == 0 || s.feeds < s.Last) {
		line, _ := cutLine(p[end:])
		size := len(s.kept) + end + len(line)
		if s.MaxLines > 0 && s.lines == s.MaxLines || s.MaxBytes > 0 && size > s.MaxBytes {
			s.full = true
			break
		}
		end += len(line)
		if line[len(line)-1] == '\n' {
			s.feeds++
			s.lines++
			s.wholeBytes = size
		}
	}
	s.keep(p, end)
	if s.full {
		s.kept = s.kept[:s.wholeBytes]
	}
	return p[end:]
}

// keep appends the first n bytes of p, which is the end of what was written, to what is kept.
func (s *Survey) keep(p []byte, n int) {
	switch {
	case n == 0:
	case s.whole == nil:
		s.kept = append(s.kept, p[:n]...)
	default:
		from := int(s.size) - len(p) - len(s.kept)
		to := from + len(s.kept) + n
		s.kept = s.whole[from:to:to]
	}
}

// Close is called after the last write and may refuse the file, as Write does.
func (s *Survey) Close() error {
	if len(s.partial) > 0 {
		return checkText(s.partial, s.size-int64(len(s.partial)))
	}
	if len(s.kept) > s.wholeBytes {
		s.lines++
		s.wholeBytes = len(s.kept)
	}
	return nil
}

// Kept returns the kept lines with their endings, and how many there are. Full is true if a
// limit ended them before the last one that was wanted; if no line was kept then, the first
// one alone exceeds MaxBytes.
func (s *Survey) Kept() (text []byte, lines int, full bool) { return s.kept, s.lines, s.full }

// Lines is the number of the file's lines.
func (s *Survey) Lines() int {
	if s.size > 0 && s.last != '\n' {
		return s.feeds + 1
	}
	return s.feeds
}

// Size is the size of the file in bytes.
func (s *Survey) Size() int64 { return s.size }

// FinalNewline reports whether the last line is ended. An empty file has none.
func (s *Survey) FinalNewline() bool { return s.size > 0 && s.last == '\n' }

// LoneReturns is how many carriage returns have no line feed behind them, and so end no line.
func (s *Survey) LoneReturns() int { return s.returns - s.crlf }

// LineEnding is "lf", "crlf", "mixed", or "none" where no line is ended.
func (s *Survey) LineEnding() string {
	switch {
	case s.feeds == 0:
		return "none"
	case s.crlf == 0:
		return "lf"
	case s.crlf == s.feeds:
		return "crlf"
	}
	return "mixed"
}

// Encoding is "utf-8", or "utf-8-bom" with a byte order mark.
func (s *Survey) Encoding() string {
	if string(s.head) == bom {
		return "utf-8-bom"
	}
	return "utf-8"
}
