// Package local opens a server that is a program on this disk, and finds and hashes the code that it
// reads: the program, the script and the files that its arguments name, the modules that a script imports
// (JavaScript, Python), the jars of a class path, and installed packages. A file is an artifact of the
// lock under its path relative to the project. A directory of packages is one artifact, with the
// fingerprint hallmark-tree-v1.
//
// A file that was edited since it was locked is a mismatch. A file that was added is refused as unknown.
// Code that cannot be bounded (more than 4096 files or 256 MiB, or more than 32 directories deep) is an
// error, and what code computes at run time is reported as not covered.
package local

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// open opens what a command line runs, and hashes it with all that finders find.
func (c command) open(ctx context.Context, finders ...finder) (p *program.Program, err error) {
	w, s, locked := c.workspace, c.declared, c.locked
	p, r, err := c.openProgram()
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if err != nil {
		return p, err
	}
	for _, find := range finders {
		if err := find(r); err != nil {
			if classified := (*evidence.Error)(nil); errors.As(err, &classified) {
				return p, err
			}
			return p, evidence.Errorf(evidence.Refused, s.Name,
				"give the script a directory of its own; of python, '-P' before it loads nothing from there", err)
		}
	}
	if err := r.addEvidence(ctx, locked); err != nil {
		return p, err
	}
	p.Report = append(p.Report, startedFileEvidence(p, locked)...)
	p.Report = append(p.Report, program.VerifyEvidence(w, s, c.approval.Path, p.Executable.Path(), r.hashed)...)
	for _, why := range r.unknown {
		p.Report = append(p.Report, evidence.CannotVerify(evidence.Claim{
			Subject: p.OwnKey, Scheme: evidence.Import, Authority: evidence.Lock, Where: project.LockFile,
		}, evidence.Unsupported, why))
	}
	return p, nil
}

// OpenNamed opens what a declared command line names, without the code that its script loads by itself,
// since no lock says what that was. locked may be nil. Of approval it uses the path that is searched, and
// the runtime that was approved, which may be nil.
func OpenNamed(ctx context.Context, w *workspace.Workspace, s project.Server, locked *project.ServerLock,
	approval project.Approval) (*program.Program, error) {
	return command{w, s, locked, approval}.open(ctx, findNamedFiles)
}

// OpenLocked opens what a declared command line names, and all code that it may load. locked and approval
// are as for [OpenNamed].
func OpenLocked(ctx context.Context, w *workspace.Workspace, s project.Server, locked *project.ServerLock,
	approval project.Approval) (*program.Program, error) {
	return command{w, s, locked, approval}.open(ctx, findNamedFiles, findLoadedFiles)
}

// startedFileEvidence returns a mismatch if a command line starts another file than that of the lock
// entry: the digest of one file must not be compared under the name of another.
func startedFileEvidence(p *program.Program, locked *project.ServerLock) evidence.Report {
	if locked == nil || locked.Ref == p.OwnKey {
		return nil
	}
	return evidence.Report{{
		Claim: evidence.Claim{Subject: p.Server, Scheme: evidence.Launch, Authority: evidence.Lock, Text: locked.Ref,
			Where: project.LockFile + ", ref"},
		Outcome: evidence.Mismatch, Observed: evidence.Observed{Text: p.OwnKey, From: "the command line"},
		Reason: "the command line starts another file than the one that the entry is of",
	}}
}
