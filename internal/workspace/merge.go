package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MergeLock merges hallmark.lock of the project in dir from the versions that a merge left in git's index, and puts
// the files of its entries beside it. It returns the commands that come next. If anything is in conflict nothing is
// written.
func MergeLock(ctx context.Context, h *host.Host, dir string, take map[string]project.Side) (next []string, err error) {
	w, done, err := OpenMerge(ctx, h, dir)
	if err != nil {
		return nil, err
	}
	defer done()
	m := merging{Workspace: w, tree: w.WorkTree()}
	texts, err := m.readConflict(ctx)
	if err != nil {
		return nil, err
	}
	sides, err := parseSides(texts)
	if err != nil {
		return nil, err
	}
	w.Lock, err = sides.merge(take, "hallmark lock merge"+w.ProjectFlag())
	if err != nil {
		return nil, err
	}
	files, err := m.filesBeside(ctx, sides)
	if err != nil {
		return nil, err
	}
	return []string{stageCommand(w), "hallmark review" + w.ProjectFlag()}, w.CommitMerge(ctx, files)
}

// WorkTree is the project's directory as git reads it.
func (w *Workspace) WorkTree() git.WorkTree {
	home := cmp.Or(w.Host.Getenv("HOME"), w.Host.Getenv("USERPROFILE"))
	return git.WorkTree{Dir: w.Dir, Checkout: foreign.FindCheckout(w.Dir, home), Environ: w.Host.Environ}
}

// stageCommand is the command of git that stages the lock and the files beside it.
func stageCommand(w *Workspace) string {
	command := "git"
	if w.ProjectFlag() != "" {
		command += " -C " + host.QuoteArguments([]string{w.Dir})
	}
	command += " add -A " + project.LockFile
	for _, dir := range []string{project.SurfacesDir, project.ClosuresDir} {
		if _, err := os.Lstat(w.Path(dir)); err == nil {
			command += " " + dir
		}
	}
	return command
}

// readConflict returns the versions of the lock that a merge left in git's index.
func (m *merging) readConflict(ctx context.Context) (texts [3][]byte, err error) {
	m.versions, err = m.tree.Versions(ctx, project.LockFile, project.SurfacesDir, project.ClosuresDir)
	unmerged := false
	for _, v := range m.versions[project.LockFile] {
		if v.Stage > 0 {
			unmerged = true
			if texts[v.Stage-1], err = m.tree.Read(ctx, v); err != nil {
				return texts, err
			}
		}
	}
	if !unmerged && ctx.Err() == nil && evidence.ClassOf(err) != evidence.Refused {
		return texts, evidence.Errorf(evidence.Validation, project.LockFile,
			"where git does not know of the conflict, name the files: 'hallmark lock merge BASE OURS THEIRS'",
			cmp.Or(err, errors.New("has no conflict in git")))
	}
	return texts, err
}

// MergeLockFiles merges three versions of a lock, and writes the result to the file of ours, as a merge driver of git
// does. A conflict is written between markers, and an error.
func MergeLockFiles(base, ours, theirs string) error {
	var texts [3][]byte
	for i, path := range []string{base, ours, theirs} {
		data, err := ReadPlain(path, project.MaxLock)
		if err != nil {
			return err
		}
		if data == nil {
			return evidence.Errorf(evidence.Validation, path, "", errors.New("there is no such file"))
		}
		texts[i] = data
	}
	sides, err := parseSides(texts)
	if err != nil {
		return err
	}
	merged, conflict := sides.merge(nil, "hallmark lock merge")
	text, err := merged.Encode()
	if err == nil && conflict != nil {
		text, err = sides.mark(text)
	}
	if err != nil {
		return err // and ours stays as it is
	}
	return errors.Join(durable.WriteFile(ours, text, 0o644), conflict)
}

// lockSides are the common ancestor of two locks, ours and theirs.
type lockSides [3]*project.Lock

// parseSides reads the three versions; an empty one is a lock that accepts nothing, as where there was none.
func parseSides(texts [3][]byte) (sides lockSides, err error) {
	for i, name := range []string{"the common ancestor", "ours", "theirs"} {
		if len(texts[i]) == 0 {
			sides[i] = &project.Lock{}
		} else if sides[i], err = project.ParseLock(texts[i]); err != nil {
			return sides, fmt.Errorf("%s: %w", name, err)
		}
	}
	return sides, nil
}

