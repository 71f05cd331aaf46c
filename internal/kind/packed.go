package kind

import (
	"context"
	"errors"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// packed is a server that is packed from source: an archive that an MCP registry has.
type packed struct{ common }

// Resolve chooses the newest version that the floor of the declaration allows, and makes it
// startable from the store.
func (packed) Resolve(ctx context.Context, d Declaration) (r Resolved, err error) {
	name, floor, err := project.ParseSourceName(d.Server.Source)
	if err != nil {
		return r, evidence.Errorf(evidence.Validation, d.Server.Name, "", err)
	}
	a, err := obtain.Open(d.Workspace, d.Logs, obtain.Options{})
	if err != nil {
		return r, err
	}
	x, report, err := a.Obtain(ctx, obtain.Request{
		Kind: ledger.Artifact, Want: project.Facet{Name: name}, Floor: floor,
	})
	r.Report = append(r.Report, report...)
	if err != nil {
		return r, err
	}
	document, err := x.Record.Document()
	if err != nil {
		return r, evidence.Errorf(evidence.Validation, x.Subject(), "", err)
	}
	entry, ref := &r.Entry, x.Subject()
	entry.Source, entry.Ref, entry.Entry, entry.Runtime = project.KindArtifact, ref, x.Source.Entry, x.Source.Runtime
	entry.Arguments, entry.Variables = nonNil(d.Server.Arguments), nonNil(d.Server.Variables)
	entry.Record = &project.RecordLock{
		Kind: ledger.Artifact, Registry: d.Workspace.Config.Registry.Name(), Name: name, Version: x.Entry.Version,
		Document: document, Integrity: x.Entry.Integrity, Proof: x.Entry.Proof,
	}
	r.Claimed = &x.Record.APISurface
	shown, err := obtain.DocumentEvidence(x.Source, document)
	if err != nil {
		return r, err
	}
	r.Report = append(r.Report, shown)
	r.Report = append(r.Report, sameVersionEvidence(d.Before, ref, evidence.FacetTar, evidence.Observed{
		Digests: []digest.Digest{x.Entry.Integrity}, From: "the contents of the archive"})...)
	if _, err := judgeWith(&r.Report, d.Judge)(nil); err != nil {
		return r, err
	}
	r.Program, err = program.OpenSource(ctx, d.Workspace,
		program.Packed{Name: d.Server.Name, Entry: *entry, Slot: x.Slot}, project.Approval{Path: d.Path})
	if err == nil {
		entry.Artifacts = map[string]digest.Digest{ref: x.Entry.Integrity}
	}
	return r, err
}

// Open fetches the locked archive into the store, unless it is there.
func (packed) Open(ctx context.Context, l Locked) (o Opened, err error) {
	a, err := obtain.Open(l.Workspace, l.Logs, obtain.Options{})
	if err != nil {
		return o, err
	}
	r := l.Entry.Record
	locked := &project.FacetLock{
		Version: r.Version, Source: project.RegistrySource(r.Registry),
		Integrity: l.Entry.Artifacts[l.Entry.Ref], Proof: r.Proof,
	}
	x, report, err := a.Obtain(ctx, obtain.Request{
		Kind: ledger.Artifact, Want: project.Facet{Name: r.Name}, Locked: locked,
	})
	o.Report = append(o.Report, report...)
	if err != nil {
		return o, err
	}
	if err := obtain.CheckStart(l.Server.Name, x.Source, l.Entry); err != nil {
		return o, err
	}
	o.Program, err = program.OpenSource(ctx, l.Workspace,
		program.Packed{Name: l.Server.Name, Entry: l.Entry, Slot: x.Slot}, l.Approval)
	if o.Program != nil {
		o.Report = append(o.Report, o.Program.Report...)
	}
	return o, err
}

// OpenRuntime looks at the interpreter that the server names.
func (packed) OpenRuntime(ctx context.Context, l Locked) (*program.Program, error) {
	return program.OpenSourceRuntime(ctx, l.Workspace, l.Server.Name, l.Entry.Runtime, l.Approval,
		host.KeptOf[process.Seen](l.Workspace.Host.Kept).Look)
}

// Check audits the contents of the server in the store, and its interpreter.
func (packed) Check(ctx context.Context, l Locked) (evidence.Report, error) {
	st, err := l.Workspace.Host.Store()
	if err != nil {
		return nil, err
	}
	entry, want := l.Entry, l.Entry.Artifacts[l.Entry.Ref]
	slot, report, err := st.WithScheme(evidence.FacetTar).Audit(ctx, entry.Ref, want)
	switch {
	case errors.Is(err, store.ErrNotStored):
		report = evidence.Report{evidence.CannotVerify(evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.FacetTar, Authority: evidence.Lock, Want: []digest.Digest{want},
			Where: project.LockFile,
		}, evidence.NotFound, "not in this machine's store; the next run fetches and verifies it")}
	case err != nil:
		return nil, err
	case slot != nil:
		source, err := obtain.ReadSource(slot, entry.Record.Name, entry.Record.Version)
		if err != nil {
			return nil, err
		}
		if err := obtain.CheckStart(l.Server.Name, source, entry); err != nil {
			return nil, err
		}
	}
	return append(report, program.RuntimeEvidence(l.Workspace, l.Server.Name, l.Approval)...), nil
}

// Latest returns the newest version that the floor allows, and the newest of all. A query cannot
// choose a version.
func (packed) Latest(ctx context.Context, q Query) (Latest, error) {
	out, err := unversioned(q)
	if err != nil {
		return out, err
	}
	name, floor, err := project.ParseSourceName(q.Server.Source)
	if err != nil {
		return out, evidence.Errorf(evidence.Validation, q.Server.Name, "", err)
	}
	upstream := q.Workspace.Registry()
	if upstream == nil {
		return out, workspace.NoRegistryError(name)
	}
	all, err := upstream.ArchiveVersions(ctx, string(ledger.Artifact), name)
	if err != nil {
		return out, client.ExplainAnswer(name, evidence.Operation, err)
	}
	active := obtain.ActiveVersions(all)
	out.Wanted, _ = floor.Newest(active)
	free, err := artifact.ParseRequirement("*")
	out.Newest, _ = free.Newest(active)
	return out, err
}

// Version returns the version of the archive.
func (packed) Version(entry project.ServerLock) Version {
	name, version, _ := host.CutLast(entry.Ref, "@")
	return Version{Name: name, Version: version}
}

// Hosts returns the registry that has the archive.
func (packed) Hosts(_ *host.Host, entry project.ServerLock) []string {
	host, _, _ := strings.Cut(entry.Record.Registry, "/")
	return []string{host}
}

// Slots returns the unpacked archive.
func (packed) Slots(entry project.ServerLock) []digest.Digest {
	return []digest.Digest{entry.Artifacts[entry.Ref]}
}
