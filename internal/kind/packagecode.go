package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// A package may run code that is not its own: "mcp run server.py" starts a script of the project. No closure holds that
// code, so the files of code that the arguments name are artifacts of the entry, as those of a local program are, and
// so is the directory that 'tree' names.

// addNamedCode hashes the code that arguments of a package name, and compares it with locked, which is nil if the
// package is being locked. p is what starts the package.
func (k ecosystem) addNamedCode(ctx context.Context, w *workspace.Workspace, s project.Server, p *program.Program,
	arguments []string, locked *project.ServerLock) error {
	r := newCommandFiles(w, p, s)
	r.arguments = arguments
	if err := r.addNamedFiles(); err != nil {
		return err
	}
	named := slices.Sorted(maps.Keys(r.items))
	var t *commandTree
	if s.Tree != "" {
		var err error
		if t, err = newCommandTree(w, s, p); err != nil {
			return evidence.Errorf(evidence.Refused, s.Name, "name a directory of the project: 'hallmark pin "+s.Name+
				" --tree DIRECTORY'", err)
		}
		t.language = k.language
		r.addItem(project.TreeKey(s.Tree), commandItem{path: t.dir, tree: t, named: true})
	}
	if len(r.items) == 0 {
		return nil
	}
	if k.ignoreBytecode != nil && p.Executable != nil {
		k.ignoreBytecode(p)
	}
	if p.Artifacts == nil {
		p.Artifacts = map[string]digest.Digest{}
	}
	if err := r.addEvidence(ctx, locked); err != nil {
		return err
	}
	for _, key := range named {
		if e, ok := r.neighboursEvidence(key, t); ok {
			p.Report = append(p.Report, e)
		}
	}
	return nil
}

// neighboursEvidence says that a named file outside of the tree t, which may be nil, may load what lies beside it.
func (r *commandFiles) neighboursEvidence(key string, t *commandTree) (e evidence.Evidence, ok bool) {
	file := host.RealPath(r.items[key].path)
	dir := filepath.Dir(file)
	if t != nil {
		if rel, in := t.inside(file); in && !t.leavesOut(rel) {
			return e, false
		}
	}
	alone := commandTree{dir: dir, written: ownFiles(r.w, dir)}
	entries, err := os.ReadDir(dir)
	if err == nil && !slices.ContainsFunc(entries, func(d os.DirEntry) bool {
		return !alone.leavesOut(d.Name()) && !r.seen[filepath.Join(dir, d.Name())]
	}) {
		return e, false
	}
	where := "the project"
	if rel := host.RelativeTo(r.w.Dir, dir); rel != "." {
		where = rel
	}
	return evidence.CannotVerify(evidence.Claim{
		Subject: key, Scheme: evidence.Import, Authority: evidence.Lock, Where: project.LockFile,
	}, evidence.Unsupported, fmt.Sprintf("the package may run it, and it may load other files of %s; 'hallmark pin %s "+
		"--tree %s' locks them all", where, r.p.Server,
		host.QuoteArguments([]string{proposeTree(r.w, file, "")}))), true
}

// checkNamedCode compares the code that the arguments of a locked package name, without starting anything.
func (k ecosystem) checkNamedCode(ctx context.Context, l Locked, path string) (evidence.Report, error) {
	p := &program.Program{Server: l.Server.Name, Path: path, OwnKey: l.Entry.Ref}
	err := k.addNamedCode(ctx, l.Workspace, l.Server, p, l.Entry.Arguments, &l.Entry)
	if errors.Is(err, os.ErrNotExist) || evidence.ClassOf(err) == evidence.Refused {
		return evidence.Report{evidence.CannotVerify(evidence.Claim{Subject: l.Entry.Ref, Scheme: evidence.Unhashed,
			Authority: evidence.Lock, Where: project.LockFile, Text: "code that its arguments name, as 'run' reads it"},
			evidence.Unreadable, err.Error())}, nil
	}
	return append(p.Report, missingArtifacts(l.Entry, p)...), err
}
