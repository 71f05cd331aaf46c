package facets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/store"
)

// Limits of what is compared as text: a publisher chooses how much there is to read.
const (
	maxText  = 1 << 20  // bytes of one member
	maxTexts = 32 << 20 // bytes of all members of one command, before and after
)

// compareTexts fills in, for each member that is there after a change, what of its text differs. The
// former contents are audited in the store before they are read; where it lacks them, all of a
// member's text counts as new, and the change says so.
func (a *Assembly) compareTexts(ctx context.Context, all []Change) error {
	room := int64(maxTexts)
	for i := range all {
		c := &all[i]
		if c.After == nil || len(c.Assets) == 0 {
			continue
		}
		var before *store.Slot
		if c.Before != nil {
			var err error
			if before, err = a.FindStored(ctx, c.Name, *c.Before); err != nil {
				return err
			}
			c.BeforeUnknown = before == nil
		}
		for j := range c.Assets {
			if err := compareMember(c, &c.Assets[j], before, a.Pieces[c.Name].Slot, &room); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareMember fills in what differs of a member's text, or why that is not known. Of a member that
// is gone nothing is to be read.
func compareMember(c *Change, x *AssetChange, before, after *store.Slot, room *int64) error {
	if x.After.IsZero() {
		return nil
	}
	subject := facet.MemberSubject(c.After.Subject(c.Name), x.Path)
	text, err := readText(after, x.Path, x.After, subject, room)
	if err != nil {
		return err
	}
	old := memberText{}
	if !x.Before.IsZero() && before != nil {
		if old, err = readText(before, x.Path, x.Before, subject, room); err != nil {
			return err
		}
	}
	switch {
	case text.unread != "":
		x.Unread = text.unread
	case old.unread != "": // as all that is new is text, it can be read
		x.Unread = "its former contents are not compared: " + old.unread
		x.Diff = udiff.Unified(x.Path, x.Path, "", string(text.data))
	default:
		x.Diff = udiff.Unified(x.Path, x.Path, string(old.data), string(text.data))
	}
	return nil
}

// memberText is the text of a member, or why it cannot be shown.
type memberText struct {
	data   []byte
	unread string
}

// readText reads a member of an audited slot as text.
func readText(slot *store.Slot, path string, want digest.Digest, subject string, room *int64) (memberText, error) {
	info, err := os.Lstat(filepath.Join(slot.Dir(), filepath.FromSlash(path)))
	switch {
	case err != nil:
		return memberText{}, err
	case info.Size() > maxText:
		return memberText{unread: fmt.Sprintf("is larger than %s bytes", evidence.Group(maxText))}, nil
	}
	data, err := obtain.ReadMember(slot, path, want, subject, maxText)
	switch {
	case err != nil:
		return memberText{}, err
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return memberText{unread: "is not text"}, nil
	}
	if *room -= int64(len(data)); *room < 0 {
		return memberText{unread: fmt.Sprintf("all that changes is larger than %s bytes", evidence.Group(maxTexts))},
			nil
	}
	return memberText{data: data}, nil
}
