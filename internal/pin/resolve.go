package pin

import (
	"context"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// resolve resolves the declaration, and makes the server startable from verified bytes.
func (p *Pinning) resolve(ctx context.Context) error {
	d := kind.Declaration{
		Workspace: p.Workspace, Logs: p.Logs, Server: p.Declared, Path: p.Path, Before: p.Result.Before,
		AllowScripts: p.Options.AllowScripts, Begin: p.Options.Begin, Given: p.given, Judge: p.judge,
	}
	source, arguments := p.Declared.Kind(), p.Declared.Arguments
	if source == "" {
		var err error
		if d.Record, err = p.readRecord(ctx); err != nil {
			return err
		}
		source, arguments = project.ServerKind(d.Record.Ref.Kind()), d.Record.Arguments
	}
	if inner := workspace.InnerEvidence(p.Declared, arguments, nil); inner != nil {
		p.report = append(p.report, inner...)
		if _, err := p.judge(nil); err != nil {
			return err // before anything is fetched or opened for it
		}
	}
	found, err := kind.Of(source).Resolve(ctx, d)
	p.found, p.report = found, append(p.report, found.Report...)
	out, launch := &p.Result, p.Result.Entry.Launch
	out.Entry, out.Entry.Launch = found.Entry, launch
	out.Packages, out.Verified, out.Moved, out.Scripts = found.Packages, found.Verified, found.Moved, found.Scripts
	out.Release, out.Replaced, out.Files = found.Release, found.Replaced, found.Files
	if found.Claimed != nil {
		out.Claimed = *found.Claimed
	}
	return err
}

// readRecord reads the record that the declaration names, and chooses which of its packages is to
// be started.
func (p *Pinning) readRecord(ctx context.Context) (*kind.RecordPackage, error) {
	r, err := obtain.FetchRecord(ctx, p.Workspace, p.Logs, p.Declared.Record)
	if err != nil {
		return nil, err
	}
	ref, args, variables, err := r.StartablePackage()
	if err != nil {
		return nil, err
	}
	p.Result.Entry.Record = &r.Lock
	p.report = append(p.report, r.Report...)
	p.addRollback()
	if _, err := p.judge(nil); err != nil {
		return nil, err // judge before fetching: a refused record must not cause a request
	}
	for _, v := range variables {
		if !slices.Contains(p.Declared.Variables, v) {
			p.Result.Wanted = append(p.Result.Wanted, v) // which of the user's secrets it gets is the user's choice
		}
	}
	return &kind.RecordPackage{Record: r, Ref: ref, Arguments: append(args, p.Declared.Arguments...)}, nil
}
