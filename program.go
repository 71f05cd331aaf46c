package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// program is a server that can be started: the open images, their evidence and the
// command line. Its images stay open until close.
type program struct {
	server    string
	exe       *guard.Image
	interp    *guard.Image // of a script
	script    *script      // what an interpreter reads, if one is started
	args      []string     // argv
	path      string       // PATH that it was found through and gets
	variables []string
	values    map[string]string // variables that its declaration gives values
	set       []string          // variables that its runtime gets from us, "NAME=VALUE"
	report    evidence.Report
	subjects  []guard.Subject
	artifacts map[string]digest.Digest // of the project's own files: what a lock records
	own       string                   // the key in artifacts of what the server itself is
	runtime   *project.Runtime         // of this machine, if one is used
	remote    *guard.Remote            // in place of exe and all of its
	stderr    *os.File                 // of its processes; nil is this process's own
}

func (p *program) close() {
	for _, m := range []*guard.Image{p.exe, p.interp} {
		if m != nil {
			m.Close()
		}
	}
}

// judged adds a subject with its evidence.
func (p *program) judged(c evidence.Claim, o evidence.Observed) {
	p.report = append(p.report, evidence.Compare(c, o))
	p.subjects = append(p.subjects, guard.Subject{Name: c.Subject, Digest: o.SHA256()})
}

// artifact adds a file that the lock records, with what the lock says of it.
func (p *program) artifact(key string, o evidence.Observed, locked *project.ServerLock) {
	c := evidence.Claim{Subject: key, Scheme: evidence.File, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		if d, ok := locked.Artifacts[key]; ok {
			c.Want = []digest.Digest{d}
		}
	}
	p.judged(c, o)
	if p.artifacts == nil {
		p.artifacts = map[string]digest.Digest{}
	}
	p.artifacts[key] = o.SHA256()
}

// useRuntime makes m, found at path, the interpreter of this machine and compares it
// with the one that was approved.
func (p *program) useRuntime(m *guard.Image, version string, approved *project.Runtime) {
	p.runtime = &project.Runtime{Path: m.Path(), Digest: m.Observed().SHA256(), Version: version}
	c := evidence.Claim{
		Subject: m.Path(), Scheme: evidence.File, Authority: evidence.Machine,
		Where: "what was approved on this machine",
	}
	if approved != nil { // whatever its path: a link may lead elsewhere now
		c.Want = []digest.Digest{approved.Digest}
	}
	p.judged(c, m.Observed())
}

