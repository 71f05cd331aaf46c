package project

import (
	"errors"
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

// Log is the origin of the log of a registry, called as [Registry.Name] does, of which an entry
// says that it has one: then each entry of that registry owes a proof. "" if none does. It changes nothing, as
// entries are verified side by side.
func (l *Lock) Log(registry string) (origin string) {
	for _, s := range l.servers {
		if s.Record != nil && s.Record.Registry == registry {
			origin = max(origin, s.Record.Log)
		}
	}
	for _, f := range l.facets {
		if f.Source.Kind.HasRecords() && f.Source.Registry == registry {
			origin = max(origin, f.Log)
		}
	}
	return origin
}

// logs are the logs that entries name, by registry.
func (l *Lock) logs() map[string]string {
	logs := map[string]string{}
	l.eachLog(func(registry, _ string, log *string) {
		if *log != "" {
			logs[registry] = *log
		}
	})
	return logs
}

// eachLog calls do with the registry, the proof and the log of each entry that came from a registry. The log becomes
// what do makes of it: this is for a lock that is being read, and nobody else has.
func (l *Lock) eachLog(do func(registry, proof string, log *string)) {
	for _, name := range l.Servers() {
		if r := l.servers[name].Record; r != nil {
			do(r.Registry, r.Proof, &r.Log)
		}
	}
	for _, name := range l.Facets() {
		if f := l.facets[name]; f.Source.Kind.HasRecords() {
			do(f.Source.Registry, f.Proof, &f.Log)
			l.facets[name] = f
		}
	}
}

// originOf is the origin of the log that a proof is of; "" if it is malformed or there is none.
func originOf(proof string) string {
	p, err := ledger.ParseProof([]byte(proof))
	if err != nil {
		return ""
	}
	origin, _, _ := strings.Cut(string(p.Checkpoint), "\n")
	return origin
}

// checkProof refuses a malformed proof, and one of another log than the entry names. An entry may name a log and have
// no proof: that is owed.
func checkProof(proof, log string) error {
	if proof == "" {
		return nil
	}
	if _, err := ledger.ParseProof([]byte(proof)); err != nil {
		return err
	}
	if originOf(proof) != log {
		return errors.New("its log is not that of its proof")
	}
	return nil
}
