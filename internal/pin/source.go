package pin

import (
	"context"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// prepareSource resolves a server that is packed from source to the newest version that
// its floor allows, and makes that startable from the store.
func (p *Pinning) prepareSource(ctx context.Context) (*program.Program, error) {
	name, floor, err := project.ParseSourceName(p.Declared.Source)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, p.Declared.Name, "", err)
	}
	a, err := obtain.Open(p.Workspace, p.Logs, obtain.Options{})
	if err != nil {
		return nil, err
	}
	x, report, err := a.Obtain(ctx, obtain.Request{
		Kind: ledger.Artifact, Want: project.Facet{Name: name}, Floor: floor,
	})
	p.report = append(p.report, report...)
	if err != nil {
		return nil, err
	}
	document, err := x.Record.Document()
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, x.Subject(), "", err)
	}
	entry, ref := &p.Result.Entry, x.Subject()
	entry.Source, entry.Ref, entry.Entry, entry.Runtime = project.KindArtifact, ref, x.Source.Entry, x.Source.Runtime
	entry.Arguments, entry.Variables = nonNil(p.Declared.Arguments), nonNil(p.Declared.Variables)
	entry.Record = &project.RecordLock{
		Kind: ledger.Artifact, Registry: p.Workspace.Config.Registry.Name(), Name: name, Version: x.Entry.Version,
		Document: document, Integrity: x.Entry.Integrity, Proof: x.Entry.Proof,
	}
	p.Result.Claimed = x.Record.APISurface
	shown, err := obtain.DocumentEvidence(x.Source, document)
	if err != nil {
		return nil, err
	}
	p.report = append(p.report, shown)
	if old := p.Result.Before; old != nil { // the bytes of a version never change
		if want, ok := old.Artifacts[ref]; ok {
			p.report = append(p.report, evidence.Compare(
				evidence.Claim{Subject: ref, Scheme: evidence.FacetTar, Authority: evidence.Lock,
					Want: []digest.Digest{want}, Where: project.LockFile},
				evidence.Observed{Digests: []digest.Digest{x.Entry.Integrity}, From: "the contents of the archive"}))
		}
	}
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	prog, err := program.OpenSource(ctx, p.Workspace,
		program.Packed{Name: p.Declared.Name, Entry: *entry, Slot: x.Slot}, project.Approval{Path: p.Path})
	if prog != nil {
		prog.OwnKey, prog.Artifacts = ref, map[string]digest.Digest{ref: x.Entry.Integrity}
	}
	return prog, err
}

// claimedToolsEvidence compares the tools that a server shows here with what its publisher
// says that they are. A person who was shown the difference may accept it.
func claimedToolsEvidence(name string, claimed, shown digest.Digest, answer host.Consent) evidence.Evidence {
	c := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.APISurface, Authority: evidence.Record,
		Where: "the registry's record, api_surface"}
	if !claimed.IsZero() {
		c.Want = []digest.Digest{claimed}
	}
	o := evidence.Observed{Digests: []digest.Digest{shown}, From: "the server's answers"}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Mismatch {
		return e
	}
	const why = "it shows other tools here than its publisher says"
	if answer == host.Given {
		return evidence.Waive(c, o, why+", which was accepted")
	}
	e.Reason = why
	return e
}