// openCommand opens what a declared command line runs, and begins the list of what it reads
// beside itself. locked and approved may be nil.
func (w *workspace) openCommand(s project.Server, locked *project.ServerLock, path string, approved *project.Runtime) (p *program, r *reads, err error) {
	target := w.target(s, path)
	p = &program{server: s.Name, path: path, variables: s.Variables}
	switch {
	case target.Opaque != "":
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "", errors.New(target.Opaque))
	case downloads(target, s.Arguments):
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
			fmt.Errorf("%s would download and run %+q unverified", target.Launcher, target.Packages[0].Text))
	case runsImage(target):
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
			fmt.Errorf("%s would run %+q unverified", target.Launcher, target.Packages[0].Text))
	case target.Wrapper != "":
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "name the program itself in 'command'",
			fmt.Errorf("%s starts another program, which no hash of %[1]s covers", target.Wrapper))
	case target.Module != "":
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "name the module's file",
			fmt.Errorf("the option -m of %s may run code that no hash covers", target.Launcher))
	case !target.Direct:
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, "", fmt.Errorf("servers started by %s cannot be pinned yet", target.Launcher))
	}
	found, err := w.find(s.Command, path)
	if err != nil {
		return p, nil, err
	}
	if manager, _ := foreign.ShimManager(found); manager != "" && target.File == "" {
		return p, nil, evidence.Errorf(evidence.Refused, s.Name, w.shimHint(found), fmt.Errorf("%s starts another program, which no hash of it covers", found))
	}
	if p.exe, err = guard.OpenImage(found, s.Verify.Algorithms()...); err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	p.args = append([]string{s.Command}, s.Arguments...)
	key := w.key(found, s.Command)
	r = &reads{
		w: w, p: p, words: s.Arguments, algs: s.Verify.Algorithms(), rows: map[string]read{}, walked: map[string]bool{}, tried: map[string]bool{}, taken: map[string]bool{p.exe.Path(): true},
		hashed: map[string]evidence.Observed{p.exe.Path(): p.exe.Observed()},
	}
	if target.File == "" {
		if err := p.wraps(w, s.Command, s.Arguments, strings.HasPrefix(key, "file:")); err != nil {
			return p, nil, err
		}
	}
	if name, args, first := p.exe.Interpreter(); first {
		if target.File != "" {
			return p, nil, evidence.Errorf(evidence.Refused, s.Name, cmp.Or(w.shimHint(found), "name the interpreter itself in 'command'"),
				fmt.Errorf("%s is a script that starts another interpreter", found))
		}
		if why := launcher.CheckShebang(name, args, p.exe.Path()); why != "" {
			return p, nil, evidence.Errorf(evidence.Refused, s.Name, "name the interpreter itself in 'command', and the script as its first argument",
				fmt.Errorf("the #! line of %s: %s", surface.Escape(found), why))
		}
		if err := p.openInterpreter(w, name, approved); err != nil {
			return p, nil, err
		}
		p.script = scriptOf(p.exe, p.interp, name, args)
		r.words = append(slices.Clone(args), s.Arguments...)
	}
	if target.File == "" {
		p.own = key
		p.artifact(key, p.exe.Observed(), locked)
		return p, r, nil
	}
	// An interpreter belongs to the machine wherever it lies, else a file that a checkout
	// puts first in PATH would be taken for one of the project's own.
	p.useRuntime(p.exe, "", approved)
	if start, err := w.interpreterFor(s.Name, found, p.exe.Path()); err != nil {
		return p, nil, err
	} else if isPython(found) || isPython(start) {
		p.args[0] = start // it would look for itself in PATH, and for what lies there
	}
	file := target.File
	if !filepath.IsAbs(file) {
		file = w.path(filepath.FromSlash(file))
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	o, err := hashFile(file, s.Verify.Algorithms()...)
	if err != nil {
		return p, nil, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	r.hashed[file], r.taken[file] = o, true
	// What is hashed is what is named, wherever the interpreter would have looked.
	at := slices.Index(s.Arguments, target.File)
	p.args[1+at] = file
	p.script = &script{file: file, language: launcher.InterpreterName(s.Command), words: s.Arguments[:at]}
	p.own = w.key(file, target.File)
	p.artifact(p.own, o, locked)
	return p, r, nil
}

// target is what the command line of s runs. A link that leads to a program which starts
// others is read by that program's name: "./notes -> /usr/bin/node".
func (w *workspace) target(s project.Server, path string) launcher.Target {
	t := launcher.Parse(s.Command, s.Arguments)
	if !t.Direct || t.Launcher != "" {
		return t
	}
	found, err := w.find(s.Command, path)
	if err != nil {
		return t
	}
	if manager, _ := foreign.ShimManager(found); manager != "" {
		return t // which says more
	}
	// One program that is many goes by the name that it is called by.
	if real := resolved(found); launcher.RunsOtherCode(real) && !strings.HasPrefix(filepath.Base(real), "busybox") {
		return launcher.Parse(real, s.Arguments)
	}
	return t
}

func (p *program) openInterpreter(w *workspace, name string, approved *project.Runtime) error {
	found, err := w.find(name, p.path)
	if err != nil {
		return err
	}
	if hint := w.shimHint(found); hint != "" {
		return evidence.Errorf(evidence.Refused, p.server, hint+", and the script as its first argument",
			fmt.Errorf("%s, which the script names, starts another interpreter", found))
	}
	if p.interp, err = guard.OpenImage(found); err != nil {
		return evidence.Errorf(evidence.Operation, p.server, "", err)
	}
	p.useRuntime(p.interp, "", approved)
	_, err = w.interpreterFor(p.server, found, p.interp.Path())
	return err
}

// key names a file in the lock: a file: Ref if it lies in the project, else the name
// under which it was declared, as its place differs between machines.
func (w *workspace) key(file, declared string) string {
	if rel, err := filepath.Rel(w.dir, file); err == nil && filepath.IsLocal(rel) {
		if ref, err := artifact.NewFile(filepath.ToSlash(rel)); err == nil {
			return ref.String()
		}
	}
	return "command:" + declared
}

// find resolves a command: with a separator relative to the project, else through path.
func (w *workspace) find(command, path string) (string, error) {
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if filepath.IsAbs(command) {
			return command, nil
		}
		return w.path(filepath.FromSlash(command)), nil
	}
	found, err := findIn(path, command)
	if err != nil {
		return "", evidence.Errorf(evidence.Operation, fmt.Sprintf("%+q", command), "", err)
	}
	return found, nil
}

// findIn looks for the command of a server in the directories of path, those of a checkout too:
// see [foreign.Find].
func findIn(path, command string) (string, error) { return foreign.Find(path, command) }

