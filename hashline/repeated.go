package hashline

import "bytes"

// Repetition says that new lines repeat the lines behind or before them, which the edit left as
// they were, apart from white space at the ends of lines: a brace that was there already, for
// instance. Lines that are all blank do not count, nor does what the old lines repeated already.
type Repetition struct {
	Operation int // by index: of the new line beside the neighbours
	Line      int // the first of the new lines that repeat, in the edited file
	Lines     int // how many
	Neighbour int // the first of the lines that they repeat, in the edited file
}

// stretch is where touching changes replace lines, between lines that stay.
type stretch struct {
	oldFirst, oldLines int
	newFirst, newLines int
	firstOp, lastOp    int // by index, of the first and the last of the new lines
}

// stretches joins changes that touch.
func stretches(changes []change) (found []stretch) {
	grown := 0 // lines that were added before
	for _, c := range changes {
		s := stretch{c.first, c.lines, c.first + grown, c.added, c.operation, c.operation}
		grown += c.added - c.lines
		n := len(found)
		if n == 0 || found[n-1].oldFirst+found[n-1].oldLines < s.oldFirst {
			found = append(found, s)
			continue
		}
		p := &found[n-1]
		if p.newLines == 0 {
			p.firstOp = s.firstOp
		}
		if s.newLines > 0 {
			p.lastOp = s.lastOp
		}
		p.oldLines += s.oldLines
		p.newLines += s.newLines
	}
	return found
}

// repetitions are the lines of changes that repeat their neighbours.
func (r *Result) repetitions(changes []change) (found []Repetition) {
	for _, s := range stretches(changes) {
		// A new last line that is empty and has no ending is no line.
		s.newLines = min(s.newLines, r.New.Lines()-s.newFirst+1)
		if s.newLines <= 0 {
			continue
		}
		behind, oldBehind := s.newFirst+s.newLines, s.oldFirst+s.oldLines
		k := r.overlap(s.newFirst, behind, s.newFirst-1)
		if k > 0 && !(s.oldLines >= k && r.same(r.Old, s.oldFirst, s.newFirst-k, k)) {
			found = append(found, Repetition{s.firstOp, s.newFirst, k, s.newFirst - k})
		}
		k = r.overlap(behind, r.New.Lines()+1, s.newLines)
		if k > 0 && !(s.oldLines >= k && r.same(r.Old, oldBehind-k, behind, k)) {
			found = append(found, Repetition{s.lastOp, behind - k, k, behind})
		}
	}
	return found
}

// overlap is how many lines before line at of the edited file are the same as those from it on,
// which end before line end: at most so many, the most that are, and 0 if they are blank.
func (r *Result) overlap(at, end, most int) int {
	n := min(at-1, end-at, most)
	if n <= 0 {
		return 0
	}
	// Knuth, Morris and Pratt: the lines behind are the pattern, those before are searched.
	shorter := make([]int, n) // by length-1: the longest beginning of the pattern that ends it, too
	k := 0
	for i := 1; i < n; i++ {
		for k > 0 && !r.alike(at+i, at+k) {
			k = shorter[k-1]
		}
		if r.alike(at+i, at+k) {
			k++
		}
		shorter[i] = k
	}
	k = 0
	for i := at - n; i < at; i++ {
		for k > 0 && !r.alike(i, at+k) {
			k = shorter[k-1]
		}
		if r.alike(i, at+k) {
			k++
		}
	}
	for i := range k {
		if len(comparedLine(r.New, at+i)) > 0 {
			return k
		}
	}
	return 0
}

// alike reports whether two lines of the edited file are the same.
func (r *Result) alike(a, b int) bool {
	return bytes.Equal(comparedLine(r.New, a), comparedLine(r.New, b))
}

// same reports whether count lines of f from a equal those of the edited file from b.
func (r *Result) same(f *File, a, b, count int) bool {
	for i := range count {
		if !bytes.Equal(comparedLine(f, a+i), comparedLine(r.New, b+i)) {
			return false
		}
	}
	return true
}

// comparedLine is line n without white space at its end, and without the file's byte order mark.
func comparedLine(f *File, n int) []byte {
	line := trimSpace(f.Line(n))
	if n == 1 {
		line = bytes.TrimPrefix(line, []byte(bom))
	}
	return line
}
