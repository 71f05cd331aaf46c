package hashline

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestSurveyKeepsRange compares the lines that a survey keeps with those of the file.
func TestSurveyKeepsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := text(t, "file")
		f, _ := Parse([]byte(file))
		s := &Survey{
			First: rapid.IntRange(0, 14).Draw(t, "first"), Last: rapid.IntRange(0, 14).Draw(t, "last"),
			MaxLines: rapid.IntRange(0, 5).Draw(t, "lines"), MaxBytes: rapid.IntRange(0, 20).Draw(t, "bytes"),
		}
		must(t, survey(s, []byte(file), rapid.IntRange(1, 30).Draw(t, "size")))
		want, lines, full := "", 0, false
		last := s.Last
		if last == 0 {
			last = f.Lines()
		}
		for n := max(s.First, 1); n <= min(last, f.Lines()); n++ {
			if s.MaxLines > 0 && lines == s.MaxLines || s.MaxBytes > 0 && len(want)+len(f.rawLine(n)) > s.MaxBytes {
				full = true
				break
			}
			want += string(f.rawLine(n))
			lines++
		}
		if got := string(AppendLines(nil, []byte(want), 1, 4)); got != eachLine(want) {
			t.Fatalf("%q, want %q", got, eachLine(want))
		}
		whole := &Survey{First: s.First, Last: s.Last, MaxLines: s.MaxLines, MaxBytes: s.MaxBytes}
		must(t, whole.WriteAll([]byte(file)))
		if all, n, isFull := whole.Kept(); string(all) != want || n != lines || isFull != full ||
			whole.Lines() != f.Lines() {
			t.Fatalf("whole: %q, %d lines, full %v; want %q, %d, %v", all, n, isFull, want, lines, full)
		}
		grown := &Survey{First: s.First, Last: s.Last, MaxLines: s.MaxLines, MaxBytes: s.MaxBytes}
		for at := 0; at < len(file); { // in memory that moves
			at = min(at+rapid.IntRange(1, 30).Draw(t, "more"), len(file))
			must(t, grown.Extend([]byte(file[:at])))
		}
		must(t, grown.Close())
		if all, n, isFull := grown.Kept(); string(all) != want || n != lines || isFull != full ||
			grown.Lines() != f.Lines() || grown.Size() != int64(len(file)) {
			t.Fatalf("grown: %q, %d lines, full %v; want %q, %d, %v", all, n, isFull, want, lines, full)
		}
		kept, n, isFull := s.Kept()
		if string(kept) != want || n != lines || isFull != full || s.Lines() != f.Lines() {
			t.Fatalf("%q, %d lines of %d, full %v; want %q, %d of %d, %v", kept, n, s.Lines(), isFull, want, lines,
				f.Lines(), full)
		}
	})
}

// TestSurveyFindsLine finds a line anywhere in one scan. To count the rest of a write anew for each
// line that is skipped would take hours, and never end.
func TestSurveyFindsLine(t *testing.T) {
	const lines = 8 << 20
	file := bytes.Repeat([]byte{'\n'}, lines)
	for _, first := range []int{lines / 2, lines, lines + 1} {
		for _, size := range []int{128 << 10, lines} {
			s := &Survey{First: first, Last: first, MaxLines: 2000, MaxBytes: 256 << 10}
			must(t, survey(s, file, size))
			if kept, n, full := s.Kept(); len(kept) != n || n != min(1, lines+1-first) || full || s.Lines() != lines {
				t.Errorf("line %d: %d bytes, %d lines of %d, full %v", first, len(kept), n, s.Lines(), full)
			}
		}
	}
}

// TestAppendLinesAs quotes the content and the line feeds, and nothing else.
func TestAppendLinesAs(t *testing.T) {
	got, next := AppendLinesAs([]byte("> "), []byte("a\r\n\nb"), 9, 2, func(dst, text []byte) []byte {
		return strconv.AppendQuote(dst, string(text))
	})
	want := fmt.Sprintf("> 9:%s|\"a\"\"\\n\"10:%s|\"\"\"\\n\"11:%s|\"b\"\"\\n\"",
		Tag(Hash([]byte("a")), 2), Tag(Hash(nil), 2), Tag(Hash([]byte("b")), 2))
	if string(got) != want || next != 12 {
		t.Errorf("%s, next %d, want %s", got, next, want)
	}
}
