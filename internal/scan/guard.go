package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// ownHallmark is what an entry that starts Hallmark claims of its command.
const ownHallmark = "this machine's hallmark"

// isMoved reports whether s, about which there is a verdict, would be guarded if it named this machine's hallmark.
func isMoved(s Server) bool {
	refused := 0
	for _, f := range s.Findings {
		if f.Class == evidence.OK {
			continue
		}
		if refused++; f.Evidence.Claim.Text != ownHallmark {
			return false
		}
	}
	return s.Cover == Guarded && refused > 0
}

// judgeHallmark judges an entry whose command is called hallmark.
func (e *scannedEntry) judgeHallmark(ctx context.Context) {
	c := e.claim
	c.Scheme, c.Authority, c.Text = evidence.Launch, evidence.Machine, ownHallmark
	found := evidence.Fact(c, c.Text)
	if err := e.program.check("hallmark", e.server.Command, e.startDir(), e.project, e.namedProject()); err != nil {
		found = evidence.Fact(c, launcher.Redact([]string{e.server.Command})[0])
		found.Reason, found.Fix = err.Error(), e.suggestEntry()
	}
	found.Rule = launcher.RuleUnguarded
	e.report = append(e.report, found)
	if len(e.server.Args) == 0 {
		e.refuse("hallmark alone is no server")
		return
	}
	switch sub := e.server.Args[0]; sub {
	case "run":
		e.judgeRun(ctx, e.server.Args[1:])
	case "hashfile":
		e.judgeEditor(e.server.Args[1:])
	default:
		e.refuse(fmt.Sprintf("hallmark %s is no server", clients.QuoteText(sub)))
	}
}

// judgeRun judges an entry that starts hallmark run with args.
func (e *scannedEntry) judgeRun(ctx context.Context, args []string) {
	line, problems := clients.ReadRunLine(args, !e.file.User)
	for _, p := range problems {
		e.refuse(p)
	}
	e.judgePlaces(line)
	for _, key := range e.server.Unknown() {
		e.refuse(fmt.Sprintf("has a member %s, which may change what is started", clients.QuoteText(key)))
	}
	if dir := e.startDir(); dir != "" && line.Log != "" && !filepath.IsAbs(line.Log) {
		if _, err := durable.Inside(filepath.Join(dir, line.Log), dir); err != nil {
			e.refuse("has " + clients.QuoteText(line.Log) + " written, which hallmark run refuses: " +
				errors.Unwrap(err).Error())
		}
	}
	v, err := e.openProjectOfRun(line)
	if err != nil {
		e.refuse(err.Error())
		e.judgeVariables(project.Server{})
		return
	}
	w := v.w
	declared, undeclared := w.Server(line.Name)
	entry, locked := w.Lock.Server(line.Name)
	e.runs = &Runs{Project: w.Dir, Name: line.Name, Ref: entry.Ref}
	e.judgeVariables(declared)
	if len(line.Extra) > 0 && declared.Extra != "any" && !w.Approvals.Servers[line.Name].Approved(line.Extra) {
		e.refuse("gives the server arguments that nobody approved: " +
			clients.QuoteText(strings.Join(launcher.Redact(line.Extra), " ")))
	}
	switch {
	case line.Name == "": // refused above
	case undeclared != nil:
		e.addProjectEvidence(evidence.Miss(e.owedClaim(), evidence.Project, clients.QuoteText(line.Name)+
			" is no server of "+project.ConfigFile+" in "+w.Dir, ""))
	case !locked:
		e.judgeUnlocked(w, line.Name, declared)
	default:
		e.judgeLocked(ctx, v, line.Name, declared, entry)
	}
}

