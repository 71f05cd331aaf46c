package workspace

import (
	"bytes"
	"context"
	"os"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/project"
)

// Commit replaces files of the project and of its state, together with the lock and this machine's approvals if w
// holds others than it read: all or none. It reports whether there was anything to replace. Nothing else writes these
// two files.
func (w *Workspace) Commit(ctx context.Context, files []durable.File) (changed bool, err error) {
	lock, err := w.changedLock()
	if err != nil {
		return false, err
	}
	approvals, err := w.changedApprovals()
	if err != nil {
		return false, err
	}
	files = slices.Concat(files, lock, approvals)
	if len(files) == 0 {
		return false, nil
	}
	return true, w.Replace(ctx, files)
}

// changedLock returns the change of the lock; none if it accepts what the file does. A lock that accepts nothing is
// no file.
func (w *Workspace) changedLock() ([]durable.File, error) {
	now, err := w.Lock.Encode()
	if err != nil {
		return nil, err
	}
	before := &project.Lock{}
	if w.lockRead != nil {
		if before, err = project.ParseLock(w.lockRead); err != nil {
			return nil, err
		}
	}
	then, err := before.Encode()
	if err != nil || before.Version() == w.Lock.Version() && bytes.Equal(now, then) {
		return nil, err
	}
	if w.lockRead == nil && w.Lock.IsEmpty() {
		return nil, nil
	}
	return []durable.File{w.lockFile(now)}, nil
}

// lockFile returns the change that leaves the lock as encoded; without a file if it accepts nothing.
func (w *Workspace) lockFile(encoded []byte) durable.File {
	if w.Lock.IsEmpty() {
		return durable.File{Path: w.Path(project.LockFile), Remove: true}
	}
	return durable.File{Path: w.Path(project.LockFile), Data: encoded, Perm: w.FilePerm()}
}

// FilePerm is the mode in which hallmark.toml and hallmark.lock are written: those of the user's own clients are nobody
// else's to read. It is 0 in a project: a file keeps its mode, and a new one has 0644.
func (w *Workspace) FilePerm() os.FileMode {
	if w.Home != "" {
		return 0o600
	}
	return 0
}

// CommitMerge is [Workspace.Commit] of a project in which version control left a conflict, so that none of its files
// was read: the lock becomes w.Lock.
func (w *Workspace) CommitMerge(ctx context.Context, files []durable.File) error {
	now, err := w.Lock.Encode()
	if err != nil {
		return err
	}
	return w.Replace(ctx, append(files, w.lockFile(now)))
}

// changedApprovals returns the change of this machine's approvals; none if they equal those in the file, or those that
// were taken over without one.
func (w *Workspace) changedApprovals() ([]durable.File, error) {
	now, err := w.Approvals.Encode()
	if err != nil {
		return nil, err
	}
	before := w.inherited
	if before == nil {
		if before, err = project.ParseApprovals(w.approvalsRead, w.Dir); err != nil {
			return nil, err
		}
	}
	then, err := before.Encode()
	if err != nil || bytes.Equal(now, then) {
		return nil, err
	}
	return []durable.File{{Path: w.ApprovalsPath(), Data: now, Perm: 0o600}}, nil
}

// UpdateApprovals reads this machine's approvals anew and writes them as change leaves them, unless it reports that
// it changed nothing. It needs no lock of a writer, as nobody waits while the files are held.
func (w *Workspace) UpdateApprovals(ctx context.Context, change func(*project.Approvals) bool) error {
	if err := w.HoldFiles(ctx); err != nil {
		return err
	}
	defer w.Release()
	if err := w.ReadApprovals(); err != nil {
		return err
	}
	w.inheritApprovals()
	if !change(w.Approvals) {
		return nil
	}
	data, err := w.Approvals.Encode()
	if err != nil {
		return err
	}
	return durable.WriteFile(w.ApprovalsPath(), data, 0o600)
}
