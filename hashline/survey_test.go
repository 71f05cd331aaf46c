package hashline

import (
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
		if err := survey(s, []byte(file), rapid.IntRange(1, 30).Draw(t, "size")); err != nil {
			t.Fatal(err)
		}
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
		if err := whole.WriteAll([]byte(file)); err != nil {
			t.Fatal(err)
		}
		if all, n, isFull := whole.Kept(); string(all) != want || n != lines || isFull != full ||
			whole.Lines() != f.Lines() {
			t.Fatalf("whole: %q, %d lines, full %v; want %q, %d, %v", all, n, isFull, want, lines, full)
		}
		kept, n, isFull := s.Kept()
		if string(kept) != want || n != lines || isFull != full || s.Lines() != f.Lines() {
			t.Fatalf("%q, %d lines of %d, full %v; want %q, %d of %d, %v", kept, n, s.Lines(), isFull, want, lines,
				f.Lines(), full)
		}
	})
}
