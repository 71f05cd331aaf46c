package program

import (
	"cmp"
	"context"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// UseToolchain hashes the Go toolchain of p, the compiler and the standard library, and compares it
// with the approved one. It ignores links in the toolchain; Go's own distribution has none.
func (p *Program) UseToolchain(ctx context.Context, approved *project.Runtime) error {
	root := p.Runtime.Path
	fault := func(err error) error {
		return evidence.Errorf(evidence.Operation, root,
			"run 'hallmark pin "+p.Server+"' again if Go was moved", err)
	}
	var files []tree.File
	dirs := map[string]string{}
	for _, part := range closure.ToolchainParts {
		dir, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(part))) // Debian keeps parts elsewhere
		if err != nil {
			return fault(err)
		}
		found, _, err := tree.Scan(os.DirFS(dir), tree.Limits{})
		if err != nil {
			return fault(err)
		}
		for _, f := range found {
			at := part + "/" + f.Path
			dirs[at] = filepath.Join(dir, filepath.FromSlash(f.Path))
			f.Path = at
			files = append(files, f)
		}
	}
	sum, size, err := tree.V1(ctx, files, func(path string) (io.ReadCloser, error) { return os.Open(dirs[path]) }, 0)
	if err != nil {
		return fault(err)
	}
	rt := *p.Runtime
	rt.Digest = sum
	p.Runtime = &rt
	p.Report = append(p.Report, evidence.Compare(approvedClaim(root, evidence.Tree, approved),
		evidence.Observed{Digests: []digest.Digest{sum}, Size: size, From: "the toolchain " + rt.Version}))
	return nil
}

// OpenToolchain opens the Go toolchain that builds a server's program on this machine. It does not
// compare it with the approved one yet: if the program is in the store nothing is built.
func OpenToolchain(ctx context.Context, w *workspace.Workspace,
	name string, approval project.Approval, _ process.Opener) (*Program, error) {
	p := &Program{Server: name, Path: approval.Path, Runtime: approval.Runtime}
	if approval.Runtime != nil {
		return p, nil
	}
	var err error
	if p.Runtime, err = closure.FindGo(ctx, w, approval.Path); err != nil {
		return p, err
	}
	return p, p.UseToolchain(ctx, nil)
}

// UseBuiltProgram makes p run the program that was built into a slot.
func (p *Program) UseBuiltProgram(slot *store.Slot, e project.ServerLock) error {
	var err error
	file := filepath.Join(slot.Dir(), closure.BuiltProgram())
	if p.Executable, err = process.Open(file); err != nil {
		return evidence.Errorf(evidence.Operation, p.Server, "", err)
	}
	// The tree has one file. The file that runs must be the one that the audit read.
	p.AddSubject(evidence.Claim{
		Subject: file, Scheme: evidence.File, Authority: evidence.Lock,
		Want: []digest.Digest{slot.Assets[closure.BuiltProgram()]}, Where: "the audit of " + slot.Digest.String(),
	}, p.Executable.Observed())
	p.Args = append([]string{cmp.Or(path.Base(e.Entry), p.Server)}, e.Arguments...)
	p.useTree(slot, closure.Go{}, e.Variables)
	return nil
}
