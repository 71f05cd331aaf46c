package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// explainServer makes the links of a server, from what declares it to what you approved.
func (c *chain) explainServer(ctx context.Context, way []facets.Part) error {
	entry, locked := c.w.Lock.Server(c.name)
	if locked {
		c.What = entry.Ref
		origin, err := workspace.OriginEvidence(ctx, c.w, c.name, entry)
		if err != nil {
			return err
		}
		c.rest = append(origin, c.rest...)
	}
	c.found = c.rest
	c.addDeclared(way)
	if !locked {
		c.state("lock", State(evidence.Absent), c.command("why", c.name),
			"hallmark.lock holds nothing about it: nobody claimed which bytes or which tools it has. "+
				"Run 'hallmark pin "+c.name+"'.")
		return nil
	}
	if err := c.addRecord(entry); err != nil {
		return err
	}
	c.addVerify()
	c.addClaims(entry)
	c.addBytes(entry)
	c.addRuntime(entry)
	c.addSurface(entry)
	c.addApproval(entry)
	return nil
}

// addDeclared adds what declares the server or facet.
func (c *chain) addDeclared(way []facets.Part) {
	part := way[len(way)-1]
	rows := c.take(func(e evidence.Evidence) bool {
		return (e.Scheme == evidence.Launch || e.Scheme == evidence.Source) && e.Authority != evidence.Verify
	})
	text := "You declare it in no line of hallmark.toml"
	switch {
	case part.Line > 0:
		text = fmt.Sprintf("You declare it in hallmark.toml line %d: %s", part.Line, part.Declared)
	case len(way) > 1:
		by := way[len(way)-2]
		text = fmt.Sprintf("The facet %s brings it along", by.Name)
		if first := way[0]; first.Line > 0 {
			text += fmt.Sprintf("; you declare %s in hallmark.toml line %d: %s", first.Name, first.Line, first.Declared)
		}
	}
	if len(rows) == 0 {
		c.state("declaration", Kept, c.command("why", c.name), text+".")
		return
	}
	c.add("declaration", c.command("why", c.name), text+"; hallmark.lock was made for exactly that.", text+".", rows)
}

// addRecord adds the record of a registry, its publisher, and what the log proves of it.
func (c *chain) addRecord(entry project.ServerLock) error {
	r := entry.Record
	if r == nil {
		why := "hallmark.toml names no registry"
		if c.w.Registry() != nil {
			why = "hallmark.lock has none of the registry " + c.w.Config.Registry.Name()
		}
		c.state("record", State(evidence.Absent), c.checkAll(),
			"No record of a registry says who published it: "+why+".")
		return nil
	}
	check := c.ofRegistry(*r, "info")
	rows := c.take(func(e evidence.Evidence) bool {
		return e.Scheme == evidence.Document && e.Authority == evidence.Log
	})
	text := fmt.Sprintf("The registry %s has a record of %s, which Hallmark read when it was pinned: %s", r.Registry,
		r.Subject(), r.Document)
	if len(rows) == 0 {
		c.state("record", Kept, check, text+". Nothing on this machine proves that the registry published it.")
	} else {
		c.add("record", check, text+", the same that the log holds.", text+".", rows)
	}
	return c.addLog(*r)
}

// ofRegistry is a command about a record, which asks its registry. If the project has another one, it is a command
// that asks nobody.
func (c *chain) ofRegistry(r project.RecordLock, words ...string) string {
	if c.w.Registry() == nil || c.w.Config.Registry.Name() != r.Registry {
		return c.checkAll()
	}
	return c.command(append(words, r.Subject())...)
}

// addLog adds what a registry's log proves of a record: who published it, and where that stands.
func (c *chain) addLog(r project.RecordLock) error {
	rows := c.take(func(e evidence.Evidence) bool {
		return e.Authority == evidence.Log || slices.Contains([]evidence.Scheme{evidence.Proof, evidence.LogKey,
			evidence.Checkpoint, evidence.Cosignature}, e.Scheme)
	})
	p, err := ledger.ParseProof([]byte(r.Proof))
	leaf, bad := ledger.ParseLeaf(p.Leaf)
	check := c.ofRegistry(r, "info") // which asks for the proof, too
	if leaf.Kind == ledger.Server {
		check = c.ofRegistry(r, "log", "proof")
	}
	if err != nil || bad != nil {
		text := "hallmark.lock has no proof that a log holds the record, so that nobody proves who published it."
		if len(rows) == 0 {
			c.state("log", State(evidence.Absent), check, text)
		} else {
			c.add("log", check, text, text, rows)
		}
		return nil
	}
	published := fmt.Sprintf("%s published it at %s", cmp.Or(leaf.Publisher, "somebody"), moment(leaf.At))
	entry := fmt.Sprintf("entry %d of the log %s", p.Index, cmp.Or(r.Log, r.Registry))
	signed, _, _ := bytes.Cut(p.Checkpoint, []byte("\n\n"))
	if head, err := ledger.ParseCheckpoint(append(bytes.Clone(signed), '\n')); err == nil {
		entry += ", which had " + evidence.Count(int(head.Size), "entry") + " then"
	}
	key, err := c.logKey(r)
	if err != nil {
		return err
	}
	if rows.Count(evidence.Match) < len(rows) || len(rows) == 0 {
		said := "The proof in hallmark.lock says that " + published + ", in " + entry + "."
		c.add("log", check, said, said, rows)
		return nil
	}
	c.state("publisher", State(evidence.Match), check, "The publisher "+published+", says the registry in its log.")
	c.add("log", check, "Hallmark verified the proof in hallmark.lock now, without asking the registry: "+
		entry+". "+key, "", rows)
	return nil
}

