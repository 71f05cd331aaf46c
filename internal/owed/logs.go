package owed

import (
	"cmp"
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// log returns what is owed about a registry's log, with whose key this machine accepted the entry
// called name: that key, without which no proof of the lock can be verified and another log could
// prove anything; the newest checkpoint that was seen, or a newer one; and the witnesses that
// hallmark.toml demanded then.
func (d Demands) log(name, registry string, accepted project.AcceptedLog) List {
	key, size := accepted.LogKey, accepted.LogSize
	if key == "" {
		return nil
	}
	var l List
	if d.keyOf(registry) != key {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: fmt.Sprintf("log of %s under the key %s", registry, key),
				Scheme:  evidence.LogKey, Authority: evidence.Machine, Where: "what was accepted on this machine",
			},
			By:  evidence.Machine,
			Why: surface.Escape(name) + " was accepted here under that key",
			Fix: fmt.Sprintf("give it with '--log-key %s', or as log_key under [registry] in %s; "+
				"or give up what was accepted with 'hallmark forget %s'", key, configFile, name),
		})
	}
	if d.sizes[key] < size {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: fmt.Sprintf("checkpoint of the log of %s", registry),
				Scheme:  evidence.Checkpoint, Authority: evidence.Log, Where: "what this machine keeps of logs",
			},
			By: evidence.Machine,
			Why: fmt.Sprintf("a checkpoint of %d entries was seen when %s was accepted, "+
				"and what is kept now is older or gone", size, surface.Escape(name)),
			Fix: fmt.Sprintf("restore logs.json in the state directory from a backup; "+
				"or give up what was accepted with 'hallmark forget %s'", name),
		})
	}
	return append(l, d.witnesses(name, registry, accepted)...)
}

// witnesses returns what is owed about a log's witnesses: the number, the set and the freshness
// that hallmark.toml demanded when the entry called name was accepted.
func (d Demands) witnesses(name, registry string, accepted project.AcceptedLog) List {
	var l List
	weaker := func(scheme evidence.Scheme, what, was string) {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: what + " of the log of " + registry,
				Scheme:  scheme, Authority: evidence.Log, Where: configFile + ", [registry]",
			},
			By:  evidence.Machine,
			Why: fmt.Sprintf("%s was accepted here while %s demanded %s", surface.Escape(name), configFile, was),
			Fix: fmt.Sprintf("restore %s under [registry] in %s; "+
				"or give up what was accepted with 'hallmark forget %s', and accept it anew", was, configFile, name),
		})
	}
	rules := d.Config.Registry
	if rules.Name() != registry {
		rules = project.Registry{}
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

// keyOf returns the key that a registry's log must have; "" if none is configured or accepted.
func (d Demands) keyOf(registry string) string {
	if d.Config.Registry.Name() == registry {
		if key := cmp.Or(d.LogKey, d.Config.Registry.LogKey); key != "" {
			return key
		}
	}
	if d.Logs == nil {
		return ""
	}
	return d.Logs.Registries[registry].Key
}

// proof returns what is owed about the proof that a record is in its registry's log, if the entry
// of name has none. A proof that exists is always verified. accepted is the key of the log that
// proved the record when this machine accepted the entry; "" if none did.
func (d Demands) proof(name, registry, subject, renew, accepted string) List {
	var l List
	owe := func(by evidence.Authority, why, fix string) {
		l = append(l, Expectation{
			Claim: evidence.Claim{
				Subject: subject, Scheme: evidence.Proof, Authority: evidence.Log, Where: lockFile + ", proof",
			},
			By: by, Why: why, Fix: fix,
		})
	}
	add := func(by evidence.Authority, why string) { owe(by, why, restoreHint(lockFile, renew, "")) }
	if d.Config.Registry.Name() == registry {
		switch {
		case d.LogKey != "":
			add(evidence.Caller, "the key of the registry's log was given")
		case d.Config.Registry.LogKey != "":
			add(evidence.Project, configFile+" has the key of the registry's log, log_key")
		}
	}
	if origin := d.Lock.Log(registry); origin != "" {
		add(evidence.Lock, "the lock names the registry's log, "+surface.Escape(origin))
	}
	if d.Logs != nil {
		if known, ok := d.Logs.Registries[registry]; ok {
			add(evidence.Machine, "this machine knows the registry's log since "+formatTime(known.Since))
		}
	}
	if accepted != "" { // which the machine may not know otherwise: it was in hallmark.toml
		owe(evidence.Machine, "it was accepted here with a proof of the log with the key "+accepted,
			restoreHint(lockFile, renew, "hallmark forget "+name))
	}
	return l
}
