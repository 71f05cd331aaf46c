package hallmark

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// hallmark judges an entry whose command is called hallmark.
func (e *scannedEntry) hallmark() {
	c := e.claim
	c.Scheme, c.Authority, c.Text = evidence.Launch, evidence.Machine, "this machine's hallmark"
	found := evidence.Fact(c, c.Text)
	if err := e.program.finds("hallmark", e.server.Command, e.dir(), e.project, e.named()); err != nil {
		found = evidence.Fact(c, launcher.Redact([]string{e.server.Command})[0])
		found.Reason, found.Fix = err.Error(), e.fix()
	}
	found.Rule = launcher.RuleUnguarded
	e.report = append(e.report, found)
	if len(e.server.Args) == 0 {
		e.refuse("hallmark alone is no server")
		return
	}
	switch sub := e.server.Args[0]; sub {
	case "run":
		e.runs(e.server.Args[1:])
	case "hashfile":
		e.edits(e.server.Args[1:])
	default:
		e.refuse(fmt.Sprintf("hallmark %s is no server", quote(sub)))
	}
}

// runs judges an entry that starts hallmark run with args.
func (e *scannedEntry) runs(args []string) {
	line, problems := readRun(args, !e.file.User)
	for _, p := range problems {
		e.refuse(p)
	}
	for _, key := range e.server.Unknown() {
		e.refuse(fmt.Sprintf("has a member %s, which may change what is started", quote(key)))
	}
	if dir := e.dir(); dir != "" && line.log != "" && !filepath.IsAbs(line.log) {
		if _, err := beneath.Inside(filepath.Join(dir, line.log), dir); err != nil {
			e.refuse("has " + quote(line.log) + " written, which hallmark run refuses: " + errors.Unwrap(err).Error())
		}
	}
	dir, err := e.runsIn(line.project)
	if err != nil {
		e.refuse(err.Error())
		e.variables(project.Server{})
		return
	}
	w, err := e.view(dir)
	if err != nil {
		e.refuse("its project cannot be read: " + err.Error())
		e.variables(project.Server{})
		return
	}
	declared, err := w.server(line.name)
	entry, locked := w.lock.Server(line.name)
	e.variables(declared)
	if len(line.extra) > 0 && declared.Extra != "any" && !w.approvals.Servers[line.name].Approved(line.extra) {
		e.refuse("gives the server arguments that nobody approved: " + quote(strings.Join(launcher.Redact(line.extra), " ")))
	}
	owed := e.claim
	owed.Scheme, owed.Authority = evidence.Launch, evidence.Lock
	switch {
	case line.name == "":
		return // said already
	case err != nil:
		e.own(evidence.Miss(owed, evidence.Project, quote(line.name)+" is no server of "+project.ConfigFile+" in "+w.dir, ""))
		return
	case !locked && w.remembers(line.name):
		e.own(evidence.Miss(owed, evidence.Machine, quote(line.name)+" was approved on this machine, and its entry of hallmark.lock is gone", "hallmark pin "+line.name))
		return
	case !locked && declared.WhyUnlocked() != "":
		e.own(evidence.Waive(owed, evidence.Observed{}, "is not locked: "+declared.WhyUnlocked()))
		return
	case !locked:
		e.own(evidence.Miss(owed, evidence.Project, "hallmark.lock has no entry for "+quote(line.name), "hallmark pin "+line.name))
		return
	}
	found, err := w.held(line.name, declared, entry)
	if err != nil {
		e.refuse("what is locked of it cannot be read: " + err.Error())
		return
	}
	approved := false
	for _, f := range found {
		approved = approved || f.Scheme == evidence.Approval && f.Outcome == evidence.Match
		e.own(f)
	}
	if e.cover = Unapproved; approved {
		e.cover = Guarded
	}
}

