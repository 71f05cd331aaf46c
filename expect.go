package hallmark

import (
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/project"
)

// acceptedLog is the log that proves a record, as this machine knows it, and what is demanded of
// it; zero if the record has no proof or nobody accepted a key.
func (w *workspace) acceptedLog(r *project.RecordLock) (log project.AcceptedLog) {
	if r == nil || r.Proof == "" {
		return log
	}
	logs, err := w.host.logs() // read anew: this command may have accepted the key
	if err != nil {
		return log
	}
	key := logs.Registries[r.Registry].Key
	if w.config.Registry.Name() == r.Registry && w.config.Registry.LogKey != "" {
		key = w.config.Registry.LogKey
	}
	if key == "" {
		return log
	}
	log.LogKey = key
	if newest, ok := logs.Newest(key); ok {
		log.LogSize = newest.Size
	}
	if w.config.Registry.Name() == r.Registry {
		rules := w.config.Registry
		log.Quorum, log.Witnesses, log.MaxAge = rules.Quorum, rules.Witnesses, rules.MaxAge
	}
	return log
}

// books are what says what is owed in this project: its files, and what this machine remembers.
func (w *workspace) books() (owed.Books, error) {
	logs, err := w.knownLogs()
	books := owed.Open(w.config, w.lock, w.approvals, logs)
	books.LogKey = w.logOptions.Key
	return books, err
}

// knowsLog reports whether somebody said which key the log of a registry has.
func (w *workspace) knowsLog(registry string) (bool, error) {
	logs, err := w.knownLogs()
	if err != nil {
		return false, err
	}
	l := registryLog{name: registry}
	if w.config.Registry.Name() == registry {
		l.rules = w.config.Registry
	}
	return l.chooseKey(logs, w.logOptions), nil
}
