package roots

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxClientRoots is how many roots of a client are used, which bounds the directories that are held open for it.
const maxClientRoots = 256

// clientRoots holds the client's roots. The client is asked for them before each call; a client that declared to
// notify of changes is asked once, and again after each notification.
type clientRoots struct {
	asking chan struct{} // holds a token while a call asks

	mu      sync.Mutex
	changes int     // notifications list_changed so far
	asked   int     // how often the client was asked
	latest  listing // the newest answer
	names   map[string]*Named
}

// listing is an answer of the client.
type listing struct {
	number  int // of the request, from 1
	changes int // notifications that had come when it was sent
	paths   []string
	err     error
}

// noteChange records a notification, after which the next call asks again.
func (c *clientRoots) noteChange() {
	c.mu.Lock()
	c.changes++
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

// listPaths returns the paths of the client's roots. It asks the client, unless there is an answer that is valid for a
// call that begins now: an answer to a request that another call sends meanwhile or, if notifies says that the client
// notifies of changes, an answer to a request after the last notification. A client has twice wait to answer.
func (c *clientRoots) listPaths(
	ctx context.Context, session *mcp.ServerSession, notifies bool, wait time.Duration,
) ([]string, error) {
	within, cancel := context.WithTimeout(ctx, 2*wait) // for the question of another call, and then ours
	defer cancel()
	c.mu.Lock()
	came := c.asked
	c.mu.Unlock()
	for {
		select {
		case c.asking <- struct{}{}:
		case <-within.Done():
			return nil, within.Err()
		}
		paths, err, ok := c.latestAnswer(came, notifies)
		if !ok {
			c.ask(within, session, wait)
			paths, err, ok = c.latestAnswer(came, notifies)
		}
		<-c.asking
		switch {
		case ok:
			return paths, err
		case within.Err() != nil:
			return nil, within.Err()
		}
	}
}

// latestAnswer returns the newest answer; ok is false unless it is valid for a call that began when came requests had
// been sent.
func (c *clientRoots) latestAnswer(came int, notifies bool) (paths []string, err error, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.latest
	switch {
	case l.number == 0 || l.changes != c.changes:
		return nil, nil, false
	case l.number > came:
		return l.paths, l.err, true
	}
	return l.paths, nil, notifies && l.err == nil
}

// ask sends a request to the client and keeps the answer, unless ctx ended before it came.
func (c *clientRoots) ask(ctx context.Context, session *mcp.ServerSession, wait time.Duration) {
	c.mu.Lock()
	c.asked++
	l := listing{number: c.asked, changes: c.changes}
	c.mu.Unlock()
	asking, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answer, err := session.ListRoots(asking, nil)
	if err == nil {
		l.paths, err = rootPaths(answer)
	}
	if l.err = err; err != nil && ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	c.latest = l
	c.mu.Unlock()
}

// rootPaths returns the paths of an answer. Roots whose URI is not that of a local file are left out.
func rootPaths(answer *mcp.ListRootsResult) ([]string, error) {
	if answer == nil || answer.Roots == nil {
		return nil, errors.New("the answer has no roots")
	}
	paths := []string{}
	for _, r := range answer.Roots {
		if r == nil || r.URI == "" {
			return nil, errors.New("the answer holds a root without a URI")
		}
		if path, ok := ParseFileURI(r.URI); ok && len(paths) < maxClientRoots {
			paths = append(paths, path)
		}
	}
	return paths, nil
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
