package owed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Books are what says what is owed: the project's files as they are, and what this machine
// remembers.
type Books struct {
	Config *project.Config
	Lock   *project.Lock
	Memory *project.Approvals
	Logs   *project.Logs // of which this machine accepted the keys; nil: none
	// LogKey is the key of the registry's log that the caller named, RequireLock what it
	// demands of a server, even one that hallmark.toml leaves unlocked.
	LogKey      string
	RequireLock bool

	brought map[string][]string // by facet, the locked ones that bring it along
	sizes   map[string]int64    // by key, of the newest checkpoints that this machine keeps
}

// Open reads the books. Memory is not nil; logs may be.
func Open(config *project.Config, lock *project.Lock, memory *project.Approvals, logs *project.Logs) Books {
	b := Books{Config: config, Lock: lock, Memory: memory, Logs: logs, brought: map[string][]string{}}
	b.follow()
	if logs != nil {
		b.sizes = map[string]int64{}
		for key := range logs.Checkpoints {
			if s, ok := logs.Newest(key); ok {
				b.sizes[key] = s.Size
			}
		}
	}
	return b
}

// follow finds what the declared facets bring along, and those in turn: locked facets that only
// bring along each other are nobody's.
func (b Books) follow() {
	seen := map[string]bool{}
	round := slices.Sorted(maps.Keys(b.Config.Facets))
	for len(round) > 0 {
		var next []string
		for _, name := range round {
			entry, ok := b.Lock.Facet(name)
			if seen[name] || !ok {
				continue
			}
			seen[name] = true
			for other := range entry.Composes {
				if other != name {
					b.brought[other] = append(b.brought[other], name)
					next = append(next, other)
				}
			}
		}
		round = next
	}
	for _, by := range b.brought {
		slices.Sort(by)
	}
}

// Names of the files that a person restores.
const (
	lockFile   = project.LockFile
	configFile = project.ConfigFile
)

// Servers are the names of all servers that are declared or locked, and of those that this
// machine approved and a facet may declare, sorted.
func (b Books) Servers() []string {
	names := slices.AppendSeq(b.Lock.Servers(), maps.Keys(b.Config.Servers))
	for name, approval := range b.Memory.Servers {
		if b.mayDeclare(approval.Facet) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Facets are the names of all facets that are declared, locked or composed by a locked one,
// sorted.
func (b Books) Facets() []string {
	names := slices.AppendSeq(b.Lock.Facets(), maps.Keys(b.Config.Facets))
	names = slices.AppendSeq(names, maps.Keys(b.brought))
	slices.Sort(names)
	return slices.Compact(names)
}

// Server is what is owed about one server.
func (b Books) Server(name string) List {
	var l List
	declared, mine := b.Config.Servers[name]
	entry, locked := b.Lock.Server(name)
	claim := evidence.Claim{Subject: name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: lockFile}
	approval, remembered := b.Memory.Servers[name]
	pin := "hallmark pin " + name
	if declared.Facet != "" || !mine {
		pin = "hallmark install"
	}
	if mine {
		fix := fmt.Sprintf("run '%s', or restore %s from version control", pin, lockFile)
		if declared.Command != "" {
			fix += "; 'unlocked = true' in its table says that it needs no entry"
		}
		l = append(l, Expectation{Claim: claim, By: evidence.Project,
			Why: fmt.Sprintf("%s line %d declares the server, and no entry of %s holds what it may run", configFile, declared.Line, lockFile),
			Fix: fix})
	}
	if mine && b.RequireLock {
		l = append(l, Expectation{Claim: claim, By: evidence.Caller, Why: "--require-lock", Fix: fmt.Sprintf("run '%s'", pin)})
	}
	if remembered && (mine || b.mayDeclare(approval.Facet)) {
		l = append(l, Expectation{Claim: claim, By: evidence.Machine,
			Why: "an entry was approved on this machine at " + since(approval.At),
			Fix: restore(lockFile, pin, "hallmark forget "+name)})
	}
	if !locked {
		return l
	}
	if !mine && (entry.Launch.Facet == "" || !b.declares(entry.Launch.Facet)) {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: name, Scheme: evidence.Launch, Authority: evidence.Project, Where: configFile}, By: evidence.Lock,
			Why: "is locked, but no longer declared",
			Fix: fmt.Sprintf("restore its table in %s; or run 'hallmark unpin %s', if it was taken out on purpose", configFile, name)})
	}
	l = append(l, b.files(name, entry)...)
	if entry.Record != nil {
		l = append(l, b.registry(name, *entry.Record)...)
		if entry.Record.Proof == "" {
			l = append(l, b.proof(name, entry.Record.Registry, entry.Record.ProofSubject(), pin, approval.LogKey)...)
		} else {
			l = append(l, b.log(name, entry.Record.Registry, approval.AcceptedLog)...)
		}
	}
	return l
}

