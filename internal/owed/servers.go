package owed

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// Server returns what is owed about one server: its entry, and what the entry owes.
func (b Books) Server(name string) List {
	pin := "hallmark pin " + name
	if declared, ok := b.Config.Servers[name]; declared.Facet != "" || !ok {
		pin = "hallmark install"
	}
	l := b.serverEntry(name, pin)
	entry, locked := b.Lock.Server(name)
	if !locked {
		return l
	}
	if _, declared := b.Config.Servers[name]; !declared &&
		(entry.Launch.Facet == "" || !b.declares(entry.Launch.Facet)) {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: name, Scheme: evidence.Launch, Authority: evidence.Project, Where: configFile,
			},
			By:  evidence.Lock,
			Why: "is locked, but no longer declared",
			Fix: fmt.Sprintf("restore its table in %s; or run 'hallmark unpin %s', if it was taken out on purpose",
				configFile, name),
		})
	}
	l = append(l, b.files(name, entry)...)
	if entry.Record == nil {
		return l
	}
	l = append(l, b.registry(name, *entry.Record)...)
	approval := b.Memory.Servers[name]
	if entry.Record.Proof == "" {
		return append(l, b.proof(name, entry.Record.Registry, entry.Record.ProofSubject(), pin, approval.LogKey)...)
	}
	return append(l, b.log(name, entry.Record.Registry, approval.AcceptedLog)...)
}

// serverEntry returns the expectations of a lock entry for a server. pin is the command that makes
// one.
func (b Books) serverEntry(name, pin string) List {
	var l List
	claim := evidence.Claim{Subject: name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: lockFile}
	declared, mine := b.Config.Servers[name]
	if mine {
		fix := fmt.Sprintf("run '%s', or restore %s from version control", pin, lockFile)
		if declared.Command != "" {
			fix += "; 'unlocked = true' in its table says that it needs no entry"
		}
		l = append(l, Expectation{
			Claim: claim, By: evidence.Project, Fix: fix,
			Why: fmt.Sprintf("%s line %d declares the server, and no entry of %s holds what it may run",
				configFile, declared.Line, lockFile),
		})
	}
	if mine && b.RequireLock {
		l = append(l, Expectation{
			Claim: claim, By: evidence.Caller, Why: "--require-lock", Fix: fmt.Sprintf("run '%s'", pin),
		})
	}
	if approval, ok := b.Memory.Servers[name]; ok && (mine || b.mayDeclare(approval.Facet, name)) {
		l = append(l, Expectation{
			Claim: claim, By: evidence.Machine,
			Why: "an entry was approved on this machine at " + formatTime(approval.At),
			Fix: restoreHint(lockFile, pin, "hallmark forget "+name),
		})
	}
	return l
}

// files returns the files beside the lock that an entry of its kind owes: the lock holds their
// digests.
func (b Books) files(name string, entry project.ServerLock) List {
	var l List
	for _, file := range entry.Source.Files(name) {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: file.Name, Scheme: evidence.Document, Authority: evidence.Lock,
				Where: lockFile + ", " + file.Member,
			},
			By:  evidence.Lock,
			Why: "there is no such file, and an entry of " + lockFile + " is about it",
			Fix: restoreHint(file.Name, "hallmark pin "+name, ""),
		})
	}
	return l
}

// registry returns what an entry with a record owes: that hallmark.toml names the record's
// registry. No other registry, and no other log, is asked about the record.
func (b Books) registry(name string, r project.RecordLock) List {
	if b.Config.Registry.Name() == r.Registry {
		return nil
	}
	return List{{
		Claim: evidence.Claim{
			Subject: r.Subject() + " at " + r.Registry, Scheme: evidence.Launch, Authority: evidence.Project,
			Where: configFile + ", [registry] url",
		},
		By: evidence.Lock,
		Why: fmt.Sprintf("the entry of %s says that this registry vouched for it, and %s does not name it",
			name, configFile),
		Fix: fmt.Sprintf("restore url under [registry] in %s, or %s, from version control; "+
			"or run 'hallmark pin %s' and review what it shows", configFile, lockFile, name),
	}}
}
