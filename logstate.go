package hallmark

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// logsFile is where keys and newest checkpoints of logs are kept.
func (h *Host) logsFile() string { return filepath.Join(h.Places.State, "logs.json") }

// logs reads what this machine knows of logs. The file is replaced as a whole, so that
// reading needs no lock.
func (h *Host) logs() (*project.Logs, error) {
	data, err := readFile(h.logsFile(), project.MaxLogs)
	if err != nil {
		return nil, err
	}
	l, err := project.ParseLogs(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, h.logsFile(),
			"restore it from a backup; without it this machine would not notice a log that was rewritten", err)
	}
	return l, nil
}

// changeLogs lets change have the file for itself, and writes it if change says so.
func (h *Host) changeLogs(ctx context.Context, change func(*project.Logs) (write bool)) error {
	if err := os.MkdirAll(h.Places.State, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(ctx, filepath.Join(h.Places.State, "logs.lock"), "the checkpoints of logs")
	if err != nil {
		return err
	}
	defer unlock()
	logs, err := h.logs()
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
	return durable.WriteFile(h.logsFile(), data, 0o600)
}

// keepCheckpoint keeps s, which was compared with kept, if it is newer, and the key as
// that of the registry. It reports false if the newest checkpoint is not kept any more,
// so that s has to be compared again.
func (h *Host) keepCheckpoint(ctx context.Context, name, key string, kept, s ledger.Signed) (done bool, err error) {
	err = h.changeLogs(ctx, func(logs *project.Logs) bool {
		now, _ := logs.Newest(key)
		if done = bytes.Equal(now.Note, kept.Note); !done {
			return false
		}
		_, known := logs.Registries[name]
		newer := kept.Note == nil || s.Size > kept.Size
		if !newer && known {
			return false
		}
		note := kept.Note
		if newer {
			note = s.Note
		}
		logs.Rely(name, key, h.Now().UTC(), string(note))
		return true
	})
	if unwritable(err) {
		h.Logger.Warn("the newest checkpoint cannot be kept, so that a log which is set back later goes unnoticed", "error", err)
		return true, nil
	}
	return done, err
}

// ForgetLog forgets which key a registry's log has, so that the next use asks for it
// again. The checkpoints that were seen stay: a log under a known key remains held to
// what it showed.
func ForgetLog(ctx context.Context, h *Host, base string) (key string, err error) {
	name := project.Registry{URL: base}.Name()
	var known []string
	err = h.changeLogs(ctx, func(logs *project.Logs) bool {
		for name := range logs.Registries {
			known = append(known, "https://"+name) // as the command takes them
		}
		key = logs.Forget(name)
		return key != ""
	})
	if err == nil && key == "" {
		err = evidence.Errorf(evidence.Validation, name, rememberedHint(known, func(url string) string { return "hallmark log forget " + url }), errors.New("this machine knows no log of that registry"))
	}
	return key, err
}
