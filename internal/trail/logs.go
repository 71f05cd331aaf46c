package trail

import (
	"cmp"
	"context"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/project"
)

// Logs are the logs that one command relies on for a project. A command makes them from the
// project and its options, and hands them to whatever verifies a proof. Each log is opened
// when it is first needed.
type Logs struct {
	host    *host.Host
	client  *client.Client   // of the project's registry; nil if it names none
	rules   project.Registry // the project's
	options Options

	known func() (*project.Logs, error) // of this machine, read once

	opening sync.Mutex // guards log and opened
	log     *Log
	opened  bool

	locked sync.Map // by name of a registry: a func() (*lockedLog, error)

	shownOnce sync.Once // guards shown and shownErr
	shown     *Log      // the log that the registry shows, where nobody said which key it has
	shownErr  error
	showing   sync.Mutex // one at a time talks with it
}

// NewLogs gives the logs of a project whose registry has these rules and is asked through
// client, which is nil if the project names no registry. Nothing is read yet.
func NewLogs(h *host.Host, client *client.Client, rules project.Registry, o Options) *Logs {
	return &Logs{
		host: h, client: client, rules: rules, options: o,
		known: sync.OnceValues(func() (*project.Logs, error) { return KnownLogs(h) }),
	}
}

// ReadKnown returns what this machine knows of logs, read once: each of their checkpoints is verified
// as it is read.
func (s *Logs) ReadKnown() (*project.Logs, error) { return s.known() }

// GivenKey is the key that the command was given, "" if it was given none.
func (s *Logs) GivenKey() string { return s.options.Key }

// Open reads the log of the project's registry as [Read] does, unless that was done; first
// reports that it was not. A registry without a log gives nil. After an error the next call
// reads again.
func (s *Logs) Open(ctx context.Context) (l *Log, first bool, err error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.opened {
		return s.log, false, nil
	}
	if l, err = Read(ctx, s.host, s.client, s.rules, s.options); err != nil {
		return nil, false, err
	}
	s.log, s.opened = l, true
	return l, true, nil
}

// KnowsKey reports whether somebody said which key the log of a registry has.
func (s *Logs) KnowsKey(registry string) (bool, error) {
	known, err := s.ReadKnown()
	if err != nil {
		return false, err
	}
	return s.unread(registry).ChooseKey(known, s.options), nil
}

// unread is the log of a registry with what the project demands of it, of which nothing was
// read yet.
func (s *Logs) unread(registry string) *Log {
	l := &Log{Host: s.host, Name: registry}
	if s.rules.Name() == registry {
		l.Rules = s.rules
	}
	return l
}

// ReadDemanded returns what is demanded now of the log of the project's registry.
func (s *Logs) ReadDemanded() (project.AcceptedLog, error) {
	log := demandedBy(s.rules)
	if log.LogKey = cmp.Or(s.options.Key, s.rules.LogKey); log.LogKey != "" {
		return log, nil
	}
	known, err := s.ReadKnown()
	if err != nil {
		return log, err
	}
	if known != nil {
		log.LogKey = known.Registries[s.rules.Name()].Key
	}
	return log, nil
}

// FindAccepted returns the log that proves a record, as this machine knows it, and what is demanded of
// it; zero if the record has no proof or nobody accepted a key.
func (s *Logs) FindAccepted(r *project.RecordLock) (log project.AcceptedLog) {
	if r == nil || r.Proof == "" {
		return log
	}
	known, err := KnownLogs(s.host) // read anew: this command may have accepted the key
	if err != nil {
		return log
	}
	key := known.Registries[r.Registry].Key
	ours := s.rules.Name() == r.Registry
	if ours && s.rules.LogKey != "" {
		key = s.rules.LogKey
	}
	if key == "" {
		return log
	}
	if ours {
		log = demandedBy(s.rules)
	}
	log.LogKey = key
	if newest, ok := known.Newest(key); ok {
		log.LogSize = newest.Size
	}
	return log
}

// demandedBy is what rules demand of a log, but for its key.
func demandedBy(rules project.Registry) project.AcceptedLog {
	return project.AcceptedLog{Quorum: rules.Quorum, Witnesses: rules.Witnesses, MaxAge: rules.MaxAge}
}