// logKey says which key signs the log of a record, since when, and what this machine saw of the log.
func (c *chain) logKey(r project.RecordLock) (string, error) {
	known, err := c.logs.ReadKnown()
	if err != nil {
		return "", err
	}
	key, text := known.Registries[r.Registry], ""
	if rules := c.w.Config.Registry; rules.Name() == r.Registry && rules.LogKey != "" {
		key.Key = rules.LogKey
		text = "You name its key " + key.Key + " in hallmark.toml."
	} else if key.Key != "" {
		text = fmt.Sprintf("You accepted its key %s on this machine at %s.", key.Key, moment(key.Since))
	}
	if newest, ok := known.Newest(key.Key); ok {
		text += fmt.Sprintf(" The newest checkpoint that this machine was shown has %s; "+
			"Hallmark keeps no time of that.", evidence.Count(int(newest.Size), "entry"))
	}
	return strings.TrimSpace(text), nil
}

// addVerify adds what you claim yourself.
func (c *chain) addVerify() {
	rows := c.take(func(e evidence.Evidence) bool { return e.Authority == evidence.Verify })
	if len(rows) > 0 {
		c.addHashed("your claim", "the file", rows)
	}
}

// addClaims adds who claimed the hash of a package, and of all that it depends on.
func (c *chain) addClaims(entry project.ServerLock) {
	if entry.Closure == nil {
		return
	}
	file := project.ClosureSubject(c.name)
	rows := c.take(func(e evidence.Evidence) bool { return e.Subject == file })
	stored, err := workspace.ReadStored(c.w, c.name, entry)
	if err != nil || stored.Closure == nil {
		text := "Hallmark compared " + file + " with hallmark.lock."
		c.add("packages", c.checkAll(), text, text, rows)
		return
	}
	if r := entry.Record; r != nil {
		c.state("claim", Unknown, c.ofRegistry(*r, "info"), "Whether the record of "+r.Subject()+" claims a hash of "+
			entry.Ref+" is not kept in hallmark.lock; 'hallmark pin' refuses the package if it has another one.")
	}
	c.addPackageClaim(entry, stored.Closure)
	all, unclaimed := 0, []string{}
	for _, p := range stored.Closure.Packages {
		if p.Ref.IsZero() { // it is inside of another one, whose hash covers it
			continue
		}
		if all++; len(p.Integrity)+len(p.Wheels) == 0 {
			unclaimed = append(unclaimed, p.Ref.String())
		}
	}
	text := fmt.Sprintf("%s lists %s, itself included, which %s resolved", file, evidence.Count(all, "package"),
		stored.Closure.Engine)
	if len(unclaimed) == 0 {
		text += ", each with a hash that the package registry claimed"
	} else {
		text += "; nobody claimed a hash of " + evidence.NameSome(unclaimed, 3)
	}
	lock := entry.Closure.Lock.String()
	c.add("packages", hashOf(lock, c.path(file)),
		fmt.Sprintf("%s. Hallmark hashed the file now: %s, as hallmark.lock says.", text, lock), text+".", rows)
}

// addPackageClaim adds what the package registry claimed of the server's own package, and what Hallmark computed
// then. Its file is not kept: only what was unpacked from it is.
func (c *chain) addPackageClaim(entry project.ServerLock, closure *project.Closure) {
	own, err := artifact.Parse(entry.Ref)
	claim, search := "", ""
	for _, p := range closure.Packages {
		switch d, isWheel := p.Wheels[own]; {
		case err != nil:
		case isWheel:
			claim, search = d.String(), d.String()
		case p.Ref == own && len(p.Integrity) > 0:
			claim = p.Integrity[0].String()
			_, search, _ = strings.Cut(p.Integrity[0].SRI(), "-")
		}
	}
	if claim == "" {
		c.state("claim", State(evidence.Absent), c.checkAll(), "Nobody claimed a hash of "+entry.Ref+".")
	} else {
		c.state("claim", Kept, searchIn(c.path(project.ClosureSubject(c.name)), search),
			"The package registry claimed "+claim+" of "+entry.Ref+".")
	}
	computed := entry.Artifacts[entry.Ref].String()
	c.state("file", Kept, searchIn(c.path(project.LockFile), computed), "Hallmark computed "+computed+" of "+entry.Ref+
		" when it was pinned, and compared it with every claim; it keeps what it unpacked, and not the file.")
}

