package scan

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// scannedEntry is an entry of a client's file while it is judged: does Hallmark guard what it
// starts? An entry is not guarded if any part of it is not known to be harmless.
type scannedEntry struct {
	*scan
	file   clients.File
	server clients.Server
	claim  evidence.Claim
	target launcher.Target

	project  string // directory of the project that the file belongs to; "" for the user's files
	cover    Cover
	runs     *Runs
	withheld *Withheld
	roots    []string
	report   evidence.Report
}

// judge returns the evidence about the entry and Hallmark: whether it starts hallmark as it should,
// or starts a server around it.
func (e *scannedEntry) judge(ctx context.Context) evidence.Report {
	if e.server.Client == "hallmark" {
		return nil // hallmark.toml declares servers, and starts none
	}
	if !e.file.User {
		e.project = e.projectOf(e.o.Dir, cmp.Or(e.file.Root, filepath.Dir(e.file.Path)))
		if real, err := filepath.EvalSymlinks(e.file.Path); err == nil && e.project == "" {
			e.project = e.projectOf(e.o.Dir, filepath.Dir(real)) // a link from elsewhere
		}
	}
	switch how := e.classifyCommand(); {
	case e.server.Problem != "" && !e.server.Extension: // what it starts is not known
		if how != "" {
			e.refuse("the entry " + e.server.Problem)
		}
		return e.report // refused as malformed, whatever it is
	case how == "hallmark":
		e.judgeHallmark(ctx)
		return e.report
	case how == "hashfile-mcp" && e.program.check("hashfile-mcp", e.server.Command, e.startDir(), e.project) == nil:
		e.judgeEditor(e.server.Args)
		return e.report
	case how != "" && how != "hashfile-mcp":
		e.refuse(how)
	}
	switch {
	case e.project != "":
		e.judgeUnguarded()
	case e.file.User:
		e.warnBypass()
	}
	return e.report
}