// held is what hallmark run makes of the entry of a server before it looks for its program: how
// it is declared, this machine's approval, the files beside the lock, the proof as this machine
// can verify it without asking anybody, and whatever of these is owed and is not there.
func (w *workspace) held(name string, declared project.Server, entry project.ServerLock) (evidence.Report, error) {
	launch := w.launchEvidence(declared, &entry)
	if launch.Outcome != evidence.Match {
		launch.Reason = quote(name) + " is declared otherwise than it was locked"
	}
	files, err := w.readStored(name, entry)
	if err != nil {
		return nil, err
	}
	proof, err := w.lockedProof(entry.Record)
	if err != nil {
		return nil, err
	}
	books, err := w.books()
	if err != nil {
		return nil, err
	}
	found := append(evidence.Report{launch, w.approvalEvidence(name, entry, false)}, files.report...)
	return books.Server(name).Settle(append(found, proof...)), nil
}

// own adds evidence about the project, pointing at the entry that it is about.
func (e *scannedEntry) own(f evidence.Evidence) {
	f.Place, f.Rule = e.claim.Place, launcher.RuleUnguarded
	e.report = append(e.report, f)
}

// runsIn is the project in which the entry has hallmark run: that of the file, or in a file
// of the user's any that it names.
func (e *scannedEntry) runsIn(named string) (string, error) {
	base := e.dir()
	if cwd := e.server.WorkingDir(); cwd != "" {
		dir, err := seenFrom(base, cwd)
		if err != nil {
			return "", fmt.Errorf("its working directory %s %w", quote(cwd), err)
		}
		if base != "" && !sameFile(dir, base) {
			return "", fmt.Errorf("its working directory is %s, and not that of the project", quote(cwd))
		}
		if base == "" && !sameFile(dir, named) {
			return "", fmt.Errorf("its working directory is %s, and not the project", quote(cwd))
		}
		base = dir
	}
	dir := base
	if named != "" {
		var err error
		if dir, err = seenFrom(base, named); err != nil {
			return "", fmt.Errorf("--project %s %w", quote(named), err)
		}
	}
	switch {
	case dir == "":
		return "", errors.New("names no project: it runs wherever its client starts it")
	case !e.file.User && e.project == "":
		return "", errors.New("stands in no project of Hallmark's")
	case !e.file.User && !sameFile(dir, e.project):
		return "", fmt.Errorf("runs in %s, and not in the project of this file", quote(dir))
	}
	return dir, nil
}

// below is a directory that an entry names, seen from base.
func seenFrom(base, name string) (string, error) {
	if name == "${workspaceFolder}" && base != "" {
		return base, nil
	}
	switch {
	case filledIn.MatchString(name) || strings.HasPrefix(name, "~") || strings.ContainsAny(name, "$?*"):
		return "", errors.New("is filled in by the client")
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	case base == "":
		return "", errors.New("is seen from wherever the client starts it")
	}
	return filepath.Join(base, name), nil
}

// named is the project that an entry of hallmark run names, "" if there is none.
func (e *scannedEntry) named() string {
	if len(e.server.Args) == 0 || e.server.Args[0] != "run" {
		return ""
	}
	line, _ := readRun(e.server.Args[1:], false)
	dir, err := e.runsIn(line.project)
	if err != nil {
		return ""
	}
	return dir
}

// variables refuses those that the declaration of the server does not name, and those that
// change what hallmark itself is or trusts, whoever names them.
func (e *scannedEntry) variables(declared project.Server) {
	for _, name := range e.server.Variables {
		if !allowedVariable(declared, name) {
			e.refuse(fmt.Sprintf("sets %s, which may change what is started", quote(name)))
		}
	}
}

func allowedVariable(declared project.Server, name string) bool {
	return slices.Contains(declared.Variables, name) && !steers(name)
}

// steers reports whether a variable changes where hallmark finds programs, keeps its state,
// or whom it asks.
func steers(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"HALLMARK", "XDG_", "GO", "SSL_", "NPM_CONFIG", "PIP_", "UV_", "GIT_", "DOCKER_", "CONTAINER", "PODMAN"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return launcher.ChangesLoading(name) || strings.HasSuffix(upper, "_PROXY") || slices.Contains([]string{"PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA",
		"LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "COMSPEC", "TMPDIR", "TMP", "TEMP", "SHELL"}, upper)
}
