package hashline

import "strings"

// The operations.
const (
	Replace      = "replace"
	ReplaceRange = "replace_range"
	InsertAfter  = "insert_after"
	InsertBefore = "insert_before"
	Delete       = "delete"
	DeleteRange  = "delete_range"
	Append       = "append"  // InsertAfter; without an anchor, at the end of the file
	Prepend      = "prepend" // InsertBefore; without an anchor, at its beginning

	// ReplaceAll replaces a text, which is given in place of the anchor, wherever the file has it as a whole word.
	ReplaceAll = "replace_all"
)

// opNames are the operations that have lines as anchors.
var opNames = []string{
	Replace, ReplaceRange, InsertAfter, InsertBefore, Delete, DeleteRange, Append, Prepend,
}

// everyOp names all operations for a refusal.
func everyOp() string { return strings.Join(opNames, ", ") + ", " + ReplaceAll }

// bareName lets names in which letter case and these marks differ be one.
var bareName = strings.NewReplacer("_", "", "-", "")

// opName is the operation's name in the standard spelling, of "insertAfter" or
// "insert-after" for instance.
func opName(name string) (string, *Error) {
	if len(name) <= 2*len(ReplaceRange) {
		bare := strings.ToLower(bareName.Replace(name))
		for _, known := range opNames {
			if bare == bareName.Replace(known) {
				return known, nil
			}
		}
		if bare == bareName.Replace(ReplaceAll) {
			return ReplaceAll, nil
		}
	}
	if name == "" {
		return "", refuse(Invalid, "op is missing; it is one of %s", everyOp())
	}
	return "", refuse(Invalid, "op %s is none of %s", quote(name), everyOp())
}

// standard is the operation with its name in the standard spelling and a range in its anchor
// as two anchors. It refuses one that is not well formed, whatever the file holds.
func (op Operation) standard() (Operation, *Error) {
	name, err := opName(op.Op)
	if err != nil {
		return op, err
	}
	op.Op = name
	if name == ReplaceAll {
		return op, op.checkReplaceAll()
	}
	if first, last, ok := cutRange(op.Anchor); ok {
		switch {
		case last == "":
			return op, refuse(Invalid, "the range %s has no end; write it as in \"1:a3..3:0e\"", quote(op.Anchor))
		case op.EndAnchor != "":
			return op, refuse(Invalid, "%s has a range as anchor, %s, and an end_anchor, too; leave one out",
				op.Op, quote(op.Anchor))
		case op.inserts():
			return op, refuse(Invalid, "%s takes one anchor, not the range %s; give the line beside which "+
				"the content is to stand", op.Op, quote(op.Anchor))
		}
		op.Anchor, op.EndAnchor = first, last
	} else if _, _, ok := cutRange(op.EndAnchor); ok {
		return op, refuse(Invalid, "end_anchor %s is a range; give the range as anchor alone", quote(op.EndAnchor))
	}
	return op, op.check()
}

// check refuses an operation in the standard spelling that lacks something or has too much.
func (op Operation) check() *Error {
	switch {
	case op.Anchor == "" && op.Op != Append && op.Op != Prepend:
		return refuse(Invalid, "%s needs an anchor, NUMBER:TAG as the line was shown", op.Op)
	case (op.Op == ReplaceRange || op.Op == DeleteRange) && op.EndAnchor == "":
		return refuse(Invalid, "%s needs end_anchor, the anchor of the range's last line", op.Op)
	case op.inserts() && op.EndAnchor != "":
		return refuse(Invalid, "%s takes no end_anchor; give the line beside which the content is to stand "+
			"as anchor", op.Op)
	case op.deletes() && op.Content != nil && *op.Content != "":
		return refuse(Invalid, "%s takes no content; to put other lines there, use replace", op.Op)
	case !op.deletes() && op.Content == nil:
		return refuse(Invalid, "%s needs content; to remove lines, use delete", op.Op)
	}
	return nil
}

// checkReplaceAll is check of a replacement of a text.
func (op Operation) checkReplaceAll() *Error {
	switch {
	case op.Anchor == "" || strings.ContainsAny(op.Anchor, "\r\n"):
		return refuse(Invalid, "replace_all needs as anchor the text that is replaced, of one line or less")
	case op.Content == nil || strings.ContainsAny(*op.Content, "\r\n"):
		return refuse(Invalid, "replace_all needs content without line feeds, the text that replaces what it finds; "+
			"\"\" removes it")
	case op.EndAnchor != "":
		return refuse(Invalid, "replace_all takes no end_anchor: it replaces in the whole file")
	}
	return nil
}

func (op Operation) deletes() bool { return op.Op == Delete || op.Op == DeleteRange }

func (op Operation) inserts() bool {
	return op.Op == InsertAfter || op.Op == InsertBefore || op.Op == Append || op.Op == Prepend
}

// end is the place of an insertion without an anchor: the gap, and the line beside it.
func (op Operation) end(f *File) (gap, beside int) {
	if op.Op == Append {
		return f.Lines(), f.Lines()
	}
	return 0, min(f.Lines(), 1)
}

// cutRange divides a range, "1:a3..3:0e". What follows a bar is the text of a line.
func cutRange(anchor string) (first, last string, ok bool) {
	head, _, _ := strings.Cut(anchor, "|")
	if i := strings.Index(head, ".."); i >= 0 {
		return anchor[:i], anchor[i+2:], true
	}
	return "", "", false
}
