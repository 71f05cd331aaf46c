package check

import (
	"context"
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
)

// FindChanged notes of each guarded server why 'hallmark run' refuses it: the files of one that is a program of this
// machine differ from the lock, or what starts it is not what was approved. What the store has of packages is not
// looked at: that is hashed, and made anew, when they start. A project that cannot be read is left to the scan, which
// says so.
func FindChanged(ctx context.Context, h *host.Host, servers []scan.Server) error {
	projects := map[string]*workspace.Workspace{}
	for i, s := range servers {
		if s.Runs == nil || s.State != scan.StateGuarded {
			continue
		}
		w, ok := projects[s.Runs.Project]
		if !ok {
			opened, done, err := workspace.Open(ctx, h, s.Runs.Project, false)
			if err != nil {
				continue
			}
			defer done()
			w, projects[s.Runs.Project] = opened, opened
		}
		v, err := judgeFiles(ctx, w, s.Runs.Name)
		if err != nil {
			return err
		}
		refused := v.Refused()
		if len(refused) == 0 {
			continue
		}
		entry, _ := w.Lock.Server(s.Runs.Name)
		command := []string{"hallmark", "pin", s.Runs.Name}
		switch {
		case entry.Launch.Facet != "": // which brings its files along
			command = []string{"hallmark", "install"}
		case refused[0].Evidence.Authority == evidence.Machine: // an interpreter, which this machine approved
			command[1] = "review"
		}
		servers[i].Changed = refused[0].Evidence.Headline()
		servers[i].Renew = host.QuoteArguments(append(command, "--project", s.Runs.Project))
	}
	return nil
}

// judgeFiles judges what this machine has of a locked server: the program, its files, and what starts it.
func judgeFiles(ctx context.Context, w *workspace.Workspace, name string) (policy.Verdict, error) {
	entry, locked := w.Lock.Server(name)
	if !locked {
		return policy.Verdict{}, nil
	}
	if !entry.Source.Local() {
		starter := kind.StarterEvidence(w, name, entry)
		return policy.Judge(policy.Check, policy.Settings{}, starter.About(w.ServerEntry(name))), nil
	}
	report, err := checkServer(ctx, w, w.Logs(trail.Options{}), name, Options{Offline: true})
	report = slices.DeleteFunc(report, isDrift) // of which a note says more
	return policy.Judge(policy.Check, policy.Settings{}, report.About(w.ServerEntry(name))), err
}

// VerifyFiles returns why 'hallmark run' refuses those of the servers called names that are programs of this machine
// and whose files differ from the lock; nil if none does.
func VerifyFiles(ctx context.Context, h *host.Host, dir string, names ...string) error {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return err
	}
	defer done()
	var all []error
	for _, name := range names {
		v, err := judgeFiles(ctx, w, name)
		if err != nil {
			return err
		}
		all = append(all, v.Err())
	}
	return errors.Join(all...)
}
