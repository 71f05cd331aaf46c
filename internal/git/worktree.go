package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// WorkTree is a directory in a work tree of the user's. Its repository is read and never changed; git runs nothing
// that the repository's configuration names, and connects to nothing.
type WorkTree struct {
	Dir      string
	Checkout foreign.Checkout // no git in it is started
	Environ  []string
}

// Version is one content of a file that git knows.
type Version struct {
	Stage  int // in the index: 1 of the common ancestor, 2 ours, 3 theirs, 0 of a file without conflict; -1 of a commit
	object string
}

// localTime bounds each run of git that makes no connection.
const localTime = time.Minute

func (w WorkTree) run(ctx context.Context, args ...string) ([]byte, error) {
	return w.runAtMost(ctx, maxOutput, args...)
}

// runAtMost is run of what prints at most limit bytes.
func (w WorkTree) runAtMost(ctx context.Context, limit int, args ...string) ([]byte, error) {
	var all []string
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	return call(ctx, w.Dir, args[0], foreign.Call{
		Args: append(all, args...), Dir: w.Dir, Checkout: w.Checkout, Environ: w.Environ, Time: localTime,
		Output: limit,
		// The repository's configuration can allow a protocol by its name; this list, which is empty, outweighs it.
		Set: []string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL="},
	})
}

// Versions returns what git's index has of the files at paths, which are relative to the directory, and below them.
// What is a link or another repository there is refused.
func (w WorkTree) Versions(ctx context.Context, paths ...string) (map[string][]Version, error) {
	out, err := w.run(ctx, append([]string{"ls-files", "--stage", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	found := map[string][]Version{}
	for path, fields := range listed(out) {
		if !isRegular(fields) {
			return nil, irregular(path, "on one of the branches")
		}
		v := Version{object: fields[1]}
		if _, err := fmt.Sscan(fields[2], &v.Stage); err != nil {
			return nil, fmt.Errorf("git lists %q in another form", fields)
		}
		found[path] = append(found[path], v)
	}
	return found, nil
}

func irregular(path, where string) error {
	return evidence.Errorf(evidence.Refused, path, "put the file itself there",
		fmt.Errorf("is no regular file %s", where))
}

// Commit returns the id of the commit that a person names by a revision: a branch, a tag, "HEAD~3"; with "..." or
// "...HEAD" behind it, as git diff reads them, the last commit that it and HEAD both have.
func (w WorkTree) Commit(ctx context.Context, revision string) (string, error) {
	failed := new(wire.Error)
	unreachable := func(err error) bool { return errors.As(err, &failed) && failed.Cause == evidence.Unreachable }
	if _, err := w.run(ctx, "rev-parse", "--absolute-git-dir"); unreachable(err) {
		return "", evidence.Errorf(evidence.Validation, w.Dir,
			"run this in a checkout of git; 'git init' and a first commit make it one",
			fmt.Errorf("is in no checkout that git reads: %w", failed.Err))
	} else if err != nil {
		return "", err
	}
	named, both := strings.CutSuffix(strings.TrimSuffix(revision, "HEAD"), "...")
	if !both {
		named = revision
	}
	unknown := func(reason string) error {
		hint := "name a branch, a tag or a commit; 'git log' shows commits, and 'git fetch' gets what a shallow " +
			"clone lacks"
		if named == "HEAD" {
			hint = "commit something first"
		}
		return evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", revision), hint, errors.New(reason))
	}
	if named == "" || strings.ContainsAny(named[:1], "-^") { // git would read an option, or "not"
		return "", unknown("is no revision")
	}
	out, err := w.runAtMost(ctx, 1<<10, "rev-parse", "--verify", "--quiet", named+"^{commit}")
	if unreachable(err) {
		return "", unknown("is no commit that is in this checkout")
	}
	if err == nil && both {
		out, err = w.runAtMost(ctx, 1<<10, "merge-base", strings.TrimRight(string(out), "\r\n"), "HEAD")
		if unreachable(err) {
			return "", unknown("and HEAD come from no commit that is in this checkout")
		}
	}
	return strings.TrimRight(string(out), "\r\n"), err
}

// At is Versions of what a commit has, as Commit gives it.
func (w WorkTree) At(ctx context.Context, commit string, paths ...string) (map[string]Version, error) {
	out, err := w.run(ctx, append([]string{"ls-tree", "-r", "-z", commit, "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]Version{}
	for path, fields := range listed(out) {
		if !isRegular(fields) {
			return nil, irregular(path, "in that commit")
		}
		found[path] = Version{-1, fields[2]}
	}
	return found, nil
}

// headName matches the names under which git keeps the commits that a merge, a rebase and the like are about. A
// repository may hold other files, whose names git would take for options.
var headName = spelling.Form(`^[A-Z_]*HEAD$`)

// Committed is Versions of what the commits have that a merge, a rebase and the like are about: HEAD, each that
// the repository has under a name such as MERGE_HEAD, and the newest stash.
func (w WorkTree) Committed(ctx context.Context, paths ...string) (map[string][]Version, error) {
	dir, err := w.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(strings.TrimRight(string(dir), "\r\n"))
	if err != nil {
		return nil, err
	}
	heads := []string{"refs/stash"}
	for _, e := range entries {
		if e.Type().IsRegular() && headName().MatchString(e.Name()) {
			heads = append(heads, e.Name())
		}
	}
	found := map[string][]Version{}
	for _, head := range heads {
		out, err := w.run(ctx, append([]string{"ls-tree", "-r", "-z", head, "--"}, paths...)...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue // it names no commit, as FETCH_HEAD may
		}
		for path, fields := range listed(out) {
			if isRegular(fields) {
				found[path] = append(found[path], Version{-1, fields[2]})
			}
		}
	}
	return found, nil
}

// listed yields the path of each file that git lists, and the three fields before it, of which the first is its mode.
func listed(out []byte) func(yield func(string, []string) bool) {
	return func(yield func(string, []string) bool) {
		for line := range bytes.SplitSeq(out, []byte{0}) {
			before, path, _ := strings.Cut(string(line), "\t")
			fields := strings.Fields(before)
			if len(fields) == 3 && !yield(path, fields) {
				return
			}
		}
	}
}

func isRegular(fields []string) bool { return strings.HasPrefix(fields[0], "100") }

// Read returns the content of a version.
func (w WorkTree) Read(ctx context.Context, v Version) ([]byte, error) {
	return w.ReadAtMost(ctx, v, maxOutput)
}

// ReadAtMost is Read of a content of at most limit bytes; a larger one is an error.
func (w WorkTree) ReadAtMost(ctx context.Context, v Version, limit int) ([]byte, error) {
	return w.runAtMost(ctx, limit, "cat-file", "blob", v.object)
}
