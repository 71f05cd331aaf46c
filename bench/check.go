package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// benchCheck measures P10: check --offline of locks of packages of npm, whose records are proven and whose surfaces
// and closures lie beside the lock; none is installed here, as in a new checkout. In the worst case each proof ends
// with another checkpoint, whose signature counts; in the usual one many were made together.
func benchCheck(ctx context.Context, o options, t *table) error {
	m, err := newMachine()
	if err != nil {
		return err
	}
	defer m.remove()
	for _, c := range []struct {
		name  string
		heads int // entries with one checkpoint
	}{{"a checkpoint for ten entries", 10}, {"a checkpoint for each", 1}} {
		few, many := o.entries, 4*o.entries
		seconds := map[int]float64{}
		for _, n := range []int{0, few, many} {
			if err := m.locked(n, c.heads); err != nil {
				return err
			}
			var all []float64
			for range o.rounds {
				s, err := m.timed(ctx, "", m.hallmark, "check", "--offline")
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			seconds[n] = median(all)
		}
		us := func(n int) float64 { return (seconds[n] - seconds[0]) / float64(n) * 1e6 }
		t.add(fmt.Sprintf("P10 check --offline, %d entries, %s", few, c.name),
			fmt.Sprintf("%.0f ms, %.0f µs an entry", seconds[few]*1000, us(few)),
			fmt.Sprintf("%d entries: %.0f µs an entry", many, us(many)), fmt.Sprintf("%.2f×", us(many)/us(few)),
			"≤ 50 µs, linear")
	}
	return nil
}

// lockedProject is a project of packages that are pinned, as it is written.
type lockedProject struct {
	files     map[string][]byte
	lock      project.Lock
	approvals project.Approvals
	log       provenLog
}

// pinnedAt is when everything was pinned.
var pinnedAt = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// locked writes a project with n packages, in a log that signs a checkpoint after every heads entries.
func (m *machine) locked(n, heads int) error {
	for _, dir := range []string{m.home, m.project} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	p := &lockedProject{files: map[string][]byte{}, approvals: *project.NewApprovals(m.project)}
	if err := p.log.write(n, heads); err != nil {
		return err
	}
	config := fmt.Sprintf("manifest_version = 1\n[registry]\nurl = \"https://registry.example.com\"\nlog_key = %q\n",
		p.log.signer.VerifierKey)
	for i := range n {
		config += fmt.Sprintf("[providers.mcp.s%d]\nserver = %q\n", i, recordOf(i).Subject())
	}
	declared, err := project.ParseConfig([]byte(config))
	if err != nil {
		return err
	}
	for i := range n {
		if err := p.pin(i, declared.Servers[fmt.Sprintf("s%d", i)]); err != nil {
			return err
		}
	}
	p.files[project.ConfigFile] = []byte(config)
	if p.files[project.LockFile], err = p.lock.Encode(); err != nil {
		return err
	}
	approved, err := p.approvals.Encode()
	if err != nil {
		return err
	}
	at := sha256.Sum256([]byte(m.project))
	state := filepath.Join(m.home, "state", "projects", hex.EncodeToString(at[:8]), "approvals.json")
	if err := put(state, approved); err != nil {
		return err
	}
	for name, data := range p.files {
		if err := put(filepath.Join(m.project, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file, and makes its directory.
func put(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// recordOf is the record of the i-th package, without its proof.
func recordOf(i int) project.RecordLock {
	name := fmt.Sprintf("io.github.acme%d/notes", i)
	return project.RecordLock{Registry: "registry.example.com", Name: name, Version: "1.0.0",
		Document: digest.FromBytes([]byte(name))}
}

// pin adds the entry of the i-th package, and what lies beside the lock.
func (p *lockedProject) pin(i int, declared project.Server) error {
	name, record := declared.Name, recordOf(i)
	record.Proof = p.log.proofs[i]
	closure, err := closureOf(i)
	if err != nil {
		return err
	}
	stored, err := closure.Encode()
	if err != nil {
		return err
	}
	shown, err := surfaceOf(i)
	if err != nil {
		return err
	}
	ref, platform := closure.Root.String(), runtime.GOOS+"/"+runtime.GOARCH+"+node20"
	entry := project.ServerLock{
		Source: project.KindNPM, Ref: ref, Record: &record, Launch: declared.Launch(),
		Artifacts: map[string]digest.Digest{ref: record.Document},
		Entry:     "node_modules/" + closure.Root.Name() + "/server.js",
		Closure: &project.ClosureLock{Engine: closure.Engine, Lock: digest.FromBytes(stored),
			Trees: map[string]digest.Digest{platform: record.Document}},
	}
	var report evidence.Report
	for subject, d := range map[string]digest.Digest{
		ref: record.Document, project.SurfaceSubject(name): shown.Digest(), record.Subject(): record.Document,
		record.ProofSubject(): record.ProofDigest(), project.ClosureSubject(name): entry.Closure.Lock,
		project.TreeSubject(name, platform): record.Document,
	} {
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Lock},
			evidence.Observed{Digests: []digest.Digest{d}}))
	}
	adm := policy.Judge(policy.Pin, policy.Settings{}, report).Admitted()
	if err := p.lock.Add(adm, name, entry, shown); err != nil {
		return err
	}
	kept, _ := p.lock.Server(name)
	approval := project.Approval{Entry: kept.Approvable(), Path: "/usr/bin", At: pinnedAt}
	for platform, tree := range entry.Closure.Trees {
		approval.Remember(*entry.Closure, platform, tree)
	}
	p.approvals.Servers[name] = approval
	p.files[project.SurfaceFile(name)] = shown.FormatIndented()
	p.files[project.ClosureSubject(name)] = stored
	return nil
}

// closureOf returns the closure of a package that depends on one other.
func closureOf(i int) (*project.Closure, error) {
	integrity := digest.FromBytes(fmt.Append(nil, i)).SRI()
	return project.ParsePackageLock(fmt.Appendf(nil, `{"name": "hallmark-closure", "lockfileVersion": 3,
		"requires": true, "packages": {
		"": {"name": "hallmark-closure", "dependencies": {"notes-%d": "1.0.0"}},
		"node_modules/notes-%d": {"version": "1.0.0", "integrity": %q, "bin": {"notes": "server.js"},
			"dependencies": {"words": "^2.1.0"}, "engines": {"node": ">=18"}},
		"node_modules/words": {"version": "2.1.3", "integrity": %q}}}`, i, i, integrity, integrity))
}

// surfaceOf returns the surface of a server with five tools.
func surfaceOf(i int) (*surface.Surface, error) {
	var l surface.Listing
	for n := range 5 {
		l.Tools = append(l.Tools, fmt.Appendf(nil,
			`{"name":"tool-%d","description":"Does what tool %d of server %d does, and nothing else.",`+
				`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to look `+
				`for."},"limit":{"type":"integer","minimum":1}},"required":["query"]}}`, n, n, i))
	}
	return surface.New(l)
}

// provenLog is a log of records, and the proof of each.
type provenLog struct {
	signer ledger.Key
	proofs []string
}

// write makes a log of n records. Each checkpoint proves the heads records before it.
func (l *provenLog) write(n, heads int) error {
	secret, _, err := ledger.GenerateKey(rand.Reader, "log.example.com")
	if err != nil {
		return err
	}
	if l.signer, err = ledger.ParseKey(secret); err != nil {
		return err
	}
	var hashes memory
	var waiting []ledger.Proof
	for i := range n {
		record := recordOf(i)
		leaf, err := ledger.Leaf{Kind: ledger.Server, Name: record.Name, Version: record.Version,
			Document: record.Document, Publisher: "github:acme", At: pinnedAt}.Marshal()
		if err != nil {
			return err
		}
		more, err := tlog.StoredHashes(int64(i), leaf, &hashes)
		if err != nil {
			return err
		}
		hashes = append(hashes, more...)
		waiting = append(waiting, ledger.Proof{Leaf: leaf, Index: int64(i)})
		if (i+1)%heads != 0 && i+1 != n {
			continue
		}
		if err := l.prove(waiting, int64(i+1), &hashes); err != nil {
			return err
		}
		waiting = waiting[:0]
	}
	return nil
}

// prove proves records by the checkpoint of the log's first size records.
func (l *provenLog) prove(waiting []ledger.Proof, size int64, hashes *memory) error {
	root, err := tlog.TreeHash(size, hashes)
	if err != nil {
		return err
	}
	head, err := ledger.Checkpoint{Origin: l.signer.Name(), Size: size, Root: root}.Sign(l.signer)
	if err != nil {
		return err
	}
	for _, p := range waiting {
		p.Checkpoint = head
		if p.Hashes, err = tlog.ProveRecord(size, p.Index, hashes); err != nil {
			return err
		}
		l.proofs = append(l.proofs, string(p.Marshal()))
	}
	return nil
}
