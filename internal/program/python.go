package program

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// hashSeed is the variable that decides the order of python's sets. Without it the order differs
// between two starts, and so does a text that a server makes of a set.
const hashSeed = "PYTHONHASHSEED"

// fixHashSeed returns env with one hash seed if p starts python, so that a server shows the same
// wherever it is started. A declaration that names the variable keeps what it says.
func (p *Program) fixHashSeed(env []string) []string {
	python := false
	for _, image := range []*process.Image{p.Executable, p.Interpreter} {
		python = python || image != nil && closure.IsPython(image.Path())
	}
	if _, valued := p.Values[hashSeed]; !python || valued || slices.Contains(p.Variables, hashSeed) {
		return env
	}
	return append(env, hashSeed+"=0")
}

// isolatePython returns the options that keep python from the user's packages and from modules in
// the working directory. Python before 3.11 has one option for both, which also keeps it from its
// hash seed. version is the tag of the wheels that fit it best.
func isolatePython(version string) []string {
	_, number, _ := strings.Cut(closure.PythonVersion(version), ".")
	if minor, err := strconv.Atoi(number); err != nil || minor < 11 {
		return []string{"-I"}
	}
	return []string{"-P", "-s"}
}

// UsePythonPackage makes p call the entry point of a Python package from a slot of the store, with the bytecode of
// another one, nil for none. The program gets name as its own name.
func (p *Program) UsePythonPackage(slot, bytecode *store.Slot, e project.ServerLock, name string) {
	compiled := ""
	if bytecode != nil {
		compiled = bytecode.Dir()
	}
	// Isolate python from the user's packages, and write no bytecode; no variable that changes what
	// is loaded reaches it. Python finds its library by the path under which it is called.
	p.Args = slices.Concat([]string{p.Executable.Path()}, isolatePython(p.Runtime.Version),
		[]string{"-S", "-B", "-c", closure.StartPython, filepath.Join(slot.Dir(), sitePackages), compiled, e.Entry,
			name}, e.Arguments)
	p.useTree(slot, closure.Python{}, e.Variables)
	if bytecode != nil {
		p.Subjects = append(p.Subjects, process.Subject{
			Name:   project.TreeSubject(p.Server, BytecodePlatform(closure.Python{}.PlatformKey(p.Runtime))),
			Digest: bytecode.Digest,
		})
	}
}

// IgnoreBytecode keeps python from compiled code that lies beside code which its package runs, since the source is what
// is hashed. [Program.UsePythonPackage] was called before; the package's own bytecode is still read.
func (p *Program) IgnoreBytecode() {
	p.Args = slices.Insert(p.Args, 1, "-X", "pycache_prefix="+os.DevNull)
}

// sitePackages is the directory of the packages in a tree.
const sitePackages = "site-packages"

// BytecodePlatform is the name under which a machine remembers the bytecode that it made of a platform's tree.
func BytecodePlatform(platform string) string { return platform + " bytecode" }

// CompilePython puts the bytecode of a python package's tree into the store. The result is nil if there is none, or if
// it cannot be made, which is said: the server then starts from its sources. The evidence that the tree is what it
// should be has been judged.
func CompilePython(ctx context.Context, w *workspace.Workspace, s *store.Store, server string, rt *project.Runtime,
	tree *store.Slot, judge JudgeFunc) (*Installed, error) {
	st, err := s.Stage()
	if err != nil {
		return nil, err
	}
	defer st.Discard()
	compiled := w.Host.Announce("compiling %s", tree.Ref)
	err = closure.CompilePython(ctx, w.Host, rt, filepath.Join(tree.Dir(), sitePackages), st)
	compiled()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		w.Host.Logger.Warn("its packages were not compiled, so that it starts more slowly", "server", server, "error",
			err)
		return nil, nil
	}
	if made, err := os.ReadDir(st.Dir()); err != nil || len(made) == 0 {
		return nil, err
	}
	observed, err := st.Measure(ctx)
	if err != nil {
		return nil, err
	}
	out := &Installed{Report: evidence.Report{evidence.Compare(evidence.Claim{
		Subject: project.TreeSubject(server, BytecodePlatform(closure.Python{}.PlatformKey(rt))), Scheme: evidence.Tree,
		Authority: evidence.Machine, Where: madeBefore}, observed)}}
	adm, err := judge(out.Report)
	if err != nil {
		return out, err
	}
	out.Slot, err = s.Put(ctx, adm, out.Report[0].Subject, st, "bytecode of "+tree.Ref)
	return out, err
}
