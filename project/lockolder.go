package project

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// olderWire is the file of versions 1 and 2: sealed as a whole, with the logs of all its proofs in one place. Version 1
// has no logs, and may lack members that have no value.
type olderWire struct {
	Version int                    `json:"lockfile_version"`
	Self    digest.Digest          `json:"self"`
	Logs    map[string]string      `json:"logs,omitempty"`
	Facets  map[string]FacetLock   `json:"facets,omitempty"`
	Servers map[string]olderServer `json:"servers"`
}

// olderServer is an entry with the time of its approval, which is the machine's own since version 3. Approvals stay
// bound to an entry in this form.
type olderServer struct {
	ServerLock
	ApprovedAt time.Time `json:"approved_at"`
}

// decodeOlder is decodeLock for versions 1 and 2.
func decodeOlder(data []byte) (*Lock, error) {
	var w olderWire
	if err := decodeSealed(data, &w, func() (sealedParts, error) {
		var p sealedPart
		err := p.read(data, func() (digest.Digest, error) { return machine.DigestOf(data) })
		return sealedParts{LockFile: p}, err
	}); err != nil {
		return nil, err
	}
	l := &Lock{version: w.Version, facets: w.Facets}
	if w.Servers != nil {
		l.servers = map[string]ServerLock{}
	}
	for name, s := range w.Servers {
		if w.Version > 1 && s.ApprovedAt.IsZero() {
			return nil, invalid(LockFile, fmt.Errorf("%s: has no approved_at, which every entry of version 2 has",
				name))
		}
		l.servers[name] = s.ServerLock
	}
	if err := l.takeLogs(w); err != nil {
		return nil, invalid(LockFile, err)
	}
	return l, nil
}

// takeLogs has each entry name the log of its registry, as those of version 3 do.
func (l *Lock) takeLogs(w olderWire) error {
	if w.Version == 1 && w.Logs != nil {
		return errors.New("has logs, which lockfile_version 1 does not have")
	}
	var named bool
	l.eachLog(func(registry, proof string, log *string) {
		named = named || *log != ""
		if *log = originOf(proof); proof == "" {
			*log = w.Logs[registry]
		}
	})
	switch {
	case named:
		return fmt.Errorf("an entry has a log, which lockfile_version %d does not have", w.Version)
	case w.Version > 1 && !maps.Equal(l.logs(), w.Logs):
		return errors.New("its logs are not those of its proofs")
	}
	return nil
}
