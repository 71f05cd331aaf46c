package engine

import "testing"

// TestLinesWithin takes lines up to a limit, with the one that just reaches it.
func TestLinesWithin(t *testing.T) {
	const text = "one two\n12 + x\n\nlast"
	total, size := 0, 0
	for i, line := range []string{"one two\n", "12 + x\n", "\n", "last"} {
		total, size = total+estimateLine([]byte(line)), size+len(line)
		for limit, want := range map[int]int{total: i + 1, total - 1: i} {
			lines, n := linesWithin([]byte(text), limit)
			if wantSize := size - len(line)*(i+1-want); lines != want || n != wantSize {
				t.Errorf("%d tokens are %d lines of %d bytes, want %d of %d", limit, lines, n, want, wantSize)
			}
		}
	}
}