// verifyBlock is the evidence of a verify block. exe is the executable that was opened to
// run, and seen are the files that were hashed as they were opened, by path: they are judged
// by that reading and no other. exe is "" where command is a launcher that is not started
// itself, as the lock holds what it would: then it is what command resolves to through path.
func (w *workspace) verifyBlock(s project.Server, path, exe string, seen map[string]evidence.Observed) (report evidence.Report) {
	if s.Verify == nil {
		return nil
	}
	chain, err := "", error(nil)
	if named, missing := w.find(s.Command, path); missing == nil {
		if chain = links(named); exe == "" {
			exe, chain = w.claimed(named)
		}
	} else if exe == "" {
		exe, err = s.Command, missing
	}
	claim := evidence.Claim{
		Subject: exe, Scheme: evidence.File, Authority: evidence.Verify,
		Where: fmt.Sprintf("%s line %d, verify", project.ConfigFile, s.Verify.Line),
	}
	if s.Verify.Type == project.VerifyNone {
		e := evidence.Waive(claim, evidence.Observed{}, s.Verify.Reason)
		e.Fix = waivedFix("verify", s.Name)
		return evidence.Report{e}
	}
	for _, c := range s.Verify.Claims {
		claim.Subject, claim.Want = exe, []digest.Digest{c.Want}
		through, failed := chain, err
		if c.Path != "" {
			claim.Subject, through = w.claimed(c.Path)
			failed = nil
		}
		o, ok := seen[claim.Subject]
		if !ok && failed == nil {
			o, failed = hashFile(claim.Subject, c.Want.Algorithm())
		}
		if failed != nil {
			report = append(report, evidence.CannotVerify(claim, evidence.Unreadable, failed.Error()))
			continue
		}
		e := evidence.Compare(claim, o)
		e.Reason = through
		report = append(report, e)
	}
	return report
}

// claimed resolves the path of a verify block, relative to the project, and the links that
// lead from it to the file.
func (w *workspace) claimed(name string) (file, chain string) {
	if !filepath.IsAbs(name) {
		name = w.path(filepath.FromSlash(name))
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return name, ""
	}
	return real, links(name)
}

// links are the symbolic links at name itself, in the order in which they are followed:
// "a -> b -> c"; "" if it is none. Directories above it may be links too.
func links(name string) string {
	chain := name
	for range 40 {
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		chain, name = chain+" -> "+to, to
	}
	if !strings.Contains(chain, " -> ") {
		return ""
	}
	return chain
}

// hashFile hashes a regular file under sha256 and algs.
func hashFile(name string, algs ...digest.Algorithm) (evidence.Observed, error) {
	f, err := beneath.Open(name)
	if err != nil {
		return evidence.Observed{}, err
	}
	defer f.Close()
	h := digest.NewHasher(append([]digest.Algorithm{digest.SHA256}, algs...)...)
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, digest.BufferSize)); err != nil {
		return evidence.Observed{}, err
	}
	return evidence.Observed{Digests: h.Digests(), Size: h.Size(), From: name}, nil
}

// passed are the variables that every server gets.
func passed() []string {
	if runtime.GOOS == "windows" {
		return []string{"SystemRoot", "SystemDrive", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "LANG"}
	}
	return []string{"HOME", "USER", "LANG", "TMPDIR"}
}

// ofUser reports whether a variable says where the user's own settings lie, which name
// programs to start, or which container engine is asked: another engine than this machine's
// compares no digest that anybody here could rely on.
func ofUser(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains([]string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE"}, upper) ||
		strings.HasPrefix(upper, "XDG_") || strings.HasPrefix(upper, "DOCKER_") || strings.HasPrefix(upper, "CONTAINER")
}

// environment is all that the server gets: the common variables, PATH as it was fixed,
// those that are declared, and last what keeps its runtime from code that nobody verified.
func (p *program) environment(getenv func(string) string, environ []string) ([]string, error) {
	env := []string{"PATH=" + p.path}
	for _, name := range append(passed(), p.variables...) {
		if launcher.ChangesLoading(name) || strings.EqualFold(name, "PATH") {
			return nil, evidence.Errorf(evidence.Refused, "", "remove it from 'variables'",
				fmt.Errorf("the variable %s changes what code is loaded", name))
		}
		if slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			env = append(env, name+"="+getenv(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if launcher.ChangesLoading(name) || strings.EqualFold(name, "PATH") {
			return nil, evidence.Errorf(evidence.Refused, "", "ask the author of the facet to leave it out",
				fmt.Errorf("the variable %s changes what code is loaded", surface.Escape(name)))
		}
		if ofUser(name) {
			return nil, evidence.Errorf(evidence.Refused, "", "ask the author of the facet to leave it out",
				fmt.Errorf("the variable %s is the user's to set", surface.Escape(name)))
		}
		env = append(slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }), name+"="+p.values[name])
	}
	return append(env, p.set...), nil
}

// start runs the program in dir, the project's, if adm permits all of it: a server must
// not find other files because its client was started elsewhere.
func (p *program) start(ctx context.Context, h *Host, adm policy.Admitted, dir string, more []string) (*guard.Process, error) {
	if p.remote != nil {
		if len(more) > 0 {
			return nil, evidence.Errorf(evidence.Validation, p.server, "", errors.New("a server that is reached by its URL takes no arguments"))
		}
		return guard.Connect(ctx, adm, p.subjects[0], *p.remote)
	}
	env, err := p.environment(h.Getenv, h.Environ)
	if err != nil {
		return nil, err
	}
	return guard.Exec(ctx, adm, p.subjects, guard.Command{
		Name: p.server, Exe: p.exe, Interpreter: p.interp, Args: append(slices.Clone(p.args), more...), Env: env, Dir: dir, Stderr: p.stderr,
	})
}
