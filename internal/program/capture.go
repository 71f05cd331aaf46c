package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/capture"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// captureVersions are the protocol versions that a surface is captured under, newest first: all
// that the Go SDK speaks. A server may show something else under each.
var captureVersions = [...]string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// captureCapabilities are the capabilities of the clients that a surface is captured as, none and
// all, because servers choose the tools that they offer by the client's capabilities.
var captureCapabilities = [...]string{`{}`,
	`{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}`}

// captureWidth is how many processes of one server are started at once.
const captureWidth = 4

// captureHeadStart is how long the first process runs alone. A server that dies at once, for
// example because a variable is missing, is then started only once.
const captureHeadStart = 500 * time.Millisecond

// captureRetryPauses are the pauses before a process that is started alone is tried again:
// descendants of a killed process may hold its port or file a moment longer.
var captureRetryPauses = [...]time.Duration{200 * time.Millisecond, 600 * time.Millisecond}

// clientView is what one process of the server showed one kind of client.
type clientView struct {
	version string // of the protocol, that was asked for
	caps    string
	shown   *surface.Surface // nil: not captured yet
}

// String names the client in an error.
func (s *clientView) String() string {
	if s.caps == captureCapabilities[0] {
		return "a client of " + s.version + " that can do nothing"
	}
	return "a client of " + s.version + " that can do everything"
}

// cornerVersions are the versions that every server is started under, for each of captureCapabilities.
// What a server shows from some version on, or up to one, differs between these two.
var cornerVersions = [...]string{captureVersions[0], captureVersions[len(captureVersions)-1]}

// A capturer starts one program for several kinds of client.
type capturer struct {
	*Program
	w        *workspace.Workspace
	declared project.Server
	adm      policy.Admitted
	timeout  time.Duration
	output   *messages
	views    []*clientView
}

// Capture starts the program for a client of the newest and one of the oldest version, each once with no
// capabilities and once with all. Only if these are shown different things is it started for clients of
// the versions between, too: the guard refuses what only such a client is shown, as nobody approved it.
// Capture joins what all are shown. timeout bounds each process; 0 is a minute, or more if it is declared. What the
// server prints is shown if that fails, or once it takes long.
func (p *Program) Capture(ctx context.Context, w *workspace.Workspace, declared project.Server, adm policy.Admitted,
	timeout time.Duration) (_ *surface.Surface, err error) {
	output, err := newMessages(cmp.Or[io.Writer](w.Host.Stderr, os.Stderr), declared.Name)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, declared.Name, "", err)
	}
	p.stderr = output.child
	defer func() {
		p.stderr = nil
		if err != nil {
			output.show()
		}
		output.close()
	}()
	timeout = cmp.Or(timeout, max(time.Minute, declared.StartupTimeout))
	c := &capturer{Program: p, w: w, declared: declared, adm: adm, timeout: timeout, output: output}
	if err := c.all(ctx, cornerVersions[:]); err != nil {
		return nil, err
	}
	for _, v := range c.views[1:] {
		if !bytes.Equal(v.shown.Canonical(), c.views[0].shown.Canonical()) {
			if err := c.all(ctx, captureVersions[1:len(captureVersions)-1]); err != nil {
				return nil, err
			}
			break
		}
	}
	return joinViews(declared.Name, c.views)
}

// all captures what clients of versions are shown. Processes run side by side. If that fails, for example
// because the server needs a port or a file for itself, they are started one after the other. Once one
// process has died before any answer, no more are started beside those that run; if all died, starting
// them alone would not help.
func (c *capturer) all(ctx context.Context, versions []string) error {
	var views []*clientView
	for _, version := range versions {
		for _, caps := range captureCapabilities {
			views = append(views, &clientView{version: version, caps: caps})
		}
	}
	c.views = append(c.views, views...)
	defer c.w.Host.Announce("capturing what %s shows: %d starts", c.declared.Name, len(views))()
	var dead deaths
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(captureWidth)
	for i, s := range views {
		ended := make(chan struct{})
		group.Go(func() error {
			defer close(ended)
			if dead.first() != nil {
				return nil
			}
			return dead.note(c.one(parallel, s))
		})
		if i == 0 {
			select {
			case <-ended:
			case <-time.After(captureHeadStart):
			}
		}
	}
	err := group.Wait()
	if died := dead.first(); died != nil && err == nil {
		if !slices.ContainsFunc(c.views, func(s *clientView) bool { return s.shown != nil }) {
			c.output.show()
			c.output.close()
			died.Detail = c.output.lastLines()
			return died
		}
		err = died
	}
	if evidence.ClassOf(err) != evidence.Operation {
		return err
	}
	return c.alone(ctx, views)
}

