package workspace

import (
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/project"
)

// AcceptedLog is the log that proves a record, as this machine knows it, and what is demanded of
// it; zero if the record has no proof or nobody accepted a key.
func (w *Workspace) AcceptedLog(r *project.RecordLock) (log project.AcceptedLog) {
	if r == nil || r.Proof == "" {
		return log
	}
	logs, err := trail.KnownLogs(w.Host) // read anew: this command may have accepted the key
	if err != nil {
		return log
	}
	key := logs.Registries[r.Registry].Key
	if w.Config.Registry.Name() == r.Registry && w.Config.Registry.LogKey != "" {
		key = w.Config.Registry.LogKey
	}
	if key == "" {
		return log
	}
	log.LogKey = key
	if newest, ok := logs.Newest(key); ok {
		log.LogSize = newest.Size
	}
	if w.Config.Registry.Name() == r.Registry {
		rules := w.Config.Registry
		log.Quorum, log.Witnesses, log.MaxAge = rules.Quorum, rules.Witnesses, rules.MaxAge
	}
	return log
}

// Books are what says what is owed in this project: its files, and what this machine remembers.
func (w *Workspace) Books() (owed.Books, error) {
	logs, err := w.KnownLogs()
	books := owed.Open(w.Config, w.Lock, w.Approvals, logs)
	books.LogKey = w.LogOptions.Key
	return books, err
}

// KnowsLog reports whether somebody said which key the log of a registry has.
func (w *Workspace) KnowsLog(registry string) (bool, error) {
	logs, err := w.KnownLogs()
	if err != nil {
		return false, err
	}
	l := trail.Log{Name: registry}
	if w.Config.Registry.Name() == registry {
		l.Rules = w.Config.Registry
	}
	return l.ChooseKey(logs, w.LogOptions), nil
}
