package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// maxStarted is how many command lines are named that clients run.
const maxStarted = 100

// checkUnmanaged looks for what clients read or run in the project, and what no lock covers. Only if strict is set it
// is evidence, with the command lines that clients run: else skills, agents and commands are counted, for people.
func checkUnmanaged(ctx context.Context, placed *installed.LockedFacets,
	strict bool) (report evidence.Report, unseen []string,
	err error) {
	w := placed.Workspace
	found, err := placed.Unmanaged(ctx, w.PlaceDir())
	if err != nil {
		return nil, nil, err
	}
	if n := len(found.Found) + found.More; !strict && n > 0 {
		return nil, []string{fmt.Sprintf("skills, agents and commands that clients read and no locked facet put "+
			"there: %d (--strict names and refuses them)", n)}, nil
	}
	if !strict {
		return nil, nil, nil
	}
	for _, u := range found.Found {
		report = append(report, u.Evidence(w))
	}
	report = append(report, found.Rest()...)
	if w.Home != "" {
		return report, nil, nil // what the user's own settings start is the user's
	}
	started, err := startedEvidence(ctx, w, found.Nested)
	return append(report, started...), nil, err
}

// startedEvidence is evidence of each command line that a client runs itself in the project, and of each file that may
// hold some and is not read.
func startedEvidence(ctx context.Context, w *workspace.Workspace, nested []string) (report evidence.Report, err error) {
	files, unread, err := clients.FindBelow(ctx, w.Dir)
	if err != nil {
		return nil, err
	}
	others := func(name string) bool {
		return slices.ContainsFunc(nested, func(dir string) bool { return host.IsBelow(dir, name) }) ||
			installed.IsWhereClientsLook(host.RelativeTo(w.Dir, name)) ||
			slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "node_modules")
	}
	list := startedList{said: map[string]bool{}}
	for _, u := range unread {
		if at := host.RelativeTo(w.Dir, u.Path); (u.Program || !u.Empty) && !others(u.Path) {
			list.add(at, u.Why, evidence.Place{File: at})
		}
	}
	for _, f := range files {
		if f.RunsCommands() && !others(f.Path) {
			list.addFile(f, host.RelativeTo(w.Dir, f.Path))
		}
	}
	if list.more > 0 {
		list.report = append(list.report, startedFinding(fmt.Sprintf("%d more", list.more),
			"are command lines that clients run, and no lock covers them", evidence.Place{}))
	}
	return list.report, nil
}

// startedList is evidence of what clients start, of which the first maxStarted rows are kept.
type startedList struct {
	report evidence.Report
	more   int             // rows that were not kept
	said   map[string]bool // several clients may read one line
}

// add adds a row to the list, or counts it if the list is full.
func (l *startedList) add(subject, reason string, place evidence.Place) {
	if len(l.report) == maxStarted {
		l.more++
		return
	}
	l.report = append(l.report, startedFinding(subject, reason, place))
}

// addFile adds the command lines of a client's file, which is shown as at, or that it cannot be read.
func (l *startedList) addFile(f clients.File, at string) {
	data, err := clients.Read(f)
	var commands []clients.Command
	if err == nil {
		commands, err = clients.Commands(f, data)
	}
	if err != nil {
		l.add(at, "cannot be read, so that what its client runs is not known: "+cutPath(err), evidence.Place{File: at})
		return
	}
	for _, c := range commands {
		line := evidence.Place{File: at, Line: c.Line, Column: c.Column}
		text := strings.Join(launcher.Redact(strings.Fields(c.Text)), " ")
		key := line.Show() + " " + c.Key + " " + text
		if l.said[key] {
			continue
		}
		l.said[key] = true
		subject := at
		if c.Key != "" {
			subject += ": " + c.Key
		}
		l.add(subject, c.Client+" runs "+clients.QuoteText(text)+", and no lock covers it", line)
	}
}

// startedFinding is evidence of something that a client runs. No facet can hold it.
func startedFinding(subject, reason string, place evidence.Place) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: subject, Scheme: evidence.Unhashed, Authority: evidence.Lock, Where: project.LockFile, Place: place,
	}, "")
	e.Rule, e.Reason = launcher.RuleProgram, reason
	e.Fix = "no facet can hold what a client runs itself: remove it, or keep it in your own settings, outside of the " +
		"project"
	return e
}

// cutPath is the text of an error about a file whose name stands beside it.
func cutPath(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
