// Package program makes a server startable: it opens the images that run, compares them with what is
// locked and approved, fixes the command line and the environment, and starts the process if an
// admission of package policy permits it. It installs packages into the store, and captures the
// surface that a server shows, with one start for each of the most different kinds of client.
package program

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

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// RuntimeEvidence compares an interpreter with the approved one.
func RuntimeEvidence(w *workspace.Workspace, name string, approval project.Approval) evidence.Report {
	approved := approval.Runtime
	if approved == nil {
		return nil
	}
	p := &Program{Server: name}
	defer p.Close()
	image, err := host.KeptOf[process.Seen](w.Host.Kept).Look(approved.Path)
	if err != nil {
		claim := approvedClaim(approved.Path, evidence.File, approved)
		return evidence.Report{evidence.CannotVerify(claim, evidence.Unreadable, err.Error())}
	}
	p.Executable = image
	p.UseRuntime(image, approved.Version, approved)
	return p.Report
}

// Program is a server that can be started: the open images, their evidence and the
// command line. Its images stay open until [Program.Close].
type Program struct {
	Server           string
	Executable       *process.Image
	Interpreter      *process.Image // of a script
	Script           *Script        // what an interpreter reads, if one is started
	InterpreterWords []string       // of Interpreter, before those of the #! line
	Args             []string       // argv
	Path             string         // PATH that it was found through and gets
	Dir              string         // that it is started in; "" for the project's
	Environment      string         // of python, that its declaration chooses; "" if its interpreter says
	Modules          string         // the directory that python imports from first, if that is not the script's
	Variables        []string
	Values           map[string]string // variables that its declaration gives values
	RuntimeVariables []string          // variables that its runtime gets from us, "NAME=VALUE"
	Report           evidence.Report
	Subjects         []process.Subject
	Artifacts        map[string]digest.Digest // of the project's own files: what a lock records
	OwnKey           string                   // the key in artifacts of what the server itself is
	Runtime          *project.Runtime         // of this machine, if one is used
	Remote           *process.Remote          // reached by a URL, in place of all images
	stderr           *os.File                 // of its processes; nil is this process's own
}

// Close closes the images of p.
func (p *Program) Close() {
	for _, m := range []*process.Image{p.Executable, p.Interpreter} {
		if m != nil {
			m.Close()
		}
	}
}

// AddSubject adds a subject with its evidence.
func (p *Program) AddSubject(c evidence.Claim, o evidence.Observed) {
	p.Report = append(p.Report, evidence.Compare(c, o))
	p.Subjects = append(p.Subjects, process.Subject{Name: c.Subject, Digest: o.SHA256()})
}

// AddArtifact adds a file that the lock records, with the lock's claims about it.
func (p *Program) AddArtifact(key string, o evidence.Observed, locked *project.ServerLock) {
	c := evidence.Claim{Subject: key, Scheme: evidence.File, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		if d, ok := locked.Artifacts[key]; ok {
			c.Want = []digest.Digest{d}
		}
	}
	p.AddSubject(c, o)
	if p.Artifacts == nil {
		p.Artifacts = map[string]digest.Digest{}
	}
	p.Artifacts[key] = o.SHA256()
}

// UseRuntime makes m the interpreter of this machine and compares it with the approved one; nil
// means that none was approved.
func (p *Program) UseRuntime(m *process.Image, version string, approved *project.Runtime) {
	p.Runtime = &project.Runtime{Path: m.Path(), Digest: m.Observed().SHA256(), Version: version}
	p.AddSubject(approvedClaim(m.Path(), evidence.File, approved), m.Observed())
	if e := &p.Report[len(p.Report)-1]; e.Outcome == evidence.Mismatch {
		e.Fix = "if you updated it, run 'hallmark review', which asks once for all servers that it starts; else find " +
			"out who did"
	}
}

// approvedClaim is what this machine claims of a runtime at path; nil means that none was approved.
func approvedClaim(path string, scheme evidence.Scheme, approved *project.Runtime) evidence.Claim {
	c := evidence.Claim{Subject: path, Scheme: scheme, Authority: evidence.Machine,
		Where: "what was approved on this machine"}
	if approved != nil { // compared whatever its path is: a link may lead elsewhere now
		c.Want = []digest.Digest{approved.Digest}
	}
	return c
}

