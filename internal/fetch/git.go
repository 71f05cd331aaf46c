package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Repository is a git repository elsewhere. It is read with the git command, which uses
// the user's own configuration for credentials, proxies and keys, and as follows:
//
//   - https and ssh only, also after redirects and whatever url.insteadOf says.
//   - Nothing is asked on the terminal and nothing of the repository is run: there is no
//     working tree and so neither checkout, filter nor hook; submodules are left alone.
//   - Files come from the object store, as blobs: what the repository's attributes or the
//     user's configuration say of line ends cannot change them.
//   - No repository around the working directory counts, and of the environment only how to
//     connect: see package foreign.
//   - Time and disk are bounded by [Limits]: FileTime and FileSize. A server that is silent
//     for as long as Stall is given up, and so is a list of references after resolveTime.
type Repository struct {
	URL      string
	Checkout foreign.Checkout // in which no git is started
	Environ  []string
	Limits   Limits
	// May is asked about the repository's host before it is; nil lets only those that
	// Hallmark itself names be asked.
	May  func(HostUse) error
	Work string // where directories to work in are made, the user's alone; "" is the system's
}

// GitRef says which commit of a repository is meant: that of a tag, of a branch, or with
// neither of the default branch.
type GitRef struct{ Tag, Branch string }

var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// ErrNoRef says that a repository has no such tag or branch, or no such commit.
var ErrNoRef = errors.New("there is no such tag, branch or commit")

// Resolve asks which commit ref names now: 40 hex digits.
func (r Repository) Resolve(ctx context.Context, ref GitRef) (commit string, err error) {
	if err := r.mayAsk(); err != nil {
		return "", err
	}
	names := []string{"HEAD"}
	switch {
	case ref.Tag != "":
		names = []string{"refs/tags/" + ref.Tag + "^{}", "refs/tags/" + ref.Tag} // an annotated tag is an object of its own
	case ref.Branch != "":
		names = []string{"refs/heads/" + ref.Branch}
	}
	dir, remove, err := foreign.MakeDir(r.Work, "git-")
	if err != nil {
		return "", err
	}
	defer remove()
	ctx, cancel := context.WithTimeoutCause(ctx, min(resolveTime, r.Limits.orDefault().FileTime), r.timeUp())
	defer cancel()
	out, err := r.git(ctx, dir, append([]string{"ls-remote", "--", r.URL}, names...)...)
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
	return "", &Error{Ref: r.ref(), Cause: evidence.NotFound, Err: fmt.Errorf("%s: %w", names[len(names)-1], ErrNoRef)}
}

// Commit is one commit of a repository, on this machine until Close.
type Commit struct {
	ID   string
	repo Repository
	dir  string
}

// Fetch gets a commit, with its history only where the server does not give it alone.
func (r Repository) Fetch(ctx context.Context, commit string) (*Commit, error) {
	if !objectID.MatchString(commit) {
		return nil, fmt.Errorf("%+q is not the id of a commit", commit)
	}
	if err := r.mayAsk(); err != nil {
		return nil, err
	}
	dir, _, err := foreign.MakeDir(r.Work, "git-")
	if err != nil {
		return nil, err
	}
	c := &Commit{ID: commit, repo: r, dir: dir}
	if err := c.fetch(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Commit) fetch(ctx context.Context) error {
	r := c.repo
	ctx, cancel := context.WithTimeoutCause(ctx, r.Limits.orDefault().FileTime, r.timeUp())
	defer cancel()
	ctx, stop := c.bounded(ctx)
	defer stop()
	if _, err := r.git(ctx, c.dir, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	fetch := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance"}
	_, alone := r.git(ctx, c.dir, append(fetch, "--depth=1", "--", r.URL, c.ID)...)
	if alone != nil {
		if _, err := r.git(ctx, c.dir, append(fetch, "--", r.URL, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")...); err != nil {
			return err
		}
	}
	kind, err := r.git(ctx, c.dir, "cat-file", "-t", c.ID)
	if err != nil || strings.TrimSpace(string(kind)) != "commit" {
		return &Error{Ref: r.ref() + "#" + c.ID, Cause: evidence.NotFound, Err: ErrNoRef}
	}
	return nil
}

// bounded ends what runs under the context once the directory of c has grown too large.
func (c *Commit) bounded(ctx context.Context) (context.Context, func()) {
	limit := c.repo.Limits.orDefault().FileSize
	ctx, cancel := context.WithCancelCause(ctx)
	tick := time.NewTicker(200 * time.Millisecond)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var size int64
			filepath.WalkDir(c.dir, func(_ string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if info, err := d.Info(); err == nil {
						size += info.Size()
					}
				}
				return nil
			})
			if size > limit {
				cancel(&Error{Ref: c.repo.ref(), Cause: evidence.TooLarge, Err: fmt.Errorf("more than %s bytes", evidence.Group(limit))})
				return
			}
		}
	}()
	return ctx, func() { tick.Stop(); cancel(nil) }
}

