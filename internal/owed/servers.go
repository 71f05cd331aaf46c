package owed

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// Server returns what is owed about one server: its entry, and what the entry owes.
func (d Demands) Server(name string) List {
	pin := "hallmark pin " + name
	if declared, ok := d.Config.Servers[name]; declared.Facet != "" || !ok {
		pin = "hallmark install"
	}
	l := d.serverEntry(name, pin)
	entry, locked := d.Lock.Server(name)
	if !locked {
		return l
	}
	if _, declared := d.Config.Servers[name]; !declared &&
		(entry.Launch.Facet == "" || !d.declares(entry.Launch.Facet)) {
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
	l = append(l, d.files(name, entry)...)
	if entry.Record == nil {
		return l
	}
	l = append(l, d.registry(name, *entry.Record)...)
	approval := d.Memory.Servers[name]
	if entry.Record.Proof == "" {
		return append(l, d.proof(name, entry.Record.Registry, entry.Record.ProofSubject(), pin, approval.LogKey)...)
	}
	return append(l, d.log(name, entry.Record.Registry, approval.AcceptedLog)...)
}

// serverEntry returns the expectations of a lock entry for a server. pin is the command that makes
// one.
func (d Demands) serverEntry(name, pin string) List {
	var l List
	claim := evidence.Claim{Subject: name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: lockFile}
	declared, mine := d.Config.Servers[name]
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
	if mine && d.RequireLock {
		l = append(l, Expectation{
			Claim: claim, By: evidence.Caller, Why: "--require-lock", Fix: fmt.Sprintf("run '%s'", pin),
		})
	}
	if approval, ok := d.Memory.Servers[name]; ok && (mine || d.mayDeclare(approval.Facet, name)) {
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
func (d Demands) files(name string, entry project.ServerLock) List {
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
func (d Demands) registry(name string, r project.RecordLock) List {
	if d.Config.Registry.Name() == r.Registry {
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
