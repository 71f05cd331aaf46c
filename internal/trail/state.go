package trail

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// logsFile returns the path of the file with the keys and newest checkpoints of logs.
func logsFile(h *host.Host) string { return filepath.Join(h.Places.State, "logs.json") }

// KnownLogs reads what this machine knows of logs. It needs no lock, because the file is always
// replaced as a whole.
func KnownLogs(h *host.Host) (*machine.Logs, error) {
	data, err := host.ReadFile(logsFile(h), machine.MaxLogs)
	if err != nil {
		return nil, err
	}
	l, err := machine.ParseLogs(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, logsFile(h),
			"restore it from a backup; without it this machine would not notice a log that was rewritten", err)
	}
	return l, nil
}

// ChangeLogs calls change with what this machine knows of logs, under a lock, and writes the file
// if change returns true.
func ChangeLogs(ctx context.Context, h *host.Host, change func(*machine.Logs) (write bool)) error {
	if err := os.MkdirAll(h.Places.State, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(ctx, filepath.Join(h.Places.State, "logs.lock"), "the checkpoints of logs")
	if err != nil {
		return err
	}
	defer unlock()
	logs, err := KnownLogs(h)
	if err != nil {
		return err
	}
	if !change(logs) {
		return nil
	}
	data, err := logs.Encode()
	if err != nil {
		return err
	}
	return durable.WriteFile(logsFile(h), data, 0o600)
}

// keepCheckpoint stores s, which was compared with kept, if it is newer, and the key of the
// registry's log. It reports false if another process has stored a newer checkpoint than kept, so
// that s must be compared again.
func (l *Log) keepCheckpoint(ctx context.Context, kept, s ledger.Signed) (done bool, err error) {
	err = ChangeLogs(ctx, l.Host, func(logs *machine.Logs) bool {
		now, _ := logs.Newest(l.Key)
		if done = bytes.Equal(now.Note, kept.Note); !done {
			return false
		}
		_, known := logs.Registries[l.Name]
		newer := kept.Note == nil || s.Size > kept.Size
		if !newer && known {
			return false
		}
		note := kept.Note
		if newer {
			note = s.Note
		}
		logs.Rely(l.Name, l.Key, l.Host.Now().UTC(), string(note))
		return true
	})
	if host.IsUnwritable(err) {
		l.Host.Logger.Warn("the newest checkpoint cannot be kept, so that a log which is set back later goes unnoticed",
			"error", err)
		return true, nil
	}
	return done, err
}

// Forget removes the key of a registry's log from this machine, so that the next use asks for it
// again. It keeps the checkpoints: a log with the same key must still agree with what it showed
// before.
func Forget(ctx context.Context, h *host.Host, base string) (key string, err error) {
	name := project.Registry{URL: base}.Name()
	var known []string
	err = ChangeLogs(ctx, h, func(logs *machine.Logs) bool {
		for name := range logs.Registries {
			known = append(known, "https://"+name) // as the command takes them
		}
		key = logs.Forget(name)
		return key != ""
	})
	if err == nil && key == "" {
		err = evidence.Errorf(evidence.Validation, name,
			host.ForgetHint(known, func(url string) string { return "hallmark log forget " + url }),
			errors.New("this machine knows no log of that registry"))
	}
	return key, err
}
