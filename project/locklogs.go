package project

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// Renew makes the lock one of this build's version.
func (l *Lock) Renew() { l.version = LockVersion }

// Version is the lockfile_version that was read; that of this build for a lock that is new.
func (l *Lock) Version() int {
	if l.version == 0 {
		return LockVersion
	}
	return l.version
}

// Log is the origin of the log of a registry, called as [Registry.Name] does, of which the
// lock says that it has one: then each entry of that registry owes a proof. "" if it says none.
func (l *Lock) Log(registry string) string {
	return l.logs[registry]
}

// proofOf is a proof of the lock and the registry that it is of.
type proofOf struct{ registry, proof string }

// proofs are the registry and the proof, or none, of each entry that came from a registry.
func (l *Lock) proofs() (all []proofOf) {
	for _, name := range l.Servers() {
		if r := l.servers[name].Record; r != nil {
			all = append(all, proofOf{r.Registry, r.Proof})
		}
	}
	for _, name := range l.Facets() {
		if f := l.facets[name]; f.Source.Kind.HasRecords() {
			all = append(all, proofOf{f.Source.Registry, f.Proof})
		}
	}
	return all
}

// provenLogs are the logs that the lock named and still has entries of, and those that its
// proofs are of. A malformed proof names no log; the entry that has it is refused.
func (l *Lock) provenLogs() map[string]string {
	logs := map[string]string{}
	for _, r := range l.proofs() {
		if known := l.logs[r.registry]; known != "" && r.proof == "" && logs[r.registry] == "" {
			logs[r.registry] = known
		}
		if r.proof == "" {
			continue
		}
		if p, err := ledger.ParseProof([]byte(r.proof)); err == nil {
			logs[r.registry], _, _ = strings.Cut(string(p.Checkpoint), "\n")
		}
	}
	return logs
}
