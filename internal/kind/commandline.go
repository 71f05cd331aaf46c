package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// commandLine is a declared command line to open.
type commandLine struct {
	workspace *workspace.Workspace
	declared  project.Server
	locked    *project.ServerLock // nil if it is not locked, or is being locked
	approval  project.Approval    // the path that is searched, and the runtime that was approved
	opener    process.Opener      // of the program, and of the interpreter that its #! line names
}

// OpenNamed opens what a declared command line names, without the code that its script loads by itself, since no lock
// says what that was. Of approval it uses the path that is searched, and the runtime that was approved, which may be
// nil.
func OpenNamed(ctx context.Context, w *workspace.Workspace, s project.Server, approval project.Approval,
	open process.Opener) (*program.Program, error) {
	return commandLine{workspace: w, declared: s, approval: approval, opener: open}.open(ctx, false)
}

// open opens what a command line runs, and hashes it with the files that it names and, if all is set, with what bounds
// the code that it may load.
func (c commandLine) open(ctx context.Context, all bool) (p *program.Program, err error) {
	written := c.declared
	c.declared.Command, c.declared.Arguments = launcher.Unwrap(written.Command, written.Arguments)
	unwrapped := c.declared.Command != written.Command
	c, found, err := c.throughEnvironment()
	if unwrapped {
		found.written = &written
	}
	if err != nil {
		return &program.Program{Server: c.declared.Name}, err
	}
	w, s, locked := c.workspace, c.declared, c.locked
	p, r, err := c.openProgram(found)
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if err == nil {
		err = r.addNamedFiles()
	}
	if err == nil && all {
		err = c.addTree(r)
	}
	if err == nil {
		err = r.addEvidence(ctx, locked)
	}
	if err != nil {
		return p, err
	}
	p.Report = append(p.Report, startedFileEvidence(p, locked)...)
	exe := p.Executable.Path()
	if found.written != nil { // which names uv, or cmd
		s, exe = *found.written, ""
	}
	p.Report = append(p.Report, program.VerifyEvidence(w, s, c.approval.Path, exe, r.hashed)...)
	for _, why := range r.unknown {
		p.Report = append(p.Report, evidence.CannotVerify(evidence.Claim{
			Subject: p.OwnKey, Scheme: evidence.Import, Authority: evidence.Lock, Where: project.LockFile,
		}, evidence.Unsupported, why))
	}
	return p, nil
}

// startedFileEvidence returns a mismatch if a command line starts another file than that of the lock
// entry: the digest of one file must not be compared under the name of another.
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

// openProgram opens what a command line runs, and returns an empty set for what that reads besides.
func (c commandLine) openProgram(through environmentLine) (p *program.Program, r *commandFiles, err error) {
	w, s, path := c.workspace, c.declared, c.approval.Path
	target := parseTarget(w, s, path)
	if through.script != "" {
		target = launcher.Target{Launcher: "python", File: through.script, Direct: true}
	}
	p = &program.Program{Server: s.Name, Path: path, Dir: through.workDir, Environment: through.env,
		Modules: through.modules, Variables: s.Variables}
	if err := refuseTarget(s, target); err != nil {
		return p, nil, err
	}
	found, err := w.FindCommand(s.Command, path)
	if err != nil {
		return p, nil, err
	}
	if manager, _ := foreign.ShimManager(found); manager != "" && target.File == "" {
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, closure.ShimHint(w, found),
			fmt.Errorf("%s starts another program, which no hash of it covers", found))
	}
	if p.Executable, err = c.opener(found, s.Verify.Algorithms()...); err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, bringBack(w, s.Name, err), err)
	}
	p.Args = append([]string{s.Command}, s.Arguments...)
	key := w.LockKey(found, s.Command)
	r = newCommandFiles(w, p, s)
	if target.File == "" {
		if err := refuseWrapper(p, w, s.Command, s.Arguments, strings.HasPrefix(key, "file:")); err != nil {
			return p, nil, err
		}
	}
	if name, args, ok := p.Executable.Interpreter(); ok {
		if err := c.openShebang(r, found, target, name, args); err != nil {
			return p, nil, err
		}
	}
	if target.File == "" {
		p.OwnKey = key
		p.AddArtifact(key, p.Executable.Observed(), c.locked)
		return p, r, nil
	}
	return p, r, c.openScript(r, found, target.File)
}

