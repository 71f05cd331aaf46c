package trail

import (
	"cmp"
	"context"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
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

	known func() (*machine.Logs, error) // of this machine, read once

	opening sync.Mutex // guards log and opened
	log     *Log
	opened  bool

	locked sync.Map // by name of a registry: a func() (*lockedLog, error)

	shownOnce sync.Once // guards shown and shownErr
	shown     *Log      // the log that the registry shows, where nobody said which key it has
	shownErr  error
	showing   sync.Mutex // one at a time talks with it
}

// NewLogs returns the logs of a project whose registry has these rules. client asks the registry;
// it is nil if the project names none. Nothing is read yet.
func NewLogs(h *host.Host, client *client.Client, rules project.Registry, o Options) *Logs {
	return &Logs{
		host: h, client: client, rules: rules, options: o,
		known: sync.OnceValues(func() (*machine.Logs, error) { return KnownLogs(h) }),
	}
}

// ReadKnown returns what this machine knows of logs. It reads them once, because reading verifies
// each of their checkpoints.
func (s *Logs) ReadKnown() (*machine.Logs, error) { return s.known() }

// GivenKey returns the key that the command was given, "" if it was given none.
func (s *Logs) GivenKey() string { return s.options.Key }

// Open reads the log of the project's registry as [Read] does, once; first reports that this call
// read it. It returns nil for a registry without a log. After an error the next call reads again.
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

// KnowsKey reports whether the key of a registry's log is configured or was accepted.
func (s *Logs) KnowsKey(registry string) (bool, error) {
	known, err := s.ReadKnown()
	if err != nil {
		return false, err
	}
	return s.unread(registry).ChooseKey(known, s.options), nil
}

// unread returns the log of a registry with what the project demands of it, before anything of it
// is read.
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

// FindAccepted returns the log that proves a record, as this machine knows it, and what is demanded
// of it. It is zero if the record has no proof or no key was accepted.
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

// demandedBy returns what rules demand of a log, except its key.
func demandedBy(rules project.Registry) project.AcceptedLog {
	return project.AcceptedLog{Quorum: rules.Quorum, Witnesses: rules.Witnesses, MaxAge: rules.MaxAge}
}