// files are those beside the lock that an entry of its kind owes: the digests of the lock are of them.
func (b Books) files(name string, entry project.ServerLock) List {
	var l List
	for _, file := range entry.Source.Files(name) {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: file.Name, Scheme: evidence.Document, Authority: evidence.Lock, Where: lockFile + ", " + file.Member,
			},
			By:  evidence.Lock,
			Why: "there is no such file, and an entry of " + lockFile + " is about it",
			Fix: restore(file.Name, "hallmark pin "+name, ""),
		})
	}
	return l
}

// Facet is what is owed about one facet.
func (b Books) Facet(name string) List {
	var l List
	claim := evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Lock, Where: lockFile}
	_, mine := b.Config.Facets[name]
	entry, locked := b.Lock.Facet(name)
	install := fmt.Sprintf("run 'hallmark install' without --frozen, and commit %s; or restore it from version control", lockFile)
	if mine {
		l = append(l, Expectation{Claim: claim, By: evidence.Project, Why: configFile + " declares the facet, and no entry holds what it may be", Fix: install})
	}
	by := b.brought[name]
	for _, other := range by {
		l = append(l, Expectation{Claim: claim, By: evidence.Lock, Why: "the entry of " + surface.Escape(other) + " brings it along", Fix: install})
	}
	if accepted, ok := b.Memory.Facets[name]; ok && (mine || len(by) > 0) {
		l = append(l, Expectation{Claim: claim, By: evidence.Machine,
			Why: fmt.Sprintf("version %s was installed on this machine at %s", surface.Escape(accepted.Version), since(accepted.At)),
			Fix: fmt.Sprintf("restore %s from version control; or give it up with 'hallmark forget %s', and run 'hallmark install'", lockFile, name)})
	}
	if !locked {
		return l
	}
	if !mine && len(by) == 0 {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Project, Where: configFile}, By: evidence.Lock,
			Why: "is locked, but no longer declared",
			Fix: fmt.Sprintf("restore it in %s; or run 'hallmark install', if it was taken out on purpose", configFile)})
	}
	return append(l, b.FacetProof(name, entry)...)
}

// FacetProof is what is owed about the proof of an entry, locked or about to be, and about the
// log that it is of. A facet that this machine accepted with a proof needs one wherever it is
// from now: of a directory or a repository no log says anything.
func (b Books) FacetProof(name string, entry project.FacetLock) List {
	subject, accepted := project.FacetProofSubject(entry.Subject(name)), b.Memory.Facets[name]
	switch {
	case entry.Source.Kind == project.FromRegistry && entry.Proof == "":
		return b.proof(name, entry.Source.Registry, subject, "hallmark upgrade "+name, accepted.LogKey)
	case entry.Source.Kind == project.FromRegistry:
		return b.log(name, entry.Source.Registry, accepted.AcceptedLog)
	case accepted.LogKey == "":
		return nil
	}
	subject = project.FacetProofSubject(project.FacetSubject(name, accepted.Version))
	return List{{
		Claim: evidence.Claim{Subject: subject, Scheme: evidence.Proof, Authority: evidence.Log, Where: lockFile + ", proof"}, By: evidence.Machine,
		Why: fmt.Sprintf("it was accepted here with a proof of the log with the key %s, and is now of the %s, of which no log says anything", accepted.LogKey, surface.Escape(entry.Source.String())),
		Fix: fmt.Sprintf("restore %s and %s from version control; or give up the proof with 'hallmark forget %s'", configFile, lockFile, name),
	}}
}

// Bringing are the locked facets that bring a facet along, sorted.
func (b Books) Bringing(facet string) []string { return b.brought[facet] }

// declares reports whether hallmark.toml declares a facet, or a locked one brings it along.
func (b Books) declares(facet string) bool {
	_, ok := b.Config.Facets[facet]
	return ok || len(b.brought[facet]) > 0
}

// mayDeclare reports whether a facet may declare a server that this machine approved as one of
// it; "" never does. One that is locked with other contents than were installed here need not
// do so any more: a server of a facet need have no table of its own.
func (b Books) mayDeclare(facet string) bool {
	if facet == "" || !b.declares(facet) {
		return false
	}
	entry, locked := b.Lock.Facet(facet)
	accepted, ok := b.Memory.Facets[facet]
	return !locked || !ok || evidence.Same(entry.Integrity, accepted.Integrity)
}

// registry is what an entry owes whose record is of a registry: that hallmark.toml names it.
// Neither another registry nor its log is asked about the record.
func (b Books) registry(name string, r project.RecordLock) List {
	if b.Config.Registry.Name() == r.Registry {
		return nil
	}
	return List{{
		Claim: evidence.Claim{Subject: r.Subject() + " at " + r.Registry, Scheme: evidence.Launch, Authority: evidence.Project, Where: configFile + ", [registry] url"}, By: evidence.Lock,
		Why: fmt.Sprintf("the entry of %s says that this registry vouched for it, and %s does not name it", name, configFile),
		Fix: fmt.Sprintf("restore url under [registry] in %s, or %s, from version control; or run 'hallmark pin %s' and review what it shows", configFile, lockFile, name),
	}}
}