// VerifyEvidence returns the evidence of a verify block. exe is the executable that was opened to
// run. seen are the files that were hashed when they were opened, by path: only that reading is
// judged. exe is "" if command is a launcher that is not started itself; the claim is then about
// the file that command resolves to through path.
func VerifyEvidence(w *workspace.Workspace, s project.Server, path, exe string,
	seen map[string]evidence.Observed) (report evidence.Report) {
	if s.Verify == nil {
		return nil
	}
	chain, err := "", error(nil)
	if named, missing := w.FindCommand(s.Command, path); missing == nil {
		if chain = linkChain(named); exe == "" {
			exe, chain = ResolveVerifyPath(w, named)
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
		e.Fix = workspace.WaiverFix("verify", s.Name)
		return evidence.Report{e}
	}
	for _, c := range s.Verify.Claims {
		claim.Subject, claim.Want = exe, []digest.Digest{c.Want}
		through, failed := chain, err
		if c.Path != "" {
			claim.Subject, through = ResolveVerifyPath(w, c.Path)
			failed = nil
		}
		o, ok := seen[claim.Subject]
		if !ok && failed == nil {
			o, failed = HashFile(claim.Subject, c.Want.Algorithm())
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

// ResolveVerifyPath resolves the path of a verify block, relative to the project, and the links that
// lead from it to the file.
func ResolveVerifyPath(w *workspace.Workspace, name string) (file, chain string) {
	if !filepath.IsAbs(name) {
		name = w.Path(filepath.FromSlash(name))
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return name, ""
	}
	return real, linkChain(name)
}

// linkChain returns the symbolic links at name itself, in the order in which they are followed: "a
// -> b -> c"; "" if name is not a link. Directories above it may be links too.
func linkChain(name string) string {
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

// HashFile hashes a regular file under sha256 and algs.
func HashFile(name string, algs ...digest.Algorithm) (evidence.Observed, error) {
	f, err := durable.OpenRegular(name)
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

// CommonVariables returns the variables that every server gets.
func CommonVariables() []string {
	if runtime.GOOS == "windows" {
		return []string{"SystemRoot", "SystemDrive", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "TEMP",
			"TMP", "LANG"}
	}
	return []string{"HOME", "USER", "LANG", "TMPDIR"}
}

// isUserSetting reports whether a variable locates the user's own settings, names programs to
// start, or selects the container engine: an engine on another machine compares digests where
// nobody here can verify it.
func isUserSetting(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains([]string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE"},
		upper) ||
		strings.HasPrefix(upper, "XDG_") || strings.HasPrefix(upper, "DOCKER_") || strings.HasPrefix(upper, "CONTAINER")
}

// buildEnvironment returns the server's environment: the common variables, the fixed PATH, the
// declared variables, one hash seed for python, and last those that keep its runtime from loading
// unverified code.
func (p *Program) buildEnvironment(getenv func(string) string, environ []string) ([]string, error) {
	env := []string{"PATH=" + p.Path}
	for _, name := range append(CommonVariables(), p.Variables...) {
		if launcher.ChangesLoading(name) || strings.EqualFold(name, "PATH") {
			return nil, evidence.Errorf(evidence.Refused, "", "remove it from 'variables'",
				fmt.Errorf("the variable %s changes what code is loaded", name))
		}
		if slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			env = append(env, name+"="+getenv(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if launcher.ChangesLoading(name) || strings.EqualFold(name, "PATH") {
			return nil, evidence.Errorf(evidence.Refused, "", "ask the author of the facet to leave it out",
				fmt.Errorf("the variable %s changes what code is loaded", surface.Escape(name)))
		}
		if isUserSetting(name) {
			return nil, evidence.Errorf(evidence.Refused, "", "ask the author of the facet to leave it out",
				fmt.Errorf("the variable %s is the user's to set", surface.Escape(name)))
		}
		env = append(slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }),
			name+"="+p.Values[name])
	}
	return append(p.fixHashSeed(env), p.RuntimeVariables...), nil
}

// Start runs the program in dir, the project's directory, or in [Program.Dir], if adm permits all of it. The directory
// is fixed so that the server finds the same files wherever its client was started.
func (p *Program) Start(ctx context.Context, h *host.Host, adm policy.Admitted, dir string,
	more []string) (*process.Process, error) {
	if p.Remote != nil {
		if len(more) > 0 {
			return nil, evidence.Errorf(evidence.Validation, p.Server, "",
				errors.New("a server that is reached by its URL takes no arguments"))
		}
		return process.Connect(ctx, adm, p.Subjects[0], *p.Remote)
	}
	env, err := p.buildEnvironment(h.Getenv, h.Environ)
	if err != nil {
		return nil, err
	}
	return process.Exec(ctx, adm, p.Subjects, process.Command{
		Name: p.Server, Exe: p.Executable, Interpreter: p.Interpreter, Words: p.InterpreterWords,
		Args: append(slices.Clone(p.Args), more...), Env: env, Dir: cmp.Or(p.Dir, dir), Stderr: p.stderr,
	})
}
