package place

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxClientRoots is how many roots of a client are used, which bounds the directories that are held open for it.
const maxClientRoots = 256

// clientRoots holds the client's roots. The client is asked for them before each call; a client that declared to
// notify of changes is asked once, and again after each notification. For a client that did not answer in time no call
// waits any more, until it answers after all or notifies of a change.
type clientRoots struct {
	asking chan struct{} // holds a token while a call asks

	mu      sync.Mutex
	changes int     // notifications list_changed so far
	asked   int     // how often the client was asked
	latest  listing // the newest answer
	silent  bool    // the client did not answer in time
	names   map[string]*Named
}

// listing is an answer of the client.
type listing struct {
	number  int // of the request, from 1
	changes int // notifications that had come when it was sent
	paths   []string
	cut     bool // there are more than paths holds
	err     error
}

// noteChange records a notification, after which the next call asks again.
func (c *clientRoots) noteChange() {
	c.mu.Lock()
	c.changes++
	c.silent = false
	c.mu.Unlock()
}

func (c *clientRoots) close() { c.nameRoots(nil) }

// nameRoots returns the roots of the paths, each as it was when it was first listed, and closes those that are not
// listed any more.
func (c *clientRoots) nameRoots(paths []string) []*Named {
	c.mu.Lock()
	defer c.mu.Unlock()
	listed, found := map[string]*Named{}, []*Named{}
	for _, path := range paths {
		if listed[path] != nil {
			continue
		}
		n := c.names[path]
		if n == nil {
			n = &Named{given: path}
			n.agreed, n.through, _ = FollowPath(path)
		}
		listed[path], found = n, append(found, n)
	}
	for path, n := range c.names {
		if listed[path] == nil {
			n.close()
		}
	}
	c.names = listed
	return found
}

// list returns the client's roots. It asks the client, unless there is an answer that is valid for a call that begins
// now: an answer to a request that another call sends meanwhile or, if the client notifies of changes, an answer to a
// request after the last notification. The client has wait to answer each.
func (c *clientRoots) list(ctx context.Context, call *stdio.Call, wait time.Duration) listing {
	c.mu.Lock()
	came := c.asked
	c.mu.Unlock()
	for {
		select {
		case c.asking <- struct{}{}:
		case <-ctx.Done():
			return listing{err: ctx.Err()}
		}
		l, silent := c.valid(came, call.Roots.ListChanged)
		if l == nil {
			answered := c.ask(call)
			if !silent {
				c.await(ctx, answered, wait)
			}
			l, silent = c.valid(came, call.Roots.ListChanged)
		}
		<-c.asking
		switch {
		case l != nil:
			return *l
		case ctx.Err() != nil:
			return listing{err: ctx.Err()}
		case silent:
			return listing{err: fmt.Errorf("it was asked with roots/list, and did not answer within %s", wait)}
		}
	}
}

// valid returns the newest answer, nil unless it is valid for a call that began when came requests had been sent, and
// whether the client is silent.
func (c *clientRoots) valid(came int, notifies bool) (l *listing, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := c.latest
	if newest.number > 0 && newest.changes == c.changes && (newest.number > came || notifies && newest.err == nil) {
		return &newest, c.silent
	}
	return nil, c.silent
}

// ask sends a request to the client. Its answer is kept whenever it comes, and the channel is closed then.
func (c *clientRoots) ask(call *stdio.Call) (answered <-chan struct{}) {
	c.mu.Lock()
	c.asked++
	number, changes := c.asked, c.changes
	c.mu.Unlock()
	done := make(chan struct{})
	call.Ask("roots/list", func(result json.RawMessage, err error) {
		defer close(done)
		l := readListing(result, err)
		l.number, l.changes = number, changes
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.silent = false; number > c.latest.number {
			c.latest = l
		}
	})
	return done
}

// await waits for an answer, but not for ever.
func (c *clientRoots) await(ctx context.Context, answered <-chan struct{}, wait time.Duration) {
	c.mu.Lock()
	changes := c.changes
	c.mu.Unlock()
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-late.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.silent = c.changes == changes
	}
}

// readListing reads an answer. Roots whose URI is not that of a local file are left out.
func readListing(result json.RawMessage, err error) listing {
	var answer struct {
		Roots []*struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	switch {
	case err != nil:
		return listing{err: err}
	case surface.DecodeKnown(result, &answer) != nil:
		return listing{err: errors.New("the answer is no object with a list of roots")}
	}
	if answer.Roots == nil {
		return listing{err: errors.New("the answer has no roots")}
	}
	l := listing{paths: []string{}}
	for _, r := range answer.Roots {
		if r == nil || r.URI == "" {
			return listing{err: errors.New("the answer holds a root without a URI")}
		}
		path, ok := ParseFileURI(r.URI)
		switch {
		case !ok:
		case len(l.paths) == maxClientRoots:
			l.cut = true
		default:
			l.paths = append(l.paths, path)
		}
	}
	return l
}

// ParseFileURI returns the absolute path of a file URI of this machine.
func ParseFileURI(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	path = filepath.Clean(filepath.FromSlash(path))
	return path, filepath.IsAbs(path)
}
