package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Commit is one commit of a repository, on this machine until Close.
type Commit struct {
	ID   string
	repo Repository
	dir  string
	all  func() (map[string]File, error) // of its root, listed once

	mu    sync.Mutex      // one at a time prepares files
	tried map[string]bool // ids of files that were to be prepared; whether they were
}

// Fetch fetches a commit; with its history only if the server does not give it without.
func (r Repository) Fetch(ctx context.Context, commit string) (*Commit, error) {
	if !objectID().MatchString(commit) {
		return nil, fmt.Errorf("%+q is not the id of a commit", commit)
	}
	if err := r.checkHost(); err != nil {
		return nil, err
	}
	dir, _, err := foreign.MakeDir(r.Work, "git-")
	if err != nil {
		return nil, err
	}
	c := &Commit{ID: commit, repo: r, dir: dir, tried: map[string]bool{}}
	c.all = sync.OnceValues(func() (map[string]File, error) { return c.list(ctx) })
	if err := c.fetch(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// fetch fetches the commit into its directory.
func (c *Commit) fetch(ctx context.Context) error {
	r := c.repo
	ctx, cancel := context.WithTimeoutCause(ctx, r.time(), r.timeUp())
	defer cancel()
	ctx, stop := c.boundSize(ctx)
	defer stop()
	if _, err := r.run(ctx, c.dir, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	fetch := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--no-auto-maintenance"}
	if _, err := r.runRemote(ctx, c.dir, append(fetch, "--depth=1", "--", r.URL, c.ID)...); err != nil {
		// Not every server gives a commit by its id.
		all := []string{"--", r.URL, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
		if _, err := r.runRemote(ctx, c.dir, append(fetch, all...)...); err != nil {
			return err
		}
	}
	kind, err := r.run(ctx, c.dir, "cat-file", "-t", c.ID)
	if err != nil || strings.TrimSpace(string(kind)) != "commit" {
		return &wire.Error{Ref: r.name() + "#" + c.ID, Cause: evidence.NotFound, Err: ErrNoRef,
			Hint: r.listing()}
	}
	return nil
}

// boundSize returns a context that ends when the directory of c grows beyond maxSize, and a
// function that stops watching it.
func (c *Commit) boundSize(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	tick := time.NewTicker(200 * time.Millisecond)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if c.size() > maxSize {
				cancel(&wire.Error{Ref: c.repo.name(), Cause: evidence.TooLarge,
					Err: fmt.Errorf("more than %s bytes", evidence.Group(maxSize))})
				return
			}
		}
	}()
	return ctx, func() { tick.Stop(); cancel(nil) }
}

// size is how many bytes the files in the directory of c have.
func (c *Commit) size() (size int64) {
	filepath.WalkDir(c.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// Close removes what Fetch fetched.
func (c *Commit) Close() error { return os.RemoveAll(c.dir) }

// KindLink is the Kind of a symbolic link, whose content is where it leads.
const KindLink = "a symbolic link"

const kindSubmodule = "a submodule"

// File is one file of a commit.
type File struct {
	Path string
	Size int64
	Kind string // "" for a regular file, else such as "a symbolic link", "a submodule"
	ID   string // of its bytes, as git names them
	at   string // its path from the root
}

// Files lists the files of a directory of the commit, "" for its root, by their paths
// below it.
func (c *Commit) Files(sub string) (map[string]File, error) {
	all, err := c.all()
	if err != nil || sub == "" {
		return all, err
	}
	files := map[string]File{}
	for at, f := range all {
		if rest, ok := strings.CutPrefix(at, sub+"/"); ok {
			f.Path = rest
			files[rest] = f
		}
	}
	if len(files) == 0 { // git has no empty directories
		return nil, &wire.Error{Ref: c.repo.name() + "#" + c.ID, Cause: evidence.NotFound,
			Err: fmt.Errorf("there is no directory %+q", sub)}
	}
	return files, nil
}

// list lists the files of the root.
func (c *Commit) list(ctx context.Context) (map[string]File, error) {
	out, err := c.repo.run(ctx, c.dir, "ls-tree", "-r", "-z", "-l", "--full-tree", c.ID)
	if err != nil {
		return nil, err
	}
	files := map[string]File{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, at, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			continue
		}
		f := File{Path: at, ID: fields[2], at: at}
		if fields[0] == "160000" { // which has no size
			fields[3] = "0"
			f.Kind = kindSubmodule
		}
		if f.Size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
			return nil, fmt.Errorf("git ls-tree: %w", err)
		}
		switch fields[0] {
		case "100644", "100755", "100664", "160000":
		case "120000":
			f.Kind = KindLink
		default:
			f.Kind = "no file"
		}
		files[at] = f
	}
	return files, nil
}

// Open reads a file that Files listed. With the first of a name or of a directory, the others of that name and of that
// directory are prepared: a reader of one reads those, too.
func (c *Commit) Open(ctx context.Context, f File) (io.ReadCloser, error) {
	if f.Kind == KindLink && f.Size > tree.MaxPath { // all of it would be in memory, and it leads nowhere
		return nil, fmt.Errorf("%+q is a symbolic link of %s bytes", f.at, evidence.Group(f.Size))
	}
	if !c.isPrepared(f.ID) {
		all, err := c.all()
		if err == nil {
			err = c.Prepare(ctx, func(yield func(File) bool) {
				for at, other := range all {
					if path.Base(at) == path.Base(f.at) || path.Dir(at) == path.Dir(f.at) {
						if !yield(other) {
							return
						}
					}
				}
			})
		}
		if err != nil {
			return nil, err
		}
	}
	var content []byte
	var err error
	if c.isPrepared(f.ID) {
		content, err = os.ReadFile(c.keptName(f.ID))
	} else {
		content, err = c.repo.run(ctx, c.dir, "cat-file", "blob", f.ID)
	}
	if err == nil {
		err = checkBlob(content, f.ID)
	}
	return io.NopCloser(bytes.NewReader(content)), err
}
