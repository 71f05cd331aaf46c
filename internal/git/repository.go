// Package git reads one commit of a remote git repository, with the git command, and what a merge left in the index
// of a work tree of the user's: see [WorkTree]. All that follows is about the former.
//
// The command uses the user's own configuration for credentials, proxies and keys: credential
// helpers, core.sshCommand and ssh.variant too. Neither the configuration of the checkout in which
// the user works nor a program in it is used. It is run as follows:
//
//   - https and ssh only, also after redirects and whatever url.insteadOf says.
//   - It asks nothing on the terminal and runs nothing of the repository: there is no
//     working tree, and so neither checkout, filter nor hook. Submodules are not read.
//   - Files are read from the object store as blobs, so that neither the repository's
//     attributes nor the user's configuration change their line ends.
//   - It uses no repository around the working directory, and of the environment only how
//     to connect: see package foreign.
//   - Time and disk are bounded by [Repository].Time and maxSize. It ends when a server
//     is silent for stallTime, or has not listed its references after resolveTime.
//
// If the server or the repository is at fault, the error is an [*wire.Error].
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Bounds of what one repository may cost.
const (
	fetchTime   = 10 * time.Minute // for a commit, and for each run of git
	resolveTime = 2 * time.Minute  // for a server to list its references
	stallTime   = time.Minute      // longest silence of a server
	maxSize     = 1 << 30          // bytes of a commit on this machine's disk
	maxOutput   = 512 << 20        // bytes that git may print: a list of files, or one of them
)

// Repository is a remote git repository.
type Repository struct {
	URL      string
	Checkout foreign.Checkout // no git in it is started
	Environ  []string         // of the git command

	// May is asked about the repository's host before a connection to it; an error refuses it.
	// Nil allows only the public hosts of repositories.
	May  func(wire.HostUse) error
	Time time.Duration // for a commit, and for each run of git; 0 is fetchTime
	Work string        // where temporary directories are made, for the user alone; "" is the system's
}

// Ref names a commit of a repository: that of a tag, of a branch, or with neither that of the
// default branch.
type Ref struct{ Tag, Branch string }

// objectID matches the id of an object.
var objectID = spelling.Form(`^[0-9a-f]{40}$`)

// ErrNoRef says that a repository has no such tag or branch, or no such commit.
var ErrNoRef = errors.New("there is no such tag, branch or commit")

// Resolve returns the id of the commit that ref names now, 40 hex digits.
func (r Repository) Resolve(ctx context.Context, ref Ref) (commit string, err error) {
	names := []string{"HEAD"}
	switch {
	case ref.Tag != "":
		names = []string{"refs/tags/" + ref.Tag + "^{}", "refs/tags/" + ref.Tag} // the first for an annotated tag
	case ref.Branch != "":
		names = []string{"refs/heads/" + ref.Branch}
	}
	found, err := r.FindRefs(ctx, names...)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if id, ok := found[name]; ok && objectID().MatchString(id) {
			return id, nil
		}
	}
	return "", &wire.Error{Ref: r.name(), Cause: evidence.NotFound, Hint: r.otherRefs(ctx, ref),
		Err: fmt.Errorf("%s: %w", names[len(names)-1], ErrNoRef)}
}

// FindRefs returns which of the references with these full names the repository has, with the id of each.
func (r Repository) FindRefs(ctx context.Context, names ...string) (map[string]string, error) {
	found, err := r.listRefs(ctx, names...)
	maps.DeleteFunc(found, func(name, _ string) bool { return !slices.Contains(names, name) }) // that only end so
	return found, err
}

// listRefs returns the references that git lists for these arguments, with the id of each.
func (r Repository) listRefs(ctx context.Context, args ...string) (map[string]string, error) {
	if err := r.checkHost(); err != nil {
		return nil, err
	}
	dir, remove, err := foreign.MakeDir(r.Work, "git-")
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, cancel := context.WithTimeoutCause(ctx, min(resolveTime, r.time()), r.timeUp())
	defer cancel()
	out, err := r.runRemote(ctx, dir, append([]string{"ls-remote", "--", r.URL}, args...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[name] = id
	}
	return found, nil
}

// publicHosts are asked without consent.
var publicHosts = map[string]bool{
	wire.HostOfText(model.RegistryURLGitHub): true,
	wire.HostOfText(model.RegistryURLGitLab): true,
}

// checkHost returns an error if nobody agreed to a connection to the repository's host.
func (r Repository) checkHost() error {
	host := wire.HostOfText(r.URL)
	if publicHosts[host] {
		return nil
	}
	use := wire.HostUse{Host: host, File: r.name()}
	if r.May == nil {
		return wire.Refusal(use)
	}
	return r.May(use)
}

// name returns the repository's name for messages, without what may be a password.
func (r Repository) name() string { return "git+" + artifact.RedactURLs(r.URL) }

func (r Repository) time() time.Duration { return cmp.Or(r.Time, fetchTime) }

func (r Repository) timeUp() error {
	return &wire.Error{Ref: r.name(), Cause: evidence.Unreachable, Err: errors.New("time is up")}
}
