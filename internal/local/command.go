package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// CheckEntry compares a local command with its lock entry without starting it. A command that 'run'
// would refuse to open is evidence too, and no error.
func CheckEntry(ctx context.Context, w *workspace.Workspace, s project.Server, entry project.ServerLock,
	approval project.Approval) (evidence.Report, error) {
	path := approval.Path
	if path == "" {
		path = w.Host.Getenv("PATH")
	}
	p, err := OpenLocked(ctx, w, s, &entry, project.Approval{Path: path, Runtime: approval.Runtime})
	if p != nil {
		defer p.Close()
	}
	if err != nil {
		c := evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.File, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile,
		}
		if evidence.ClassOf(err) == evidence.Refused { // as run would
			c.Scheme, c.Want, c.Text = evidence.Unhashed, nil, "a program that 'run' would start"
		}
		return evidence.Report{evidence.CannotVerify(c, evidence.Unreadable, err.Error())}, nil
	}
	return append(p.Report, MissingArtifacts(entry, p)...), nil
}

// MissingArtifacts is evidence of files that the lock names and the declaration no
// longer uses.
func MissingArtifacts(entry project.ServerLock, p *program.Program) evidence.Report {
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(entry.Artifacts)) {
		if _, ok := p.Artifacts[key]; !ok {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: key, Scheme: evidence.File, Authority: evidence.Lock,
				Want: []digest.Digest{entry.Artifacts[key]}, Where: project.LockFile,
			}, evidence.NotFound, "the command line does not use it, or it is gone"))
		}
	}
	return report
}

// startedFileEvidence is a mismatch if a command line starts another file than the lock entry is of:
// the digest of one file must not be compared under the name of another.
func startedFileEvidence(p *program.Program, locked *project.ServerLock) evidence.Report {
	if locked == nil || locked.Ref == p.OwnKey {
		return nil
	}
	return evidence.Report{{
		Claim: evidence.Claim{Subject: p.Server, Scheme: evidence.Launch, Authority: evidence.Lock, Text: locked.Ref,
			Where: project.LockFile + ", ref"},
		Outcome: evidence.Mismatch, Observed: evidence.Observed{Text: p.OwnKey, From: "the command line"},
		Reason: "the command line starts another file than the one that the entry is of",
	}}
}

// command is a declared command line that is to be opened.
type command struct {
	workspace *workspace.Workspace
	declared  project.Server
	locked    *project.ServerLock // nil: not locked, or locked anew
	approval  project.Approval    // the path that is searched, and the runtime that was approved
}