// merge returns the merged lock, with the entries of ours where it also returns an error: that there are conflicts,
// which command settles with more arguments.
func (s lockSides) merge(take map[string]project.Side, command string) (*project.Lock, error) {
	_, conflicts := project.MergeLocks(s[0], s[1], s[2], nil)
	for name := range take {
		if !slices.Contains(conflicts, name) {
			return nil, evidence.Errorf(evidence.Validation, project.LockFile, "",
				fmt.Errorf("%+q is not in conflict", name))
		}
	}
	merged, conflicts := project.MergeLocks(s[0], s[1], s[2], take)
	if len(conflicts) == 0 {
		return merged, nil
	}
	return merged, evidence.Errorf(evidence.Refused, project.LockFile,
		fmt.Sprintf("keep yours with '%s', or take theirs with '%s'",
			settle(command, take, conflicts, project.Ours), settle(command, take, conflicts, project.Theirs)),
		fmt.Errorf("both branches changed %s", surface.Escape(strings.Join(conflicts, ", "))))
}

// settle returns command with arguments that take the entries in conflict of one side, and the others as they were
// chosen: no choice is remembered.
func settle(command string, chosen map[string]project.Side, conflicts []string, side project.Side) string {
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		command += " --" + string(chosen[name]) + " " + name
	}
	for _, name := range conflicts {
		command += " --" + string(side) + " " + name
	}
	return command
}

// mark returns the merged lock, whose text with the entries of ours is given, with conflict markers around the lines
// that are others with the entries of theirs.
func (s lockSides) mark(ours []byte) ([]byte, error) {
	take := map[string]project.Side{}
	_, conflicts := project.MergeLocks(s[0], s[1], s[2], nil)
	for _, name := range conflicts {
		take[name] = project.Theirs
	}
	other, _ := project.MergeLocks(s[0], s[1], s[2], take)
	theirs, err := other.Encode()
	if err != nil {
		return nil, err
	}
	a, b := strings.SplitAfter(string(ours), "\n"), strings.SplitAfter(string(theirs), "\n")
	before, after := 0, 0
	for before < min(len(a), len(b)) && a[before] == b[before] {
		before++
	}
	for after < min(len(a), len(b))-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	lines := slices.Concat(a[:before], []string{"<<<<<<< ours\n"}, a[before:len(a)-after], []string{"=======\n"},
		b[before:len(b)-after], []string{">>>>>>> theirs\n"}, a[len(a)-after:])
	return []byte(strings.Join(lines, "")), nil
}

// merging is a project whose lock is merged, in w.Lock.
type merging struct {
	*Workspace
	tree                git.WorkTree
	versions, committed map[string][]git.Version
}

// filesBeside returns the changes that leave the files beside the lock as its entries have them. What is not there is
// taken from git, which may have merged it line by line.
func (m *merging) filesBeside(ctx context.Context, sides lockSides) (files []durable.File, err error) {
	names := slices.Concat(sides[0].Servers(), sides[1].Servers(), sides[2].Servers())
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		entry, locked := m.Lock.Server(name)
		for _, at := range []string{project.SurfaceFile(name), project.ClosureSubject(name)} {
			f := durable.File{Path: m.Path(at)}
			isSurface := path.Dir(at) == project.SurfacesDir
			if f.Remove = !locked || !isSurface && entry.Closure == nil; f.Remove {
				if _, err := os.Lstat(f.Path); err == nil {
					files = append(files, f)
				}
				continue
			}
			if data, err := m.ReadFile(f.Path, MaxSurface); err == nil && isContentOf(data, isSurface, entry) {
				continue
			}
			if f.Data, err = m.find(ctx, at, isSurface, entry); err != nil {
				return nil, err
			}
			f.Perm = 0o644
			files = append(files, f)
		}
	}
	return files, nil
}

// find returns the content that an entry has in the file at, of those that git knows.
func (m *merging) find(ctx context.Context, at string, isSurface bool, entry project.ServerLock) (data []byte,
	err error) {
	if m.committed == nil {
		m.committed, err = m.tree.Committed(ctx, project.SurfacesDir, project.ClosuresDir)
		if err != nil {
			return nil, err
		}
	}
	for _, v := range slices.Concat(m.versions[at], m.committed[at]) {
		if data, err = m.tree.Read(ctx, v); err != nil {
			return nil, err
		}
		if isContentOf(data, isSurface, entry) {
			return data, nil
		}
	}
	return nil, evidence.Errorf(evidence.Integrity, at, "commit this file on the branch that locked the server, and "+
		"merge again",
		errors.New("neither branch has this file as its lock describes it"))
}