// openProjectOfRun opens the project for which the entry runs hallmark. Its error says why the entry is refused.
func (e *scannedEntry) openProjectOfRun(line clients.RunLine) (openedProject, error) {
	dir, err := e.projectOfRun(line.Project)
	if err != nil {
		return openedProject{}, err
	}
	e.runs = &Runs{Project: dir, Name: line.Name}
	v, err := e.openProject(dir)
	if err == nil {
		return v, nil
	}
	if !slices.Contains(e.found, dir) {
		e.found = append(e.found, dir) // what was accepted in it is missed, once
	}
	if errors.Is(err, fs.ErrNotExist) {
		return v, errors.New("its project " + clients.QuoteText(dir) + " is gone")
	}
	why, _, _ := strings.Cut("its project cannot be read: "+err.Error(), "\n")
	if told := (*evidence.Error)(nil); errors.As(err, &told) && told.Hint != "" {
		why += "; " + told.Hint
	}
	return v, errors.New(why)
}

// owedClaim is the claim that the project's lock owes about the server that the entry runs.
func (e *scannedEntry) owedClaim() evidence.Claim {
	c := e.claim
	c.Scheme, c.Authority = evidence.Launch, evidence.Lock
	return c
}

// judgeUnlocked judges an entry that runs a server that is declared, and not locked.
func (e *scannedEntry) judgeUnlocked(w *workspace.Workspace, name string, declared project.Server) {
	switch why := declared.WhyUnlocked(); {
	case wasApproved(w, name):
		e.addProjectEvidence(evidence.Miss(e.owedClaim(), evidence.Machine, clients.QuoteText(name)+
			" was approved on this machine, and its entry of hallmark.lock is gone", "hallmark pin "+name))
	case why != "":
		e.addProjectEvidence(evidence.Waive(e.owedClaim(), evidence.Observed{}, "is not locked: "+why))
	default:
		e.addProjectEvidence(evidence.Miss(e.owedClaim(), evidence.Project, "hallmark.lock has no entry for "+
			clients.QuoteText(name), "hallmark pin "+name))
	}
}

// judgeLocked judges an entry that runs a locked server, by what is locked of it and by what its guard noted.
func (e *scannedEntry) judgeLocked(ctx context.Context, v openedProject, name string, declared project.Server,
	entry project.ServerLock) {
	found, err := heldEvidence(ctx, v, name, declared, entry)
	if err != nil {
		e.refuse("what is locked of it cannot be read: " + err.Error())
		return
	}
	approved := false
	for _, f := range found {
		approved = approved || f.Scheme == evidence.Approval && f.Outcome == evidence.Match
		e.addProjectEvidence(f)
	}
	if e.cover = Unapproved; approved {
		e.cover = Guarded
	}
	if note, err := v.w.DriftNote(name, entry); err == nil && note != nil && len(note.Items) > 0 {
		e.withheld = &Withheld{note.At, slices.Sorted(maps.Keys(note.Items))}
	}
}

// judgePlaces refuses an entry that names other directories for approvals and the store than those in
// which this command looked: what is there was not looked at.
func (e *scannedEntry) judgePlaces(line clients.RunLine) {
	state, cache := e.h.Places.State, e.h.Places.Cache
	switch {
	case cmp.Or(line.State, state) != state:
		e.refuse("keeps its approvals in " + clients.QuoteText(line.State) + ", and this command looked in " + state +
			placesHint)
	case cmp.Or(line.Cache, cache) != cache:
		e.refuse("keeps its packages in " + clients.QuoteText(line.Cache) + ", and this command looked in " + cache +
			placesHint)
	}
}

const placesHint = "; run it with the HALLMARK_HOME or XDG variables that were set when the entry was written"

// heldEvidence returns the evidence that hallmark run gathers about a server's lock entry before it
// looks for its program: how the server is declared, this machine's approval, the files beside the
// lock, the proof as far as this machine can verify it offline, and what is owed and missing.
func heldEvidence(ctx context.Context, v openedProject, name string, declared project.Server,
	entry project.ServerLock) (evidence.Report, error) {
	w := v.w
	launch := workspace.LaunchEvidence(w, declared, &entry)
	if launch.Outcome != evidence.Match {
		launch.Reason = clients.QuoteText(name) + " is declared otherwise than it was locked"
	}
	files, err := workspace.ReadStored(w, name, entry)
	if err != nil {
		return nil, err
	}
	proof, err := v.logs.LockedProof(entry.Record)
	if err != nil {
		return nil, err
	}
	demands, err := w.Demands(v.logs)
	if err != nil {
		return nil, err
	}
	approval := workspace.ApprovalEvidence(w, name, entry, false)
	found := append(evidence.Report{launch, approval}, files.Report...)
	if approval.Outcome != evidence.Match {
		origin, err := workspace.OriginEvidence(ctx, w, name, entry)
		if err != nil {
			return nil, err
		}
		found = append(found, origin...)
	}
	return demands.Server(name).Settle(append(found, proof...)), nil
}

