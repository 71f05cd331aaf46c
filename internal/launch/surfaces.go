package launch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// SurfaceOptions say how a server is started to see its surface.
type SurfaceOptions struct {
	Command   []string // to start, in place of a server of hallmark.toml
	Variables []string // names of those that Command gets from the environment
	TrustLock bool     // accept what the lock holds without this machine's approval
	Capture   time.Duration
	LogKey    string
	// Judged receives the verdict before the server starts; may be nil.
	Judged func(policy.Verdict)
}

// CaptureSurface starts a server as [Run] does, or the command of o, and returns what it shows to
// each kind of client. It writes nothing except packages that had to be installed.
func CaptureSurface(ctx context.Context, h *host.Host, dir, name string, o SurfaceOptions) (*program.Shown, error) {
	l := &Launch{Options: RunOptions{TrustLock: o.TrustLock, LogKey: o.LogKey}}
	if len(o.Command) > 0 {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		l.Workspace = &workspace.Workspace{Host: h, Dir: abs, Config: &project.Config{}, Lock: &project.Lock{},
			Approvals: project.NewApprovals(abs), Release: func() {}}
		l.Logs, l.fromCommandLine = l.Workspace.Logs(trail.Options{}), true
		l.Declared = project.Server{Name: filepath.Base(o.Command[0]), Type: "stdio", Command: o.Command[0],
			Arguments: o.Command[1:], Variables: o.Variables}
	} else {
		w, done, err := workspace.Open(ctx, h, dir, false)
		if err != nil {
			return nil, err
		}
		defer done()
		if l.Declared, err = w.Server(name); err != nil {
			return nil, err
		}
		if entry, ok := w.Lock.Server(name); ok {
			l.Entry = &entry
		}
		l.Workspace, l.Logs = w, w.Logs(trail.Options{Key: o.LogKey})
	}
	return l.Capture(ctx, o.Capture, o.Judged)
}

// LockedSurface returns the surface of a server in the file beside the lock, verified against the
// lock.
func LockedSurface(ctx context.Context, h *host.Host, dir, name string) (*surface.Surface, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return nil, err
	}
	defer done()
	entry, ok := w.Lock.Server(name)
	if !ok {
		if _, declared := w.Config.Servers[name]; !declared {
			return nil, project.NoSuch("server", project.LockFile, name, w.Lock.Servers())
		}
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
			"run 'hallmark pin "+name+"' first", errors.New("is not locked"))
	}
	stored, err := workspace.ReadStored(w, name, entry)
	if err != nil {
		return nil, err
	}
	report := stored.Report.About(w.ServerEntry(name))
	if err := policy.Judge(policy.Check, policy.Settings{}, report).Err(); err != nil {
		return nil, err
	}
	return stored.Surface, nil
}

// ReadSurface reads a surface from a file.
func ReadSurface(file string) (*surface.Surface, error) {
	data, err := host.ReadNamed(file, workspace.MaxSurface)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", file), "", errors.New("there is no such file"))
	}
	if err != nil {
		return nil, err
	}
	s, err := surface.Read(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", file),
			"a surface is what 'hallmark surface capture' prints", err)
	}
	return s, nil
}
