package kind

import (
	"context"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// commandFiles are the files that the declaration of a local program names besides its executable, by keys of the
// lock. [commandFiles.addEvidence] hashes each once and compares it with the lock. A file that was edited is a
// mismatch; one that was added has no digest to compare with.
type commandFiles struct {
	w          *workspace.Workspace
	p          *program.Program
	arguments  []string           // arguments that may name files
	algorithms []digest.Algorithm // that a verify block compares, besides SHA-256
	items      map[string]commandItem
	seen       map[string]bool              // paths of files that are in items or need not be, with links resolved
	hashed     map[string]evidence.Observed // by path with links resolved
	unknown    []string                     // reasons why it may load more than is hashed
	refused    []*evidence.Error            // what it may load that is not hashed
}

// newCommandFiles returns the empty set of what p, which s declares, reads besides its executable.
func newCommandFiles(w *workspace.Workspace, p *program.Program, s project.Server) *commandFiles {
	r := &commandFiles{
		w: w, p: p, arguments: s.Arguments, algorithms: s.Verify.Algorithms(), items: map[string]commandItem{},
		seen: map[string]bool{}, hashed: map[string]evidence.Observed{},
	}
	if p.Executable != nil {
		r.seen[p.Executable.Path()], r.hashed[p.Executable.Path()] = true, p.Executable.Observed()
	}
	return r
}

// commandItem is one file, or one directory.
type commandItem struct {
	path  string // absolute
	tree  *commandTree
	named bool // the declaration names it; else the runtime looks for it by itself
}

// addItem adds an item under its key. The first item stays: arguments are looked at before all else.
func (r *commandFiles) addItem(key string, item commandItem) {
	if _, ok := r.items[key]; !ok {
		r.items[key] = item
	}
}

// hashItem hashes a file or a directory. It does not read a file again that was hashed before.
func (r *commandFiles) hashItem(ctx context.Context, item commandItem) (evidence.Observed, error) {
	if item.tree != nil {
		return item.tree.hash(ctx)
	}
	real := host.RealPath(item.path)
	o, ok := r.hashed[real]
	if !ok {
		var err error
		if o, err = program.HashFile(item.path, r.algorithms...); err != nil {
			return o, err
		}
		r.hashed[real] = o
	}
	o.From = item.path
	return o, nil
}

// addEvidence hashes all items, and compares them with locked, which may be nil. If it is not, items that
// it does not name are refused: they did not exist when a person approved it. What was refused already is the error
// if there is nothing to compare with, since an edited file says more than what lies beside it.
func (r *commandFiles) addEvidence(ctx context.Context, locked *project.ServerLock) error {
	p := r.p
	for _, e := range r.refused {
		if locked == nil {
			return e
		}
		p.Report = append(p.Report, evidence.Evidence{
			Claim: evidence.Claim{Subject: p.OwnKey, Scheme: evidence.Unhashed, Authority: evidence.Lock,
				Where: project.LockFile, Text: "nothing but what is hashed that it may load"},
			Outcome: evidence.Mismatch, Observed: evidence.Observed{Text: e.Err.Error()},
			Fix: "if that is not yours remove it; else " + e.Hint,
		})
	}
	for _, key := range slices.Sorted(maps.Keys(r.items)) {
		item := r.items[key]
		o, err := r.hashItem(ctx, item)
		if err != nil && item.tree != nil {
			return err // it says which file of the tree
		}
		if err != nil {
			return evidence.Errorf(evidence.ClassOf(err), p.Server, "", err)
		}
		r.addItemEvidence(key, item, o, locked)
	}
	return nil
}

// addItemEvidence compares one item with locked, which may be nil.
func (r *commandFiles) addItemEvidence(key string, item commandItem, o evidence.Observed, locked *project.ServerLock) {
	p := r.p
	p.Artifacts[key] = o.SHA256()
	c := evidence.Claim{Subject: key, Scheme: evidence.File, Authority: evidence.Lock, Where: project.LockFile}
	if item.tree != nil {
		c.Scheme = evidence.Tree
	}
	known := false
	if locked != nil {
		var want digest.Digest
		if want, known = locked.Artifacts[key]; known {
			c.Want = []digest.Digest{want}
		}
	}
	if locked == nil || known || item.named {
		p.AddSubject(c, o)
	} else {
		c.Scheme, c.Text = evidence.Unhashed, "nothing but what was pinned that "+p.OwnKey+" may load"
		p.Report = append(p.Report, evidence.Fact(c, key))
	}
	switch e := &p.Report[len(p.Report)-1]; {
	case locked != nil && !known:
		e.Fix = "if it is not yours remove it, and find out who put it there; else 'hallmark pin " + p.Server +
			"' shows it and locks it"
	case known && item.tree != nil:
		e.Fix = "put the files back, or run 'hallmark pin " + p.Server + "' if the change is yours; what the server " +
			"itself writes there is named by 'data' in its table"
	}
}
