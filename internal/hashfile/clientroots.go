package hashfile

import (
	"context"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// statelessVersion is the first protocol version in which a server cannot ask the client:
// it answers that it needs input, and the call comes again with it.
const statelessVersion = "2026-07-28"

// rootsTime is how long a client may take to list its roots.
const rootsTime = 30 * time.Second

// maxClientRoots bounds what a client can make the server hold open.
const maxClientRoots = 256

// clientRoots are the client's roots as it last listed them.
type clientRoots struct {
	mu         sync.Mutex
	generation int      // raised by each list_changed
	listed     int      // generation of what follows; 0 is never
	paths      []string // without links
	given      []string // as they were listed
	opened     []*root  // only if they are the allowed directories themselves; calls may use those of earlier lists

	asking sync.Mutex // one call at a time asks
}

// changed makes the next call ask again.
func (c *clientRoots) changed() {
	c.mu.Lock()
	c.generation++
	c.mu.Unlock()
}

func (c *clientRoots) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.opened {
		r.dir.Close()
	}
}

// scope is what a call may use. If ask is not nil, the client has to be asked by it, and
// the call comes again.
func (s *Server) scope(ctx context.Context, req *mcp.CallToolRequest) (sc *scope, ask mcp.InputRequestMap, err error) {
	init := req.Session.InitializeParams()
	if init == nil || init.Capabilities == nil || init.Capabilities.RootsV2 == nil {
		if len(s.roots) == 0 {
			return nil, nil, refuse(outsideRoots, "no directory is allowed: the server was started without --root and the client offers no roots; start it with --root DIR")
		}
		return &scope{roots: s.roots}, nil, nil
	}
	c := &s.client
	if init.ProtocolVersion >= statelessVersion {
		answer, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult)
		if !ok {
			return nil, mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.set(s, answer.Roots)
		return c.scope(s), nil, nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	for {
		c.mu.Lock()
		if c.listed == c.generation+1 {
			defer c.mu.Unlock()
			return c.scope(s), nil, nil
		}
		generation := c.generation
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, rootsTime)
		answer, err := req.Session.ListRoots(ctx, nil)
		cancel()
		if err != nil {
			return nil, nil, refuse(outsideRoots, "the client does not list its roots (%s), so that no directory is allowed", show(err.Error()))
		}
		c.mu.Lock()
		if c.generation == generation { // else they changed meanwhile
			c.set(s, answer.Roots)
			c.listed = generation + 1
		}
		c.mu.Unlock()
	}
}

// set takes over a list of roots. Those that are no directories of this machine are left
// out. c.mu is held.
func (c *clientRoots) set(s *Server, roots []*mcp.Root) {
	var paths, given []string
	for _, r := range roots {
		if r == nil || len(paths) == maxClientRoots {
			continue
		}
		path, ok := fileURI(r.URI)
		if !ok {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			paths, given = append(paths, real), append(given, path)
		}
	}
	if c.listed > 0 && strings.Join(paths, "\x00") == strings.Join(c.paths, "\x00") && strings.Join(given, "\x00") == strings.Join(c.given, "\x00") {
		return
	}
	c.paths, c.given, c.listed = paths, given, max(c.listed, 1)
	if len(s.roots) > 0 {
		return
	}
	c.opened = nil
	for _, path := range paths {
		if r, err := openRoot(path); err == nil {
			c.opened = append(c.opened, r)
		}
	}
}

// scope combines the roots with the server's own. c.mu is held.
func (c *clientRoots) scope(s *Server) *scope {
	if len(s.roots) > 0 {
		return &scope{roots: s.roots, narrow: true, within: c.paths, given: c.given}
	}
	return &scope{roots: c.opened, within: c.paths, given: c.given}
}

// fileURI is the absolute path of a file URI.
func fileURI(uri string) (string, bool) {
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