// alone starts those that are left one after the other, and each again if it fails.
func (c *capturer) alone(ctx context.Context, views []*clientView) error {
	for _, s := range views {
		if s.shown != nil {
			continue
		}
		err := c.one(ctx, s)
		for _, wait := range captureRetryPauses {
			if evidence.ClassOf(err) != evidence.Operation || ctx.Err() != nil {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
				err = c.one(ctx, s)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one starts one process, and captures what it shows.
func (c *capturer) one(ctx context.Context, s *clientView) error {
	name := c.declared.Name
	process, err := c.Start(ctx, c.w.Host, c.adm, c.w.Dir, nil)
	if err != nil {
		return evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errors.New("it took too long"))
	defer cancel()
	listing, _, err := capture.Surface(ctx, process, []byte(s.caps), s.version, c.declared.Excluded())
	process.Kill()
	if err != nil {
		return &evidence.Error{
			Subject: name, Kind: evidence.Operation,
			Err: fmt.Errorf("its surface could not be captured: %w", err),
			Hint: "variables that it needs must be set, and named under variables in hallmark.toml; " +
				"a kind that it cannot list is left out with surface_kinds",
		}
	}
	if s.shown, err = surface.New(listing); err != nil {
		return evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("its surface has no canonical form: %w", err))
	}
	return nil
}

// deaths keeps the first error of a process that died before any answer.
type deaths struct {
	mu  sync.Mutex
	err *evidence.Error // nil: none died
}

func (d *deaths) first() *evidence.Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// note stores err if it is about a process that died, and returns any other error.
func (d *deaths) note(err error) error {
	var problem *evidence.Error
	if !errors.As(err, new(*capture.DiedError)) || !errors.As(err, &problem) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = problem
	}
	return nil
}

// joinViews returns the union of what the clients were shown. It fails if two clients were shown
// different items of one name, because a lock holds one digest of it; the error names all of these.
func joinViews(server string, views []*clientView) (*surface.Surface, error) {
	type sight struct {
		view *clientView
		item surface.Item
	}
	first := map[string]sight{}
	differ := map[string]string{} // for each item that differs, which two clients were shown it
	for _, v := range views {
		for _, item := range v.shown.Items() {
			key := item.Key()
			before, ok := first[key]
			switch {
			case !ok:
				first[key] = sight{v, item}
			case differ[key] == "" && !bytes.Equal(before.item.JSON, item.JSON):
				differ[key] = fmt.Sprintf("%s differs, to %s and to %s", surface.Escape(key), before.view, v)
			}
		}
	}
	if len(differ) > 0 {
		return nil, unstableError(server, differ)
	}
	seen := views[0].shown
	for _, v := range views[1:] {
		more, err := surface.Union(seen, v.shown)
		if err != nil {
			return nil, evidence.Errorf(evidence.Drift, server, "", err)
		}
		seen = more
	}
	return seen, nil
}

// unstableError names the items of which two starts showed different ones, with what is said of
// each, and what can be done about it.
func unstableError(server string, differ map[string]string) error {
	all := []error{errors.New("two starts showed different items")}
	tools, kinds := false, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(differ)) {
		all = append(all, errors.New(differ[key]))
		kind := surface.KindOf(key)
		tools = tools || kind == surface.KindTool
		kinds[strings.TrimSuffix(string(kind), "s")+"s"] = true // as surface_kinds calls them
	}
	hint := "items that differ at each start, or by the client's protocol, cannot be locked; "
	if tools {
		hint += "ask its publisher for tools that stay the same, or pin another version of it, as tools are always watched"
	} else {
		hint += "leave " + strings.Join(slices.Sorted(maps.Keys(kinds)), " and ") + " out of surface_kinds in " +
			`hallmark.toml, as in surface_kinds = ["tools"], then run 'hallmark pin ` + server + "' again"
	}
	return evidence.Errorf(evidence.Drift, server, hint, errors.Join(all...))
}