// begin opens what a command line runs, and begins the set of what it reads besides.
func (c command) begin() (p *program.Program, r *readSet, err error) {
	w, s, path, approved := c.workspace, c.declared, c.approval.Path, c.approval.Runtime
	target := parseTarget(w, s, path)
	p = &program.Program{Server: s.Name, Path: path, Variables: s.Variables}
	declared := s.KindOf(target)
	switch {
	case target.Opaque != "":
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "", errors.New(target.Opaque))
	case declared.HasClosure():
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
			fmt.Errorf("%s would download and run %+q unverified", target.Launcher, target.Packages[0].Text))
	case declared.Pulled():
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
			fmt.Errorf("%s would run %+q unverified", target.Launcher, target.Packages[0].Text))
	case target.Wrapper != "":
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "name the program itself in 'command'",
			fmt.Errorf("%s starts another program, which no hash of %[1]s covers", target.Wrapper))
	case target.Module != "":
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "name the module's file",
			fmt.Errorf("the option -m of %s may run code that no hash covers", target.Launcher))
	case !target.Direct:
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "",
			fmt.Errorf("servers started by %s cannot be pinned yet", target.Launcher))
	}
	found, err := w.FindCommand(s.Command, path)
	if err != nil {
		return p, nil, err
	}
	if manager, _ := foreign.ShimManager(found); manager != "" && target.File == "" {
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, tool.ShimHint(w, found),
			fmt.Errorf("%s starts another program, which no hash of it covers", found))
	}
	if p.Executable, err = guard.OpenImage(found, s.Verify.Algorithms()...); err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	p.Args = append([]string{s.Command}, s.Arguments...)
	key := w.LockKey(found, s.Command)
	r = &readSet{
		w: w, p: p, arguments: s.Arguments, algorithms: s.Verify.Algorithms(), items: map[string]readItem{},
		walked: map[string]bool{}, tried: map[string]bool{}, taken: map[string]bool{p.Executable.Path(): true},
		hashed: map[string]evidence.Observed{p.Executable.Path(): p.Executable.Observed()},
	}
	if target.File == "" {
		if err := refuseWrapper(p, w, s.Command, s.Arguments, strings.HasPrefix(key, "file:")); err != nil {
			return p, nil, err
		}
	}
	if name, args, first := p.Executable.Interpreter(); first {
		if target.File != "" {
			return p, nil, evidence.Errorf(evidence.Refused, s.Name,
				cmp.Or(tool.ShimHint(w, found), "name the interpreter itself in 'command'"),
				fmt.Errorf("%s is a script that starts another interpreter", found))
		}
		if why := launcher.CheckShebang(name, args, p.Executable.Path()); why != "" {
			return p, nil, evidence.Errorf(evidence.Refused, s.Name,
				"name the interpreter itself in 'command', and the script as its first argument",
				fmt.Errorf("the #! line of %s: %s", surface.Escape(found), why))
		}
		if err := openInterpreter(p, w, name, approved); err != nil {
			return p, nil, err
		}
		p.Script = scriptOf(p.Executable, p.Interpreter, name, args)
		r.arguments = append(slices.Clone(args), s.Arguments...)
	}
	if target.File == "" {
		p.OwnKey = key
		p.AddArtifact(key, p.Executable.Observed(), c.locked)
		return p, r, nil
	}
	// An interpreter belongs to the machine wherever it lies, else a file that a checkout
	// puts first in PATH would be taken for one of the project's own.
	p.UseRuntime(p.Executable, "", approved)
	if start, err := tool.InterpreterPath(w, s.Name, found, p.Executable.Path()); err != nil {
		return p, nil, err
	} else if tool.IsPython(found) || tool.IsPython(start) {
		p.Args[0] = start // under its bare name python would look for itself in PATH
	}
	file := target.File
	if !filepath.IsAbs(file) {
		file = w.Path(filepath.FromSlash(file))
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	o, err := program.HashFile(file, s.Verify.Algorithms()...)
	if err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	r.hashed[file], r.taken[file] = o, true
	// Name the hashed file by its path, wherever the interpreter would have looked.
	at := slices.Index(s.Arguments, target.File)
	p.Args[1+at] = file
	p.Script = &program.Script{File: file, Language: launcher.InterpreterName(s.Command), Words: s.Arguments[:at]}
	p.OwnKey = w.LockKey(file, target.File)
	p.AddArtifact(p.OwnKey, o, c.locked)
	return p, r, nil
}

// parseTarget says what the command line of s runs. A link to a program that starts others is parsed
// under that program's name: "./notes -> /usr/bin/node".
func parseTarget(w *workspace.Workspace, s project.Server, path string) launcher.Target {
	t := launcher.Parse(s.Command, s.Arguments)
	if !t.Direct || t.Launcher != "" {
		return t
	}
	found, err := w.FindCommand(s.Command, path)
	if err != nil {
		return t
	}
	if manager, _ := foreign.ShimManager(found); manager != "" {
		return t // the refusal of a shim says more
	}
	// A program that is many in one, such as busybox, is what it is called as.
	if real := host.RealPath(found); launcher.RunsOtherCode(real) &&
		!strings.HasPrefix(filepath.Base(real), "busybox") {
		return launcher.Parse(real, s.Arguments)
	}
	return t
}

func openInterpreter(p *program.Program, w *workspace.Workspace, name string, approved *project.Runtime) error {
	found, err := w.FindCommand(name, p.Path)
	if err != nil {
		return err
	}
	if hint := tool.ShimHint(w, found); hint != "" {
		return evidence.Errorf(evidence.Refused, p.Server, hint+", and the script as its first argument",
			fmt.Errorf("%s, which the script names, starts another interpreter", found))
	}
	if p.Interpreter, err = guard.OpenImage(found); err != nil {
		return evidence.Errorf(evidence.Operation, p.Server, "", err)
	}
	p.UseRuntime(p.Interpreter, "", approved)
	_, err = tool.InterpreterPath(w, p.Server, found, p.Interpreter.Path())
	return err
}