// log is what is owed about the log of a registry, under whose key this machine accepted what
// is called name: that key, without which no proof of the lock can be verified and beside which
// another log would prove anything, the newest checkpoint that was seen, or a newer one, and the
// witnesses that hallmark.toml demanded then.
func (b Books) log(name, registry string, accepted project.AcceptedLog) List {
	key, size := accepted.LogKey, accepted.LogSize
	if key == "" {
		return nil
	}
	var l List
	if b.keyOf(registry) != key {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: fmt.Sprintf("log of %s under the key %s", registry, key), Scheme: evidence.LogKey, Authority: evidence.Machine, Where: "what was accepted on this machine"}, By: evidence.Machine,
			Why: surface.Escape(name) + " was accepted here under that key",
			Fix: fmt.Sprintf("give it with '--log-key %s', or as log_key under [registry] in %s; or give up what was accepted with 'hallmark forget %s'", key, configFile, name),
		})
	}
	if b.sizes[key] < size {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: fmt.Sprintf("checkpoint of the log of %s", registry), Scheme: evidence.Checkpoint, Authority: evidence.Log, Where: "what this machine keeps of logs"}, By: evidence.Machine,
			Why: fmt.Sprintf("a checkpoint of %d entries was seen when %s was accepted, and what is kept now is older or gone", size, surface.Escape(name)),
			Fix: fmt.Sprintf("restore logs.json in the state directory from a backup; or give up what was accepted with 'hallmark forget %s'", name),
		})
	}
	rules := b.Config.Registry
	if rules.Name() != registry {
		rules = project.Registry{}
	}
	weaker := func(scheme evidence.Scheme, what, was string) {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: what + " of the log of " + registry, Scheme: scheme, Authority: evidence.Log, Where: configFile + ", [registry]"}, By: evidence.Machine,
			Why: fmt.Sprintf("%s was accepted here while %s demanded %s", surface.Escape(name), configFile, was),
			Fix: fmt.Sprintf("restore %s under [registry] in %s; or give up what was accepted with 'hallmark forget %s', and accept it anew", was, configFile, name),
		})
	}
	if rules.Quorum < accepted.Quorum {
		weaker(evidence.Cosignature, "witnesses", fmt.Sprintf("witness_quorum = %d", accepted.Quorum))
	} else if accepted.Kept(rules.Quorum, rules.Witnesses) < accepted.Quorum {
		weaker(evidence.Cosignature, "witnesses", fmt.Sprintf("witnesses = %q", accepted.Witnesses))
	}
	if accepted.MaxAge > 0 && (rules.MaxAge == 0 || rules.MaxAge > accepted.MaxAge) {
		weaker(evidence.Checkpoint, "age", fmt.Sprintf("max_age = %q", accepted.MaxAge))
	}
	return l
}

// keyOf is the key that the log of a registry is held to; "" if nobody says which.
func (b Books) keyOf(registry string) string {
	if b.Config.Registry.Name() == registry {
		if key := cmp.Or(b.LogKey, b.Config.Registry.LogKey); key != "" {
			return key
		}
	}
	if b.Logs == nil {
		return ""
	}
	return b.Logs.Registries[registry].Key
}

// proof is what is owed about the proof that a record is in the log of its registry, where the
// entry of name has none. One that is there is verified, whoever expects it. Accepted is the key
// of the log that proved it when this machine accepted the entry; "" if none did.
func (b Books) proof(name, registry, subject, renew, accepted string) List {
	var l List
	owe := func(by evidence.Authority, why, fix string) {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: subject, Scheme: evidence.Proof, Authority: evidence.Log, Where: lockFile + ", proof"}, By: by, Why: why, Fix: fix,
		})
	}
	add := func(by evidence.Authority, why string) { owe(by, why, restore(lockFile, renew, "")) }
	if b.Config.Registry.Name() == registry {
		switch {
		case b.LogKey != "":
			add(evidence.Caller, "the key of the registry's log was given")
		case b.Config.Registry.LogKey != "":
			add(evidence.Project, configFile+" has the key of the registry's log, log_key")
		}
	}
	if origin := b.Lock.Log(registry); origin != "" {
		add(evidence.Lock, "the lock names the registry's log, "+surface.Escape(origin))
	}
	if b.Logs != nil {
		if known, ok := b.Logs.Registries[registry]; ok {
			add(evidence.Machine, "this machine knows the registry's log since "+since(known.Since))
		}
	}
	if accepted != "" { // which the machine may not know otherwise: it was in hallmark.toml
		owe(evidence.Machine, "it was accepted here with a proof of the log with the key "+accepted, restore(lockFile, renew, "hallmark forget "+name))
	}
	return l
}
