package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Host is what a plugin is checked for: what its host permits, demands and knows.
type Host struct {
	Flags          Flags
	Strict         bool            // see docs/policy.md
	Scan           Scan            // finds imports; see Scans
	Allowlist      *Allowlist      // nil: there is none
	AllowlistName  string          // for messages
	Keys           *TrustedKeys    // nil: nobody is trusted
	ExternalClaims []ExternalClaim // of external packages
	Registered     *Registered     // what the plugin registered; nil: see RegisteredBy
	Now            time.Time       // for the validity of keys
	Vouched        []string        // of Bundle.Beside: what a lock covers, and was compared with it

	// Scans, if it is not nil, goes before Scan: it returns the Scan of the plugin with a name, and a
	// function that is called when all scripts of the plugin were scanned. It is given the sha256
	// digests of the scripts' contents, by path.
	Scans func(name string, sums map[string]digest.Digest) (scan Scan, done func())

	// Outside is evidence about the plugin from elsewhere, such as a registry's record and
	// log. It comes first, and is judged with the rest.
	Outside evidence.Report

	// RegisteredBy looks up what a plugin registered, and returns nil if that is not known. It
	// may be nil: then nothing is known.
	RegisteredBy func(*Manifest) (*Registered, error)

	// Locked compares what a lock says with what was found, once files and signatures were
	// checked: the result has no verdict yet. It may be nil.
	Locked func(*Result) evidence.Report
}

// Result is a checked plugin.
type Result struct {
	Manifest *Manifest
	Profile  tree.Profile  // that gave dist.hash; the expected one if none did
	Tree     digest.Digest // hallmark-tree-v1 of dist/
	SignedBy string        // the id of the first trusted key with a signature that holds; "" if there is none

	// Signature is the one by SignedBy, in base64.
	Signature string
	Signers   []Signer // of all signatures of dist.hash that hold, by trusted keys

	Verdict policy.Verdict
}

// ManifestHash is the digest of the manifest as it is in its file.
func (r *Result) ManifestHash() digest.Digest { return digest.FromBytes(r.Manifest.Raw) }

// Signer is a signature of dist.hash that holds, and the trusted key that made it.
type Signer struct{ KeyID, Signature string }

// check gathers evidence about one plugin.
type check struct {
	b      *Bundle
	m      *Manifest
	host   Host
	tree   digest.Digest
	report evidence.Report

	uncovered []string // files of dist that no claim of the manifest covers

	// Each returns the result of a computation that start began, and waits for it.
	treeOf func() (digest.Digest, error)
	sumsOf func() (map[string]digest.Digest, error)
	usedBy func() (*usage, error) // nil without host.Scan and host.Scans
}

// start begins the computations that take long and depend on the files alone, so that processors share
// them. None of them runs on after stop.
func (c *check) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var begun sync.WaitGroup
	c.treeOf = computeAhead(&begun, func() (digest.Digest, error) { return c.b.Tree(ctx) })
	c.sumsOf = computeAhead(&begun, func() (map[string]digest.Digest, error) { return c.b.sums(ctx) })
	if c.host.Scan != nil || c.host.Scans != nil {
		c.usedBy = computeAhead(&begun, func() (*usage, error) {
			scan := c.host.Scan
			if c.host.Scans != nil {
				sums, err := c.sumsOf()
				if err != nil {
					return nil, err
				}
				own, done := c.host.Scans(c.m.Name, sums)
				defer done()
				scan = own
			}
			return c.b.scanAll(ctx, scan)
		})
	}
	return func() {
		cancel()
		begun.Wait()
	}
}

// computeAhead runs compute beside the caller, and returns a function that waits for its result.
func computeAhead[T any](begun *sync.WaitGroup, compute func() (T, error)) (wait func() (T, error)) {
	wait = sync.OnceValues(compute)
	begun.Go(func() { wait() })
	return wait
}

func (c *check) add(e ...evidence.Evidence) { c.report = append(c.report, e...) }

// claim is an empty claim of the manifest about the plugin as a whole.
func (c *check) claim(scheme evidence.Scheme, where string) evidence.Claim {
	return evidence.Claim{Subject: c.m.Subject(), Scheme: scheme, Authority: evidence.Manifest, Where: where}
}

// Check gathers all evidence about a plugin, in the order of the package comment, and
// judges it in flow plugin. Claims are further ones about the plugin's dist hash, tree or
// manifest, such as those of a lock. Its error comes from ctx or the host's functions, or from
// a bundle that cannot be read as a plugin; what speaks against the plugin is in the verdict.
func Check(ctx context.Context, b *Bundle, m *Manifest, host Host, claims ...evidence.Claim) (*Result, error) {
	c := &check{b: b, m: m, host: host, report: slices.Clone(host.Outside)}
	defer c.start(ctx)()
	c.formEvidence()
	r, err := c.gatherFiles(ctx, claims)
	if err != nil {
		return nil, err
	}
	u, err := c.importEvidence()
	if err != nil {
		return nil, err
	}
	c.hostEvidence(u)
	if r.Signers = c.signatureEvidence(); len(r.Signers) > 0 {
		r.SignedBy, r.Signature = r.Signers[0].KeyID, r.Signers[0].Signature
	}
	if host.Locked != nil {
		c.add(host.Locked(r)...)
	}
	settings := host.Flags.settings(host.Strict)
	if policy.Judge(policy.Plugin, settings, c.report).Allowed() {
		if err := c.registeredEvidence(); err != nil {
			return nil, err
		}
	}
	r.Verdict = policy.Judge(policy.Plugin, settings, c.report)
	return r, nil
}