// addBytes adds what is on this machine and can be hashed again: a tree in the store, or files.
func (c *chain) addBytes(entry project.ServerLock) {
	trees := c.take(func(e evidence.Evidence) bool {
		return e.Authority != evidence.Verify && strings.HasPrefix(e.Subject, c.name+" (")
	})
	c.addHashed("bytes", "what it unpacked,", trees)
	if entry.Closure != nil && len(trees) == 0 {
		c.state("bytes", Unknown, c.checkAll(),
			"Hallmark has unpacked nothing of it for this machine; the first run fetches and compares every package.")
	}
	c.addHashed("bytes", "the file", c.take(func(e evidence.Evidence) bool {
		subject, _, _ := strings.Cut(e.Subject, ": ") // of a file in it
		_, own := entry.Artifacts[subject]
		return e.Authority != evidence.Verify && (own || subject == entry.Ref)
	}))
	if entry.Closure == nil && entry.Record == nil && entry.Digest.IsZero() && !entry.Source.Remote() {
		c.state("bytes", Unknown, c.checkAll(),
			"What else the program loads or reads when it runs is hashed by nobody.")
	}
}

// addRuntime adds the program of this machine that starts the server.
func (c *chain) addRuntime(entry project.ServerLock) {
	rows := c.take(func(e evidence.Evidence) bool {
		return e.Authority == evidence.Machine && e.Scheme == evidence.File
	})
	as := "the program"
	if line := entry.Launch.Command; line != "" && entry.Closure != nil {
		as = "the program that starts it in place of " + line + ","
	}
	c.addHashed("runtime", as, rows)
	approval := c.w.Approvals.Servers[c.name]
	switch {
	case len(rows) > 0:
	case approval.Runtime != nil:
		c.state("runtime", Kept, hashOf(approval.Runtime.Digest.String(), approval.Runtime.Path), fmt.Sprintf(
			"You approved %s with %s on this machine; Hallmark compares it when it uses it.", approval.Runtime.Path,
			approval.Runtime.Digest))
	case entry.Closure != nil:
		c.state("runtime", Unknown, c.checkAll(), "You approved no interpreter or compiler for it on this machine.")
	}
}

// addSurface adds what the server shows a model.
func (c *chain) addSurface(entry project.ServerLock) {
	file := project.SurfaceFile(c.name)
	rows := c.take(func(e evidence.Evidence) bool { return e.Subject == file || e.Subject == file+" (items)" })
	n := len(entry.SurfaceItems)
	text := fmt.Sprintf("The server showed %s when it was pinned, which %s holds", evidence.Count(n, "item"), file)
	if v := len(entry.Varying); v > 0 {
		text += fmt.Sprintf("; %s from start to start, and no model sees them", evidence.Count(v, "more varies"))
	}
	c.add("surface", c.command("surface", "show", c.name), fmt.Sprintf("%s. Hallmark hashed that now: %s, as "+
		"hallmark.lock says. On which machine it was captured is not kept.", text, entry.Surface), text+".", rows)
	if drift := c.take(isDrift); len(drift) > 0 {
		text := "The server showed something else when it was started last: see 'hallmark review " + c.name + "'."
		c.add("drift", c.command("review", c.name), text, text, drift)
	}
}

// addApproval adds what you approved of it on this machine.
func (c *chain) addApproval(entry project.ServerLock) {
	rows := c.take(func(e evidence.Evidence) bool { return e.Scheme == evidence.Approval })
	approval, approved := c.w.Approvals.Servers[c.name]
	text := fmt.Sprintf("You approved all of this on this machine at %s: the launch line, the hashes and the surface "+
		"of hallmark.lock, which are %s together.", moment(approval.At), entry.Approvable())
	other := "You have not approved it on this machine, so that 'hallmark run " + c.name +
		"' refuses to start it: run 'hallmark review " + c.name + "'."
	if approved {
		other = "You approved something else of it on this machine at " + moment(approval.At) +
			": run 'hallmark review " + c.name + "'."
		if rows.Count(evidence.Mismatch) == 0 {
			other = text
		}
	}
	c.add("approval", c.command("review", c.name), text, other, rows)
}

// moment is a time as people read it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
