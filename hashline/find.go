package hashline

// finder finds the lines of anchors in one file.
type finder struct {
	file    *File
	options Options
	tags    [MaxWidth + 1][]having // by width and tag; made when an anchor of that width first does not hold
}

// having is how many lines have a tag, and the last of them.
type having struct{ lines, last uint32 }

// resolve finds the line of an anchor: the one that it names or else, if the options let
// anchors be moved so far, the only other one with its tag.
func (d *finder) resolve(a anchor) (line int, err *Error) {
	if a.line == 0 {
		if d.file.Lines() > 0 {
			return 0, refuse(AnchorNotFound, "anchor 0: stands for the beginning of an empty file, and this "+
				"one is not empty; use prepend without an anchor, or insert_before %s", d.show(1, 0))
		}
		return 0, nil
	}
	if line := d.find(a); line > 0 {
		return line, nil
	}
	return 0, d.explain(a)
}

// find is the line of an anchor, or 0: the one that it names or, if the options let anchors
// be moved so far, the only other one with its tag.
func (d *finder) find(a anchor) int {
	if a.line <= d.file.Lines() && a.matches(d.file, a.line) {
		return a.line
	}
	if d.options.Exact {
		return 0
	}
	// A batch may hold many anchors that do not hold. The file is hashed once for all of them.
	if d.tags[a.width] == nil {
		d.tags[a.width] = d.file.countTags(a.width)
	}
	h := d.tags[a.width][a.tag]
	if h.lines != 1 || d.options.Reach != 0 && max(int(h.last)-a.line, a.line-int(h.last)) > d.options.Reach {
		return 0
	}
	return int(h.last)
}

// countTags counts the lines of each tag of a width.
func (f *File) countTags(width int) []having {
	tags := make([]having, 1<<(4*width))
	for n := 1; n <= f.Lines(); n++ {
		h := &tags[Hash(f.Line(n))&(1<<(4*width)-1)]
		h.lines++
		h.last = uint32(n)
	}
	return tags
}
