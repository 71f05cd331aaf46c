package engine

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// maxMapped is how many anchors the message of a stale edit speaks of.
const maxMapped = 20

// refuseStale returns the refusal of an edit that was made for base, an earlier state of the file. It says of each
// anchor where its line is now, so that the caller can make the edit again without reading the file. Own says that the
// changes since are edits of this server, mergeable that a rebase would succeed.
func (e *Engine) refuseStale(
	p *place.Place, base []byte, own bool, now Contents, ops []hashline.Operation, mergeable bool,
) error {
	mapped, err := hashline.MapAnchors(base, now.Data, ops, e.o.Anchors)
	if err != nil { // operations that are wrong by themselves: that comes first, and is said of the lines of now
		if _, fresh := hashline.Edit(now.Data, ops, e.o.Anchors); fresh != nil {
			err = fresh
		}
		return e.explain(p, now, ops, err)
	}
	if own {
		return e.addFreshLines(p, refuseOwnEdit(p), now, ops)
	}
	where, lines, gone := []string(nil), [][2]int(nil), 0
	out := place.Refuse(hashline.Stale, "")
	for _, m := range mapped {
		text, at, isGone := describeMoved(m)
		if isGone {
			gone++
		}
		out.Anchors = append(out.Anchors,
			place.MovedAnchor{Operation: m.Operation + 1, Anchor: m.Anchor, Now: m.NewAnchor})
		lines = append(lines, [2]int{at - freshContext, at + freshContext})
		if len(where) < maxMapped {
			where = append(where, text)
		}
	}
	if len(mapped) > len(where) {
		where = append(where, fmt.Sprintf("and %d more", len(mapped)-len(where)))
	}
	next := "repeat it with the file_hash and the anchors given here"
	switch {
	case mergeable:
		next += `, or as it was with on_stale "rebase"`
	case gone > 0:
		next = "look at the lines below, which are those of now, and make the edit for them, with the file_hash " +
			"given here"
	}
	why := "has changed since it was read"
	if len(where) > 0 {
		why += "; nothing was written. Anchors: " + strings.Join(where, "; ")
	} else { // none of the operations has any
		next = strings.Replace(next, "the file_hash and the anchors", "the file_hash", 1)
		why += "; nothing was written"
		lines = append(lines, unanchoredLines(ops)...)
	}
	out.Message = fmt.Sprintf("%s %s. To go on, %s", place.Show(p.Asked), why, next)
	return e.addFacts(p, out, now, lines)
}

// unanchoredLines returns the ranges of lines that operations without anchors are about.
func unanchoredLines(ops []hashline.Operation) (ranges [][2]int) {
	for _, o := range ops {
		if isAppend(o) {
			ranges = append(ranges, atEnd)
		} else {
			ranges = append(ranges, [2]int{1, firstShown})
		}
	}
	return ranges
}

// refuseOwnEdit refuses an edit for lines that another edit of this session changed.
func refuseOwnEdit(p *place.Place) *place.Refusal {
	return place.Refuse(hashline.Stale, "%s was changed by another edit of yours in or "+
		"beside these lines, since it had this file_hash; nothing was written. To go on, look at the lines "+
		"below, which are those of now, and make the edit for them, with the file_hash given here",
		place.Show(p.Asked))
}

// describeMoved says where the line of an anchor is now, or that it is gone, and at which line that is.
func describeMoved(m hashline.Mapped) (text string, at int, gone bool) {
	switch {
	case m.Altered:
		return "of the range to " + m.Anchor + " some lines were changed", m.Place, true
	case m.NewAnchor == "" && m.Read == 0:
		return m.Anchor + " was no line of what was read", m.Place, true
	case m.NewAnchor == "":
		return m.Anchor + " is gone or was changed", m.Place, true
	case m.NewAnchor == m.Anchor:
		return m.Anchor + " is still that line", m.Line, false
	}
	return m.Anchor + " is " + m.NewAnchor + " now", m.Line, false
}

// refuseUnknown returns the refusal of an edit that was made for a state of the file that is not known here.
func (e *Engine) refuseUnknown(p *place.Place, now Contents, in EditRequest) error {
	why := ""
	if in.Stale == Rebase {
		why = ", and what was read with it is no longer known here, if it ever was, so that the edit cannot be rebased"
	}
	out := place.Refuse(hashline.Stale, "%s has changed since it was read; nothing was written, because "+
		"file_hash %s is not that of the file as it is now%s. To go on, look at the lines below, which are those of "+
		"now, and make the edit for them, with the file_hash given here",
		place.Show(p.Asked), place.Show(in.FileHash), why)
	return e.addFreshLines(p, out, now, in.Operations)
}
