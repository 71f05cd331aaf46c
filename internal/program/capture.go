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

// Capture starts the program once for each kind of client, and joins what it shows to them. timeout
// bounds each process; 0 is a minute. Processes run side by side. If that fails, for example
// because the server needs a port or a file for itself, Capture starts them one after the other.
// Once one process has died before any answer, no more are started beside those that run; if all of
// these die too, starting them alone would not help.
func (p *Program) Capture(ctx context.Context, w *workspace.Workspace, declared project.Server, adm policy.Admitted,
	timeout time.Duration) (*surface.Surface, error) {
	var views []*clientView
	for _, version := range captureVersions {
		for _, caps := range captureCapabilities {
			views = append(views, &clientView{version: version, caps: caps})
		}
	}
	defer w.Host.Announce("capturing what %s shows: %d starts", declared.Name, len(views))()
	output, err := newMessages(cmp.Or[io.Writer](w.Host.Stderr, os.Stderr), declared.Name)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, declared.Name, "", err)
	}
	defer output.close()
	p.stderr = output.child
	defer func() { p.stderr = nil }()
	captureOne := func(ctx context.Context, s *clientView) error {
		process, err := p.Start(ctx, w.Host, adm, w.Dir, nil)
		if err != nil {
			return evidence.Errorf(evidence.ClassOf(err), declared.Name, "", err)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(timeout, time.Minute), errors.New("it took too long"))
		defer cancel()
		listing, _, err := capture.Surface(ctx, process, []byte(s.caps), s.version, declared.Excluded())
		process.Kill()
		if err != nil {
			return &evidence.Error{
				Subject: declared.Name, Kind: evidence.Operation,
				Err: fmt.Errorf("its surface could not be captured: %w", err),
				Hint: "variables that it needs must be set, and named under variables in hallmark.toml; " +
					"a kind that it cannot list is left out with surface_kinds",
			}
		}
		if s.shown, err = surface.New(listing); err != nil {
			return evidence.Errorf(evidence.Validation, declared.Name, "",
				fmt.Errorf("its surface has no canonical form: %w", err))
		}
		return nil
	}
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
			return dead.note(captureOne(parallel, s))
		})
		if i == 0 {
			select {
			case <-ended:
			case <-time.After(captureHeadStart):
			}
		}
	}
	err = group.Wait()
	if died := dead.first(); died != nil && err == nil {
		if !slices.ContainsFunc(views, func(s *clientView) bool { return s.shown != nil }) {
			output.close()
			died.Detail = output.lastLines()
			return nil, died
		}
		err = died
	}
	if evidence.ClassOf(err) == evidence.Operation {
		for _, s := range views {
			if s.shown != nil {
				continue
			}
			err := captureOne(ctx, s)
			for _, wait := range captureRetryPauses {
				if evidence.ClassOf(err) != evidence.Operation || ctx.Err() != nil {
					break
				}
				select {
				case <-ctx.Done():
				case <-time.After(wait):
					err = captureOne(ctx, s)
				}
			}
			if err != nil {
				return nil, err
			}
		}
	} else if err != nil {
		return nil, err
	}
	return joinViews(declared.Name, views)
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
