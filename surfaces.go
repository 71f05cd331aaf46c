package hallmark

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
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
	// Judged is told the verdict before the server starts; may be nil.
	Judged func(policy.Verdict)
}

// CaptureSurface starts a server as [Run] does, or the command of o, and gives what it shows
// each kind of client. Nothing is written, but for packages that had to be installed.
func CaptureSurface(ctx context.Context, h *Host, dir, name string, o SurfaceOptions) (*surface.Surface, error) {
	l := &launch{o: RunOptions{TrustLock: o.TrustLock, LogKey: o.LogKey}}
	if len(o.Command) > 0 {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		l.w = &workspace{host: h, dir: abs, config: &project.Config{}, lock: &project.Lock{}, approvals: project.NewApprovals(abs), release: func() {}}
		l.named = true
		l.declared = project.Server{Name: filepath.Base(o.Command[0]), Type: "stdio", Command: o.Command[0], Arguments: o.Command[1:], Variables: o.Variables}
	} else {
		w, done, err := openWorkspace(ctx, h, dir, false)
		if err != nil {
			return nil, err
		}
		defer done()
		w.logOptions.Key = o.LogKey
		if l.declared, err = w.server(name); err != nil {
			return nil, err
		}
		if entry, ok := w.lock.Server(name); ok {
			l.entry = &entry
		}
		l.w = w
	}
	return l.capture(ctx, o.Capture, o.Judged)
}

// LockedSurface is the surface of a server as it lies beside the lock, verified against it.
func LockedSurface(ctx context.Context, h *Host, dir, name string) (*surface.Surface, error) {
	w, done, err := openWorkspace(ctx, h, dir, false)
	if err != nil {
		return nil, err
	}
	defer done()
	entry, ok := w.lock.Server(name)
	if !ok {
		if _, declared := w.config.Servers[name]; !declared {
			return nil, project.NoSuch("server", project.LockFile, name, w.lock.Servers())
		}
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "run 'hallmark pin' for this server first", errors.New("is not locked"))
	}
	stored, err := w.readStored(name, entry)
	if err != nil {
		return nil, err
	}
	if err := policy.Judge(policy.Check, policy.Settings{}, stored.report).Err(); err != nil {
		return nil, err
	}
	return stored.surface, nil
}

// ReadSurface reads a file that holds a surface.
func ReadSurface(file string) (*surface.Surface, error) {
	data, err := readNamed(file, maxSurface)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", file), "", errors.New("there is no such file"))
	}
	if err != nil {
		return nil, err
	}
	s, err := surface.Read(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", file), "a surface is what 'hallmark surface capture' prints", err)
	}
	return s, nil
}