// addProjectEvidence adds evidence about the project, with the place of the entry.
func (e *scannedEntry) addProjectEvidence(f evidence.Evidence) {
	f.Place, f.Rule = e.claim.Place, launcher.RuleUnguarded
	e.report = append(e.report, f)
}

// projectOfRun returns the directory of the project for which the entry runs hallmark: the project
// of its file, or in the user's own files any project that it names.
func (e *scannedEntry) projectOfRun(named string) (string, error) {
	base := e.startDir()
	if cwd := e.server.WorkingDir(); cwd != "" {
		dir, err := resolveDir(base, cwd)
		if err != nil {
			return "", fmt.Errorf("its working directory %s %w", clients.QuoteText(cwd), err)
		}
		if base != "" && !host.SameFile(dir, base) {
			return "", fmt.Errorf("its working directory is %s, and not that of the project", clients.QuoteText(cwd))
		}
		if base == "" && !host.SameFile(dir, named) {
			return "", fmt.Errorf("its working directory is %s, and not the project", clients.QuoteText(cwd))
		}
		base = dir
	}
	dir := base
	if named != "" {
		var err error
		if dir, err = resolveDir(base, named); err != nil {
			return "", fmt.Errorf("--project %s %w", clients.QuoteText(named), err)
		}
	}
	switch {
	case dir == "":
		return "", errors.New("names no project: it runs wherever its client starts it")
	case !e.file.User && e.project == "" && !filepath.IsAbs(named): // as 'pin --config' writes into a file elsewhere
		return "", errors.New("stands in no project of Hallmark's")
	case !e.file.User && e.project != "" && !host.SameFile(dir, e.project):
		return "", fmt.Errorf("runs in %s, and not in the project of this file", clients.QuoteText(dir))
	}
	return dir, nil
}

// resolveDir resolves a directory that an entry names, from base. It fails if the client fills in a
// part of it.
func resolveDir(base, name string) (string, error) {
	if name == "${workspaceFolder}" && base != "" {
		return base, nil
	}
	switch {
	case clients.Placeholder().MatchString(name) || strings.HasPrefix(name, "~") || strings.ContainsAny(name, "$?*"):
		return "", errors.New("is filled in by the client")
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	case base == "":
		return "", errors.New("is seen from wherever the client starts it")
	}
	return filepath.Join(base, name), nil
}

// namedProject returns the project of an entry of hallmark run, "" if there is none.
func (e *scannedEntry) namedProject() string {
	if len(e.server.Args) == 0 || e.server.Args[0] != "run" {
		return ""
	}
	line, _ := clients.ReadRunLine(e.server.Args[1:], false)
	dir, err := e.projectOfRun(line.Project)
	if err != nil {
		return ""
	}
	return dir
}

// judgeVariables refuses variables that the server's declaration does not name, and those that change
// what hallmark itself is or trusts, even if it names them.
func (e *scannedEntry) judgeVariables(declared project.Server) {
	for _, name := range e.server.Variables {
		if !allowedVariable(declared, name) {
			e.refuse(fmt.Sprintf("sets %s, which may change what is started", clients.QuoteText(name)))
		}
	}
}

// allowedVariable reports whether an entry may set a variable.
func allowedVariable(declared project.Server, name string) bool {
	return (slices.Contains(declared.Variables, name) || slices.Contains(declared.HeaderVariables(), name)) &&
		!clients.ChangesHallmark(name)
}
