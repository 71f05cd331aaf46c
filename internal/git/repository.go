// Package git reads one commit of a git repository elsewhere, with the git command.
//
// The command uses the user's own configuration for credentials, proxies and keys, and is
// run as follows:
//
//   - https and ssh only, also after redirects and whatever url.insteadOf says.
//   - Nothing is asked on the terminal and nothing of the repository is run: there is no
//     working tree and so neither checkout, filter nor hook; submodules are left alone.
//   - Files come from the object store, as blobs: what the repository's attributes or the
//     user's configuration say of line ends cannot change them.
//   - No repository around the working directory counts, and of the environment only how to
//     connect: see package foreign.
//   - Time and disk are bounded by [Repository].Time and maxSize. A server that is silent for as
//     long as stallTime is given up, and so is a list of references after resolveTime.
//
// Where the outside is at fault the error is an [*wire.Error].
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
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

// Repository is a git repository elsewhere.
type Repository struct {
	URL      string
	Checkout foreign.Checkout // in which no git is started
	Environ  []string
	// May is asked about the repository's host before it is; nil lets only the public
	// hosts of repositories be asked.
	May  func(consent.HostUse) error
	Time time.Duration // for a commit, and for each run of git; 0 is fetchTime
	Work string        // where directories to work in are made, the user's alone; "" is the system's
}

// Ref says which commit of a repository is meant: that of a tag, of a branch, or with
// neither of the default branch.
type Ref struct{ Tag, Branch string }

var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// ErrNoRef says that a repository has no such tag or branch, or no such commit.
var ErrNoRef = errors.New("there is no such tag, branch or commit")

// Resolve asks which commit ref names now: 40 hex digits.
func (r Repository) Resolve(ctx context.Context, ref Ref) (commit string, err error) {
	if err := r.checkHost(); err != nil {
		return "", err
	}
	names := []string{"HEAD"}
	switch {
	case ref.Tag != "":
		names = []string{"refs/tags/" + ref.Tag + "^{}",
			"refs/tags/" + ref.Tag} // an annotated tag is an object of its own
	case ref.Branch != "":
		names = []string{"refs/heads/" + ref.Branch}
	}
	dir, remove, err := foreign.MakeDir(r.Work, "git-")
	if err != nil {
		return "", err
	}
	defer remove()
	ctx, cancel := context.WithTimeoutCause(ctx, min(resolveTime, r.time()), r.timeUp())
	defer cancel()
	out, err := r.run(ctx, dir, append([]string{"ls-remote", "--", r.URL}, names...)...)
	if err != nil {
		return "", err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[name] = id
	}
	for _, name := range names {
		if id, ok := found[name]; ok && objectID.MatchString(id) {
			return id, nil
		}
	}
	return "", &wire.Error{Ref: r.name(), Cause: evidence.NotFound,
		Err: fmt.Errorf("%s: %w", names[len(names)-1], ErrNoRef)}
}

// publicHosts are those that nobody need be asked about.
var publicHosts = map[string]bool{
	wire.HostOfText(model.RegistryURLGitHub): true,
	wire.HostOfText(model.RegistryURLGitLab): true,
}

// checkHost is an error if nobody agreed that the host of the repository is asked.
func (r Repository) checkHost() error {
	host := wire.HostOfText(r.URL)
	if publicHosts[host] {
		return nil
	}
	use := consent.HostUse{Host: host, File: r.name()}
	if r.May == nil {
		return consent.Refusal(use)
	}
	return r.May(use)
}

// name names the repository in messages, without what may be a password.
func (r Repository) name() string { return "git+" + artifact.RedactURLs(r.URL) }

func (r Repository) time() time.Duration { return cmp.Or(r.Time, fetchTime) }

func (r Repository) timeUp() error {
	return &wire.Error{Ref: r.name(), Cause: evidence.Unreachable, Err: errors.New("time is up")}
}
