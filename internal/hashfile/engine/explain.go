package engine

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// Explain returns in sentences what was not done to the letter, and what the caller should know besides.
func (e *Edited) Explain() []string {
	var all []string
	switch e.Rebased {
	case OntoOwn:
		all = append(all, "the file_hash is that of before another edit of yours; this one was merged onto it")
	case OntoOthers:
		all = append(all, "rebased onto a change that somebody else made")
	}
	for _, m := range e.Relocated {
		all = append(all, fmt.Sprintf("operation %d: anchor %s did not hold and was moved to line %d, the only "+
			"one with its tag", m.Operation+1, m.Anchor, m.Line))
	}
	if e.Rebased != NotRebased && len(e.Replaced) > 0 {
		all = append(all, "replace_all replaced in the lines that were read, and not in those that came since")
	}
	for _, r := range e.Replaced {
		text := fmt.Sprintf("operation %d: replaced %s", r.Operation+1, times(r.Count))
		if r.Left > 0 {
			text += fmt.Sprintf("; left %s inside of longer words, first in line %d", times(r.Left), r.LeftLine)
		}
		all = append(all, text)
	}
	for _, r := range e.Repeated {
		all = append(all, e.explainRepetition(r))
	}
	for _, d := range e.Doubts {
		all = append(all, fmt.Sprintf("operation %d: %s", d.Operation+1, doubts[d.Kind]))
	}
	if n := len(e.Hunks); n > 0 && e.New.Lines() > 0 && !e.Old.FinalNewline() && !e.New.FinalNewline() &&
		e.Hunks[n-1].NewFirst+e.Hunks[n-1].NewLines > e.New.Lines() {
		all = append(all, "the last line has no line feed, as before; to append \"\" adds one")
	}
	return append(all, e.Notices...)
}

// times names how often something was done.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// doubts are what is said of new lines that may not be what was meant.
var doubts = map[hashline.DoubtKind]string{
	hashline.BlankLost: "the line feed at the end of content ended its last line, and where a blank line was " +
		"there is none now; if one is meant, insert it, and end content with two line feeds",
	hashline.SpacesForTabs: "its lines are indented with spaces, and those of the file with tabs",
	hashline.TabsForSpaces: "its lines are indented with tabs, and those of the file with spaces",
}

// explainRepetition says that new lines repeat what is beside them, which happens to models that copy one line too
// many.
func (e *Edited) explainRepetition(r hashline.Repetition) string {
	return fmt.Sprintf("operation %d: %s %s, already there before; unless that is meant, delete %s", r.Operation+1,
		lineRange("line", r.Line, r.Lines, " repeats", " repeat"), lineRange("line", r.Neighbour, r.Lines, "", ""),
		e.Anchors(r.Line, r.Lines))
}

// lineRange names count lines from the first, with a word that follows one or several.
func lineRange(word string, first, count int, one, several string) string {
	if count == 1 {
		return fmt.Sprintf("%s %d%s", word, first, one)
	}
	return fmt.Sprintf("%ss %d to %d%s", word, first, first+count-1, several)
}