// Close removes what Fetch got.
func (c *Commit) Close() error { return os.RemoveAll(c.dir) }

// GitFile is one file of a commit.
type GitFile struct {
	Path string
	Size int64
	Kind string // what it is, if it is no regular file: "a symbolic link", "a submodule"
	id   string
}

// Files lists the files of a directory of the commit, "" for its root, by their paths
// below it.
func (c *Commit) Files(ctx context.Context, sub string) (map[string]GitFile, error) {
	at := c.ID
	if sub != "" {
		at += ":" + sub
	}
	out, err := c.repo.git(ctx, c.dir, "ls-tree", "-r", "-z", "-l", "--full-tree", at)
	if err != nil {
		return nil, err
	}
	files := map[string]GitFile{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, path, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			continue
		}
		f := GitFile{Path: path, id: fields[2]}
		switch fields[0] {
		case "100644", "100755", "100664":
			if f.Size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
				return nil, fmt.Errorf("git ls-tree: %w", err)
			}
		case "120000":
			f.Kind = "a symbolic link"
		case "160000":
			f.Kind = "a submodule"
		default:
			f.Kind = "no file"
		}
		files[path] = f
	}
	return files, nil
}

// Open reads a file that Files listed.
func (c *Commit) Open(ctx context.Context, f GitFile) (io.ReadCloser, error) {
	out, err := c.repo.git(ctx, c.dir, "cat-file", "blob", f.id)
	return io.NopCloser(bytes.NewReader(out)), err
}

// gitSettings go before the user's own.
var gitSettings = []string{
	"protocol.allow=never", "protocol.https.allow=always", "protocol.ssh.allow=always",
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.interactive=false",
	"fetch.fsckObjects=true", "gc.auto=0", "maintenance.auto=false", "submodule.recurse=false", "fetch.writeCommitGraph=false",
	"uploadpack.packObjectsHook=", "advice.detachedHead=false",
}

// resolveTime is how long a server may take to list its references.
const resolveTime = 2 * time.Minute

// mayAsk is an error if nobody agreed that the host of the repository is asked.
func (r Repository) mayAsk() error {
	host := hostOfText(r.URL)
	if ourHosts()[host] {
		return nil
	}
	use := HostUse{Host: host, File: r.ref()}
	if r.May == nil {
		return Refusal(use)
	}
	return r.May(use)
}

// ref names the repository in messages, without what may be a password.
func (r Repository) ref() string { return "git+" + artifact.RedactURLs(r.URL) }

func (r Repository) timeUp() error {
	return &Error{Ref: r.ref(), Cause: evidence.Unreachable, Err: errTimeUp}
}

// maxGitOutput bounds what git may print, in bytes: a list of files, or one of them.
const maxGitOutput = 512 << 20

// git runs the git command in a directory of ours.
func (r Repository) git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	limits := r.Limits.orDefault()
	stall := max(1, int(limits.Stall/time.Second))
	all := []string{"--git-dir=" + dir}
	for _, s := range append(gitSettings, "http.lowSpeedLimit=1", "http.lowSpeedTime="+strconv.Itoa(stall)) {
		all = append(all, "-c", s)
	}
	bin, err := r.Checkout.Find(foreign.Variable(r.Environ, "PATH"), "git")
	if evidence.ClassOf(err) == evidence.Refused {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Ref: r.ref(), Cause: evidence.Unsupported, Err: errors.New("git is not installed")}
	}
	ssh := cmp.Or(foreign.Variable(r.Environ, "GIT_SSH_COMMAND"), "ssh")
	out, err := foreign.Run(ctx, foreign.Call{
		Tool: foreign.Git, Path: bin, Args: append(all, args...), Dir: dir, Checkout: r.Checkout, Environ: r.Environ, Time: limits.FileTime, Output: maxGitOutput,
		Set: []string{
			"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never",
			"GIT_SSH_COMMAND=" + ssh + " -oBatchMode=yes -oConnectTimeout=" + strconv.Itoa(stall) + " -oServerAliveInterval=15 -oServerAliveCountMax=4",
			"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ATTR_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "LC_ALL=C",
		},
	})
	if err == nil {
		return out.Stdout, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text := strings.ReplaceAll(strings.TrimSpace(string(out.Messages)), "\n", "; ")
	return nil, &Error{Ref: r.ref(), Cause: evidence.Unreachable, Err: fmt.Errorf("git %s: %w: %s", args[0], err, surface.Escape(artifact.RedactURLs(text)))}
}