// CheckFiles gathers the evidence about a plugin's files alone and judges it in flow
// validate, which admits nothing.
func CheckFiles(ctx context.Context, b *Bundle, m *Manifest) (*Result, error) {
	c := &check{b: b, m: m}
	defer c.start(ctx)()
	c.formEvidence()
	r, err := c.gatherFiles(ctx, nil)
	if err != nil {
		return nil, err
	}
	r.Verdict = policy.Judge(policy.Validate, policy.Settings{}, c.report)
	return r, nil
}

// CheckSignatures judges the signatures of a plugin by the keys of host, as [Check] does, and nothing else of it.
func CheckSignatures(b *Bundle, m *Manifest, host Host) policy.Verdict {
	c := &check{b: b, m: m, host: host}
	c.signatureEvidence()
	return policy.Judge(policy.Plugin, host.Flags.settings(host.Strict), c.report)
}

// Observe gathers the evidence about a plugin's files alone, for a flow in which
// somebody else judges and that a manifest with a problem does not reach. The result has no verdict.
func Observe(ctx context.Context, b *Bundle, m *Manifest) (*Result, evidence.Report, error) {
	c := &check{b: b, m: m}
	defer c.start(ctx)()
	r, err := c.gatherFiles(ctx, nil)
	return r, c.report, err
}

// maxFurther bounds the evidence of members that others added to one manifest.
const maxFurther = 50

// formEvidence states what is wrong with the form of the manifest, and which of its members mean nothing
// to us.
func (c *check) formEvidence() {
	about := ManifestFile
	if subject := c.m.Subject(); subject != ManifestFile {
		about = subject + ": " + ManifestFile
	}
	claim := evidence.Claim{Subject: about, Scheme: evidence.Form, Authority: evidence.Manifest, Where: ManifestFile}
	for _, i := range c.m.issues {
		if !isHashIssue(i) { // which is evidence of its own
			c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Mismatch, Reason: i.text()})
		}
	}
	for _, f := range c.m.Further[:min(len(c.m.Further), maxFurther)] {
		c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Absent, Observed: evidence.Observed{Text: clip(f.Path)},
			Reason: "no member of manifest version 2: it is kept, and means nothing here"})
	}
	if more := len(c.m.Further) - maxFurther; more > 0 {
		c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Absent,
			Reason: fmt.Sprintf("and %d members more that mean nothing here", more)})
	}
}

// gatherFiles gathers the evidence about dist/ and what lies beside it.
func (c *check) gatherFiles(ctx context.Context, claims []evidence.Claim) (*Result, error) {
	r := &Result{Manifest: c.m}
	var err error
	if r.Profile, err = c.distEvidence(ctx); err != nil {
		return nil, err
	}
	framed, err := c.treeEvidence()
	if err != nil {
		return nil, err
	}
	r.Tree = c.tree
	c.claimEvidence(ctx, r.Profile, claims)
	if err := c.filesEvidence(r.Profile, framed); err != nil {
		return nil, err
	}
	c.entryEvidence()
	return r, nil
}

// claimEvidence compares the claims of others, such as a lock, with the plugin.
func (c *check) claimEvidence(ctx context.Context, p tree.Profile, claims []evidence.Claim) {
	for _, claim := range claims {
		switch claim.Scheme {
		case evidence.Tree:
			c.add(evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{c.tree}, Size: c.b.Bytes(),
				From: DistDir + "/"}))
		case evidence.Dist:
			d, err := c.b.Hash(ctx, p)
			if err != nil {
				c.add(evidence.CannotVerify(claim, evidence.Unsupported, err.Error()))
				continue
			}
			c.add(evidence.Compare(claim,
				evidence.Observed{Digests: []digest.Digest{d}, From: DistDir + "/, profile " + string(p)}))
		case evidence.File: // of the manifest
			c.add(evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{digest.FromBytes(c.b.Manifest)},
				Size: int64(len(c.b.Manifest)), From: ManifestFile}))
		default:
			c.add(evidence.CannotVerify(claim, evidence.Unsupported, "reading a plugin does not compute this"))
		}
	}
}

// entryEvidence states whether the file that is loaded first is there.
func (c *check) entryEvidence() {
	if c.m.Entry == "" {
		return // which is a problem of the manifest's form
	}
	claim := evidence.Claim{Subject: c.m.Entry, Scheme: evidence.File, Authority: evidence.Manifest,
		Where: ManifestFile + ", entry", Text: c.m.Entry}
	if !slices.ContainsFunc(c.b.Files, func(f tree.File) bool { return f.Path == distPath(c.m.Entry) }) {
		c.add(evidence.CannotVerify(claim, evidence.NotFound, "the entry is not there"))
	}
	if slices.Contains(c.uncovered, distPath(c.m.Entry)) {
		claim.Scheme = evidence.Unhashed
		c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Mismatch, Reason: "no hash covers the entry"})
	}
}