// hintModule leads on from a module that is not known.
const hintModule = "start the package that the module comes from, as in 'uvx NAME', or name the module's file"

// refuseTarget refuses a command line that starts what no hash of a file covers.
func refuseTarget(s project.Server, target launcher.Target) error {
	declared := s.KindOf(target)
	switch {
	case target.Opaque != "":
		return evidence.Errorf(evidence.Refused, s.Name, "name what is started: a package or an image, or a program "+
			"or a script by its path, without another program before it", errors.New(target.Opaque))
	case declared.HasClosure():
		return evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
			fmt.Errorf("%s would download and run %+q unverified", target.Launcher, target.Packages[0].Text))
	case declared.Pulled():
		return evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
			fmt.Errorf("%s would run %+q unverified", target.Launcher, target.Packages[0].Text))
	case target.Wrapper != "":
		return evidence.Errorf(evidence.Refused, s.Name, "name the program itself in 'command'",
			fmt.Errorf("%s starts another program, which no hash of %[1]s covers", target.Wrapper))
	case target.Module != "":
		return evidence.Errorf(evidence.Refused, s.Name, hintModule,
			fmt.Errorf("the option -m of %s may run code that no hash covers", target.Launcher))
	case len(target.Packages) > 0 && target.Packages[0].Ecosystem == launcher.Git:
		return evidence.Errorf(evidence.Refused, s.Name, "name a version that a package registry has, as in 'uvx "+
			"NAME@VERSION' or 'npx NAME@VERSION'; or clone it, and name its script by the path",
			fmt.Errorf("what %s takes from git cannot be pinned: %+q", target.Launcher,
				launcher.Redact([]string{target.Packages[0].Text})[0]))
	case !target.Direct:
		return evidence.Errorf(evidence.Refused, s.Name, hintPinned(target),
			fmt.Errorf("servers started by %s cannot be pinned yet", target.Launcher))
	}
	return nil
}

// openShebang opens the interpreter that the #! line of the executable, found under that name, starts
// with args.
func (c commandLine) openShebang(r *commandFiles, found string, target launcher.Target,
	name string, args []string) error {
	w, s, p := c.workspace, c.declared, r.p
	if target.File != "" {
		return evidence.Errorf(evidence.Refused, s.Name,
			cmp.Or(closure.ShimHint(w, found), "name the interpreter itself in 'command'"),
			fmt.Errorf("%s is a script that starts another interpreter", found))
	}
	if why := launcher.CheckShebang(name, args, p.Executable.Path()); why != "" {
		return evidence.Errorf(evidence.Refused, s.Name,
			"name the interpreter itself in 'command', and the script as its first argument",
			fmt.Errorf("the #! line of %s: %s", surface.Escape(found), why))
	}
	if err := openInterpreter(p, w, name, c.approval.Runtime, c.opener); err != nil {
		return err
	}
	p.Script = newScript(p.Executable, p.Interpreter, name, args)
	r.arguments = append(slices.Clone(args), s.Arguments...)
	return nil
}