// classifyCommand returns "hallmark" or "hashfile-mcp" if that is the entry's command, "" if the entry
// does not mention hallmark, and else why what it starts is not this machine's program.
func (e *scannedEntry) classifyCommand() string {
	const own = "hallmark"
	if name := clients.ProgramName(e.server.Command); name == own || name == "hashfile-mcp" {
		return name
	}
	t := e.target
	for _, p := range t.Packages {
		if clients.ProgramName(p.Name) == own || clients.ProgramName(t.Bin) == own {
			return "is a package or image that is called hallmark, not this machine's program"
		}
	}
	words := []string{t.File, t.Module, t.Bin}
	if t.Wrapper != "" || t.Opaque != "" {
		words = append(words, e.server.Args...)
	}
	for _, w := range words {
		for word := range strings.FieldsFuncSeq(w,
			func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()`$\"'=", r) }) {
			if clients.ProgramName(word) == own {
				return "is started through " + clients.ProgramName(e.server.Command) +
					", which may start something else"
			}
		}
	}
	return ""
}

// refuse adds evidence of why an entry that names hallmark is not guarded.
func (e *scannedEntry) refuse(why string) {
	c := e.claim
	c.Scheme, c.Authority, c.Text = evidence.Launch, evidence.Caller, "hallmark run"
	found := evidence.Fact(c, launcher.Redact([]string{e.server.Command})[0]+" …")
	found.Rule, found.Reason, found.Fix = launcher.RuleUnguarded, why, e.suggestEntry()
	e.report = append(e.report, found)
}

// suggestEntry returns the entry as it should be written, for a fix.
func (e *scannedEntry) suggestEntry() string {
	if e.project == "" {
		return ""
	}
	return `"command": "hallmark", "args": ["run", ` + clients.Quote(e.server.Name) + `], after 'hallmark pin'`
}

// suggestAdoption returns how an entry that starts a server without Hallmark should be written, and the
// command that writes it.
func (e *scannedEntry) suggestAdoption() string {
	const after = "after 'hallmark pin'"
	s := e.server
	as, cut := strings.CutSuffix(e.suggestEntry(), after)
	in, errs := filepath.Abs(e.project)
	file, err := filepath.Abs(e.file.Path)
	from, errd := filepath.Abs(e.startDir())
	// the command would not find the same server
	if !cut || s.Disabled || errors.Join(err, errs, errd) != nil || in != from {
		return e.suggestEntry()
	}
	if file, err = filepath.Rel(in, file); err != nil {
		return e.suggestEntry()
	}
	if s.URL != "" {
		return as + "once " + project.ConfigFile + " declares it with type = \"http\", after 'hallmark pin " +
			host.QuoteArguments([]string{s.Name}) + "'"
	}
	return as + "as 'hallmark pin " +
		host.QuoteArguments([]string{s.Name, "--config", filepath.ToSlash(file), "--write-config"}) + "' does"
}

// judgeUnguarded refuses an entry of a project's file that starts a server without Hallmark, save
// one that hallmark.toml declares as it is, for all reviewers to see, as unlocked.
func (e *scannedEntry) judgeUnguarded() {
	s := e.server
	c := e.claim
	c.Scheme, c.Authority, c.Text = evidence.Launch, evidence.Lock, "hallmark run"
	starts := strings.TrimSpace(strings.Join(launcher.Redact(slices.Concat([]string{s.Command}, s.Args,
		[]string{s.URL})), " "))
	starts = cmp.Or(starts, "what its client takes from it")
	found := evidence.Fact(c, starts)
	switch v, err := e.openProject(e.project); {
	case err == nil && !wasApproved(v.w, s.Name) && unlockedAs(v.w.Config, s):
		found = evidence.Waive(c, found.Observed, e.describeConfig()+" declares it with unlocked = true")
	default:
		found.Reason = "bypasses Hallmark, which locks the servers of this project"
		found.Fix = e.suggestAdoption()
	}
	if s.Disabled {
		found.Reason += "; it is disabled, which one word of the file changes"
	}
	found.Rule = launcher.RuleAround
	e.report = append(e.report, found)
}

// describeConfig names the hallmark.toml of the entry's project. For one below the scanned project it
// adds that hallmark check does not look at it.
func (e *scannedEntry) describeConfig() string {
	if host.SameFile(e.project, e.o.Dir) || e.projectOf("", e.o.Dir) == "" {
		return project.ConfigFile
	}
	return host.RelativeTo(e.o.Dir, filepath.Join(e.project, project.ConfigFile)) +
		", a project of its own that 'hallmark check' does not look at from here,"
}

// unlockedAs reports whether c declares exactly the server that an entry starts, as unlocked.
func unlockedAs(c *project.Config, s clients.Server) bool {
	declared, ok := c.Servers[s.Name]
	switch {
	case !ok || !declared.Unlocked || s.Problem != "" || s.WorkingDir() != "":
		return false
	case declared.Command != s.Command || !slices.Equal(declared.Arguments, s.Args) || declared.URL != s.URL:
		return false
	case s.URL != "":
		return len(s.Headers) == 0 && len(s.Variables) == 0 && len(s.Unknown()) == 0
	}
	return len(s.Unknown()) == 0 && !slices.ContainsFunc(s.Variables,
		func(name string) bool { return !allowedVariable(declared, name) })
}

// startDir returns the directory in which the client starts the entry's server, "" if it is unknown.
func (e *scannedEntry) startDir() string {
	switch {
	case e.server.Scope != "":
		return e.server.Scope
	case e.file.User:
		return ""
	case e.file.Root != "":
		return e.file.Root
	}
	return e.project
}

// openProject reads the project in dir as hallmark run does, once in a scan, and writes nothing.
func (sc *scan) openProject(dir string) (openedProject, error) {
	v, known := sc.opened[dir]
	if !known {
		if v.w, v.err = sc.readProject(dir); v.err == nil {
			v.logs = v.w.Logs(trail.Options{})
		}
		sc.opened[dir] = v
	}
	return v, v.err
}

// readProject reads a project's files and this machine's approvals.
func (sc *scan) readProject(dir string) (*workspace.Workspace, error) {
	w, err := workspace.Peek(sc.h, dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(w.Path(project.ConfigFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no " + project.ConfigFile + " in " + w.Dir)
	}
	return w, w.ReadFiles()
}

// wasApproved reports whether this machine approved an entry of that name. If the lock has no such
// entry, it was removed since.
func wasApproved(w *workspace.Workspace, name string) bool {
	_, ok := w.Approvals.Servers[name]
	return ok
}
