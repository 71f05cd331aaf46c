package kind

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/project"
)

// command is a program of this machine, with the files that its declaration names and, for a script, the directory of
// code that it may load. A file is an artifact of the lock under its path relative to the project. A directory is one
// artifact, with the fingerprint hallmark-tree-v1.
type command struct{ common }

// Resolve hashes what the declaration names.
func (command) Resolve(ctx context.Context, d Declaration) (r Resolved, err error) {
	launch := d.Server.Launch()
	r.Entry.Source, r.Entry.Arguments, r.Entry.Variables = project.KindCommand, launch.Arguments, launch.Variables
	line := commandLine{workspace: d.Workspace, declared: d.Server, approval: project.Approval{Path: d.Path},
		opener: process.Open}
	r.Program, err = line.open(ctx, true)
	if err == nil {
		r.Entry.Ref, r.Entry.Artifacts = r.Program.OwnKey, r.Program.Artifacts
	}
	return r, err
}

// Open hashes the same files again, and reports which files of the lock are not among them.
func (c command) Open(ctx context.Context, l Locked) (Opened, error) {
	return c.open(ctx, l, process.Open)
}

func (command) open(ctx context.Context, l Locked, open process.Opener) (o Opened, err error) {
	o.Program, err = lockedLine(l, open).open(ctx, true)
	if err == nil {
		o.Report = append(evidence.Report{}, o.Program.Report...)
		o.Report = append(o.Report, missingArtifacts(l.Entry, o.Program)...)
	}
	return o, err
}

// lockedLine is the command line of a locked server.
func lockedLine(l Locked, open process.Opener) commandLine {
	return commandLine{workspace: l.Workspace, declared: l.Server, locked: &l.Entry, approval: l.Approval, opener: open}
}

// OpenRuntime looks at the program itself or, for a script, its interpreter.
func (command) OpenRuntime(ctx context.Context, l Locked) (*program.Program, error) {
	return lockedLine(l, host.KeptOf[process.Seen](l.Workspace.Host.Kept).Look).open(ctx, false)
}

// Check looks at what 'run' would open, and starts nothing. A command that 'run' would refuse to open is evidence, not
// an error.
func (c command) Check(ctx context.Context, l Locked) (evidence.Report, error) {
	entry, path := l.Entry, cmp.Or(l.Approval.Path, l.Workspace.Host.Getenv("PATH"))
	l.Approval = project.Approval{Path: path, Runtime: l.Approval.Runtime}
	o, err := c.open(ctx, l, host.KeptOf[process.Seen](l.Workspace.Host.Kept).Look)
	if o.Program != nil {
		defer o.Program.Close()
	}
	if err != nil {
		c := evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.File, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile,
		}
		if evidence.ClassOf(err) == evidence.Refused { // as run would
			c.Scheme, c.Want, c.Text = evidence.Unhashed, nil, "a program that 'run' would start"
		}
		return evidence.Report{unreadableEvidence(c, err)}, nil
	}
	return o.Report, nil
}

// unreadableEvidence says that what a claim is about could not be read, with the hint of the error.
func unreadableEvidence(c evidence.Claim, err error) evidence.Evidence {
	var problem *evidence.Error
	if !errors.As(err, &problem) || problem.Err == nil {
		return evidence.CannotVerify(c, evidence.Unreadable, err.Error())
	}
	e := evidence.CannotVerify(c, evidence.Unreadable, problem.Err.Error())
	e.Fix = problem.Hint
	return e
}

// isPackage reports whether a key of the artifacts of an entry names a package, which its closure is about.
func isPackage(key string) bool {
	ref, err := artifact.Parse(key)
	return err == nil && ref.Kind() != artifact.File
}

// missingArtifacts returns evidence of the files of entry, besides a package, that p, opened from the declaration, does
// not use.
func missingArtifacts(entry project.ServerLock, p *program.Program) evidence.Report {
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(entry.Artifacts)) {
		if _, ok := p.Artifacts[key]; !ok && (entry.Source.Local() || !isPackage(key)) {
			e := evidence.CannotVerify(evidence.Claim{
				Subject: key, Scheme: evidence.File, Authority: evidence.Lock,
				Want: []digest.Digest{entry.Artifacts[key]}, Where: project.LockFile,
			}, evidence.NotFound, "the command line does not use it, or it is gone")
			e.Fix = "put it back, or run 'hallmark pin " + p.Server + "' if that is yours"
			report = append(report, e)
		}
	}
	return report
}