// openScript hashes the script that an interpreter, found under that name, is given as an argument.
func (c commandLine) openScript(r *commandFiles, found, argument string) error {
	w, s, p := c.workspace, c.declared, r.p
	// An interpreter belongs to the machine wherever it lies: else a file that a checkout puts first in
	// PATH would count as the project's own.
	p.UseRuntime(p.Executable, "", c.approval.Runtime)
	if start, err := closure.InterpreterPath(w, s.Name, found, p.Executable.Path()); err != nil {
		return err
	} else if closure.IsPython(found) || closure.IsPython(start) {
		p.Args[0] = start // python looks for itself in PATH if it is started under a bare name
	}
	file := argument
	if !filepath.IsAbs(file) {
		file = w.Path(filepath.FromSlash(file))
	}
	named := file
	file, err := filepath.EvalSymlinks(file)
	if gone := (*fs.PathError)(nil); errors.As(err, &gone) { // it names the directory that is not there
		gone.Path = named
	}
	if err != nil {
		return evidence.Errorf(evidence.Operation, s.Name, bringBack(w, s.Name, err), err)
	}
	o, err := program.HashFile(file, s.Verify.Algorithms()...)
	if err != nil {
		return evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	r.hashed[file], r.seen[file] = o, true
	// Start the file that was hashed by its path, wherever the interpreter would have looked.
	at := slices.Index(s.Arguments, argument)
	p.Args[1+at] = file
	p.Script = &program.Script{File: file, Language: launcher.InterpreterName(s.Command), Words: s.Arguments[:at]}
	p.OwnKey = w.LockKey(file, argument)
	p.AddArtifact(p.OwnKey, o, c.locked)
	return nil
}

// parseTarget returns what the command line of s runs. A link to a program that starts others is parsed
// under the name of that program: "./notes -> /usr/bin/node".
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
		return t // openProgram refuses a shim with a better message
	}
	// A program that is many in one, such as busybox, is the one whose name it is called by.
	if real := host.RealPath(found); launcher.RunsOtherCode(real) &&
		!strings.HasPrefix(filepath.Base(real), "busybox") {
		return launcher.Parse(real, s.Arguments)
	}
	return t
}

// hintPinned says how what a launcher starts can be pinned: a package of npm by npx.
func hintPinned(t launcher.Target) string {
	line := []string{"npx", "-y"}
	for _, p := range t.Packages {
		if t.Bin != "" {
			line = append(line, "-p")
		}
		line = append(line, p.Text)
	}
	if len(t.Packages) == 0 || slices.ContainsFunc(t.Packages, func(p launcher.Package) bool {
		return p.Ecosystem != launcher.NPM || strings.HasPrefix(p.Text, "npm:") // which deno does otherwise
	}) {
		return "name the program that it starts in 'command', by its path"
	}
	if t.Bin != "" {
		line = append(line, t.Bin)
	}
	_, command, args := launcher.DescribeInner(append(line, t.Args...))
	return "declare command = " + command + ", arguments = " + args
}

// openInterpreter opens the interpreter that a #! line names.
func openInterpreter(p *program.Program, w *workspace.Workspace, name string, approved *project.Runtime,
	open process.Opener) error {
	found, err := w.FindCommand(name, p.Path)
	if err != nil {
		return err
	}
	if hint := closure.ShimHint(w, found); hint != "" {
		return evidence.Errorf(evidence.Refused, p.Server, hint+", and the script as its first argument",
			fmt.Errorf("%s, which the script names, starts another interpreter", found))
	}
	if p.Interpreter, err = open(found); err != nil {
		return evidence.Errorf(evidence.Operation, p.Server, "", err)
	}
	p.UseRuntime(p.Interpreter, "", approved)
	_, err = closure.InterpreterPath(w, p.Server, found, p.Interpreter.Path())
	return err
}

// newScript returns the script that an interpreter reads: an image with a #! line, which names the
// interpreter and has words besides.
func newScript(exe, interp *process.Image, named string, words []string) *program.Script {
	s := &program.Script{File: exe.Path(), Language: launcher.InterpreterName(named), Words: words, First: true}
	for _, path := range interp.Chain { // a link may have any name
		s.Language = cmp.Or(s.Language, launcher.InterpreterName(path))
	}
	return s
}

// bringBack leads on from err where it says that a file which a server is started from is not there.
func bringBack(w *workspace.Workspace, name string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if _, locked := w.Lock.Server(name); !locked { // it may be an entry of a client's file
		return "restore the file, or correct the entry, and run the command again"
	}
	return "restore the file, or correct the entry in " + project.ConfigFile + ", and run 'hallmark pin " + name +
		"'"
}
