package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// A package may run code that is not its own: "mcp run server.py" starts a script of the project. No closure holds that
// code, so the files of code that the arguments name are artifacts of the entry, as those of a local program are, and
// so is the directory that 'tree' names.

// addNamedCode hashes the code that the arguments of an entry, of a package, name, and compares it with locked, which
// is nil if the package is being locked. p is what starts the package.
func (k ecosystem) addNamedCode(ctx context.Context, w *workspace.Workspace, s project.Server, p *program.Program,
	entry project.ServerLock, locked *project.ServerLock) error {
	r := newCommandFiles(w, p, s)
	r.arguments = entry.Arguments
	if err := r.addNamedFiles(); err != nil {
		return err
	}
	named := slices.Sorted(maps.Keys(r.items))
	t, err := k.addPackageTree(r, s)
	if err != nil {
		return err
	}
	if err := k.judgeNeighbours(r, s, entry.Entry, named, t); err != nil || len(r.items) == 0 {
		return err
	}
	if k.ignoreBytecode != nil && p.Executable != nil {
		k.ignoreBytecode(p)
	}
	if p.Artifacts == nil {
		p.Artifacts = map[string]digest.Digest{}
	}
	return r.addEvidence(ctx, locked)
}

// addPackageTree adds the directory that the declaration of a package names, and returns it; nil if it names none.
func (k ecosystem) addPackageTree(r *commandFiles, s project.Server) (*commandTree, error) {
	if s.Tree == "" {
		return nil, nil
	}
	t, err := r.addDeclaredTree(s, "a directory of the project")
	if err == nil {
		t.language = k.language
	}
	return t, err
}

// judgeNeighbours looks at what lies beside the named files that are not in the tree t, which may be nil. A package
// that only runs the script which it is told to is refused with such a script, or with none; what any other does with
// a file is not known, so that it is said what the file may load. So is one whose entry point is of such a package.
func (k ecosystem) judgeNeighbours(r *commandFiles, s project.Server, entry string, named []string,
	t *commandTree) error {
	module, _, isModule := strings.Cut(entry, ":") // of python
	runs := launcher.Parse(s.Command, s.Arguments).RunsScript() || isModule && launcher.IsScriptRunner(module)
	if runs && len(named) == 0 {
		return evidence.Errorf(evidence.Refused, s.Name, "name the script in its arguments, as a file that is there",
			errors.New("the package runs the script that it is told to, and its arguments name none"))
	}
	for _, key := range named {
		file := host.RealPath(r.items[key].path)
		inTree := t != nil && t.hashes(file)
		if beside, err := r.neighbour(file); !inTree && (err != nil || beside != "") {
			r.noteNeighbours(s, key, file, runs)
		}
		if !runs {
			continue
		}
		top := filepath.Dir(file)
		if inTree {
			top = t.dir
		}
		if err := r.addAbove(&program.Script{File: file, Language: k.language}, top); err != nil {
			return err
		}
	}
	return nil
}

// noteNeighbours says, of a named file, that it may load what lies beside it: as a refusal if the package runs it.
func (r *commandFiles) noteNeighbours(s project.Server, key, file string, runs bool) {
	where := "the project"
	if rel := host.RelativeTo(r.w.Dir, filepath.Dir(file)); rel != "." {
		where = rel
	}
	fix, locks := moveScript(s.Name, file), moveScript(s.Name, file)
	if dir := proposeTree(r.w, file, ""); dir != "" {
		pin := fmt.Sprintf("'hallmark pin %s --tree %s'", s.Name, host.QuoteArguments([]string{dir}))
		fix, locks = "run "+pin+", which locks the whole directory", pin+" locks them all"
	}
	if runs {
		r.refused = append(r.refused, &evidence.Error{Subject: s.Name, Kind: evidence.Refused, Hint: fix,
			Err: fmt.Errorf("%s may load other files of %s, which no hash of it covers", filepath.Base(file), where)})
		return
	}
	r.p.Report = append(r.p.Report, evidence.CannotVerify(evidence.Claim{
		Subject: key, Scheme: evidence.Import, Authority: evidence.Lock, Where: project.LockFile,
	}, evidence.Unsupported, "the package may run it, and it may load other files of "+where+"; "+locks))
}

// neighbour returns the name of another file than those that are hashed that lies beside a file; "" if there is none.
func (r *commandFiles) neighbour(file string) (string, error) {
	dir := filepath.Dir(file)
	alone := commandTree{dir: dir, written: ownFiles(r.w, dir)}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !alone.leavesOut(e.Name()) && !r.seen[filepath.Join(dir, e.Name())] {
			return e.Name(), err
		}
	}
	return "", err
}

// FindNamedCode returns a file of code that arguments name if they are read in dir, and that is not hashed: hashed are
// those that the arguments of the entry name, read in the directory of the project, and the tree of s, which p starts.
// "" if there is none.
func FindNamedCode(w *workspace.Workspace, s project.Server, entry project.ServerLock, p *program.Program, dir string,
	arguments []string) (string, error) {
	hashed := newCommandFiles(w, &program.Program{Server: s.Name}, s)
	hashed.arguments = entry.Arguments
	named := newCommandFiles(workspace.Empty(w.Host, dir), &program.Program{Server: s.Name}, s)
	named.arguments = arguments
	if err := errors.Join(hashed.addNamedFiles(), named.addNamedFiles()); err != nil {
		return "", err
	}
	for _, key := range slices.Sorted(maps.Keys(named.items)) {
		file := host.RealPath(named.items[key].path)
		if hashed.seen[file] {
			continue
		}
		if s.Tree != "" {
			t, err := newCommandTree(w, s, p)
			if err != nil {
				return "", err
			}
			if k, ok := Of(entry.Source).(ecosystem); ok {
				t.language = k.language
			}
			if t.hashes(file) {
				continue
			}
		}
		return file, nil
	}
	return "", nil
}

// checkNamedCode compares the code that the arguments of a locked package name, without starting anything.
func (k ecosystem) checkNamedCode(ctx context.Context, l Locked, path string) (evidence.Report, error) {
	p := &program.Program{Server: l.Server.Name, Path: path, OwnKey: l.Entry.Ref, Runtime: l.Approval.Runtime}
	err := k.addNamedCode(ctx, l.Workspace, l.Server, p, l.Entry, &l.Entry)
	if errors.Is(err, os.ErrNotExist) || evidence.ClassOf(err) == evidence.Refused {
		return evidence.Report{unreadableEvidence(evidence.Claim{Subject: l.Entry.Ref, Scheme: evidence.Unhashed,
			Authority: evidence.Lock, Where: project.LockFile, Text: "code that its arguments name, as 'run' reads it"},
			err)}, nil
	}
	return append(p.Report, missingArtifacts(l.Entry, p)...), err
}
