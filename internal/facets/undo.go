package facets

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
)

// UndoAdoption takes skills that were adopted on this machine out of hallmark.toml and the lock. What lies where they
// lay stays, what was written for other clients is deleted, and so are the copies that became their source, unless
// their bytes lie nowhere else.
func UndoAdoption(ctx context.Context, h *host.Host, dir string, names []string, o Options) (*Installation, error) {
	return installFacets(ctx, h, dir, o, facetRequest{remove: names, undo: true})
}

// undoAdoption are the files that are put back where adopted skills lay, and the copies that are deleted.
func (r *facetRequest) undoAdoption(a *Assembly, out *Installation) (files []durable.File, err error) {
	if !r.undo {
		return nil, nil
	}
	known, err := a.readReceipt()
	if err != nil {
		return nil, err
	}
	for _, name := range r.remove {
		f := known.Receipt.Facets[name]
		if len(f.Adopted) == 0 {
			return nil, evidence.Errorf(evidence.Refused, name, "'hallmark remove --keep "+name+
				"' leaves its files where they lie", errors.New("was not adopted on this machine"))
		}
		entry, _ := a.Workspace.Lock.Facet(name)
		if entry.Source.Path == "" {
			out.Left = append(out.Left, f.Copies...) // whose entry is gone; of a repository there are none
			continue
		}
		for rest, sum := range skillMembers(entry, name) {
			more, err := undoMember(a, known, f, path.Join(entry.Source.Path, rest), rest, sum, out)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
	}
	return files, nil
}

// undoMember brings a file of a skill's source back to where the skill lay, and deletes it where it was copied to.
func undoMember(a *Assembly, known *installed.Files, f machine.ReceiptOfFacet, source, rest string, sum digest.Digest,
	out *Installation) (files []durable.File, err error) {
	from := obtain.LocalPath(a.Workspace, source)
	data, err := host.ReadFile(from, maxCopied)
	if err != nil || data == nil {
		return nil, err
	}
	isCopy := slices.Contains(f.Copies, source)
	leave := func() ([]durable.File, error) {
		if isCopy {
			out.Left = append(out.Left, source)
		}
		return nil, nil
	}
	if !evidence.Same(digest.FromBytes(data), sum) {
		return leave()
	}
	info, err := os.Lstat(from)
	if err != nil {
		return nil, err
	}
	elsewhere := false // the bytes lie, or will lie, where the skill does
	for _, dir := range f.Adopted {
		at := path.Join(dir, rest)
		now, exists, err := installed.Digest(a.Workspace, at)
		if err != nil {
			return nil, err
		}
		switch {
		case exists && evidence.Same(now, sum):
			elsewhere = true
		case a.Workspace.RefuseLink(filepath.Dir(a.Workspace.Place(at))) != nil: // a file lies in the directory's place
		case !exists, evidence.Same(now, known.Sums.Sum(at)): // as it was installed
			files = append(files, durable.File{Path: a.Workspace.Place(at), Data: data, Perm: info.Mode().Perm()})
			elsewhere = true
		}
	}
	if !elsewhere {
		return leave()
	}
	if isCopy {
		out.Deleted = append(out.Deleted, source)
		files = append(files, durable.File{Path: from, Remove: true})
	}
	return files, nil
}
