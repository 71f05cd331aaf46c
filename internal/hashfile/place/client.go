package place

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
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
// listed any more. Paths are followed without the lock: a file system may take its time.
func (c *clientRoots) nameRoots(paths []string) []*Named {
	fresh := map[string]*Named{}
	for {
		c.mu.Lock()
		missing := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
			return c.names[path] != nil || fresh[path] != nil
		})
		if len(missing) == 0 {
			defer c.mu.Unlock()
			return c.setNames(paths, fresh)
		}
		c.mu.Unlock()
		for _, path := range missing {
			n := &Named{given: path}
			n.agreed, n.through, _ = FollowPath(path)
			fresh[path] = n
		}
	}
}

// setNames keeps the roots of the paths, with those that are new, and closes the others.
func (c *clientRoots) setNames(paths []string, fresh map[string]*Named) (found []*Named) {
	listed := map[string]*Named{}
	for _, path := range paths {
		if listed[path] != nil {
			continue
		}
		n := cmp.Or(c.names[path], fresh[path])
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

// maxAsks is how often one call asks: a client may notify of a change whenever it is asked.
const maxAsks = 3

// list returns the client's roots. It asks the client, unless there is an answer that is valid for a call that begins
// now: an answer to a request that another call sends meanwhile or, if the client notifies of changes, an answer to a
// request after the last notification. A call waits for its client once.
func (c *clientRoots) list(ctx context.Context, call *stdio.Call, wait time.Duration) listing {
	c.mu.Lock()
	came := c.asked
	c.mu.Unlock()
	late := fmt.Errorf("it was asked with roots/list, and did not answer within %s", wait)
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for range maxAsks {
		select {
		case c.asking <- struct{}{}:
		case <-within.Done():
			return listing{err: cmp.Or(ctx.Err(), late)}
		}
		l, silent := c.valid(came, call.Roots.ListChanged)
		if l == nil {
			answered := c.ask(call)
			if !silent {
				c.await(within, answered)
			}
			l, silent = c.valid(came, call.Roots.ListChanged)
		}
		<-c.asking
		switch {
		case l != nil:
			return *l
		case ctx.Err() != nil:
			return listing{err: ctx.Err()}
		case silent || within.Err() != nil:
			return listing{err: late}
		}
	}
	return listing{err: errors.New("it notified of a change whenever it was asked with roots/list")}
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

// await waits for an answer. A client that does not answer until ctx ends, and notifies of no change, is silent.
func (c *clientRoots) await(ctx context.Context, answered <-chan struct{}) {
	c.mu.Lock()
	changes := c.changes
	c.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.silent = c.changes == changes && errors.Is(ctx.Err(), context.DeadlineExceeded)
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
