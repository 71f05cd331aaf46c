package kind

import (
	"context"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/local"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/project"
)

// command is a program of this machine, with the files that it reads. Package local finds these
// files.
type command struct{ common }

// Resolve hashes what the command line names, and all that it may read.
func (command) Resolve(ctx context.Context, d Declaration) (r Resolved, err error) {
	launch := d.Server.Launch()
	r.Entry.Source, r.Entry.Arguments, r.Entry.Variables = project.KindCommand, launch.Arguments, launch.Variables
	r.Program, err = local.OpenLocked(ctx, d.Workspace, d.Server, nil, project.Approval{Path: d.Path})
	if err == nil {
		r.Entry.Ref, r.Entry.Artifacts = r.Program.OwnKey, r.Program.Artifacts
	}
	return r, err
}

// Open hashes the same files again, and reports which files of the lock are not among them.
func (command) Open(ctx context.Context, l Locked) (o Opened, err error) {
	o.Program, err = local.OpenLocked(ctx, l.Workspace, l.Server, &l.Entry, l.Approval)
	if err == nil {
		o.Report = append(evidence.Report{}, o.Program.Report...)
		o.Report = append(o.Report, local.MissingArtifacts(l.Entry, o.Program)...)
	}
	return o, err
}

// OpenRuntime opens the program itself or, for a script, its interpreter.
func (command) OpenRuntime(ctx context.Context, l Locked) (*program.Program, error) {
	return local.OpenNamed(ctx, l.Workspace, l.Server, &l.Entry, l.Approval)
}

// Check opens what 'run' would open, and starts nothing.
func (command) Check(ctx context.Context, l Locked) (evidence.Report, error) {
	return local.CheckEntry(ctx, l.Workspace, l.Server, l.Entry, l.Approval)
}
