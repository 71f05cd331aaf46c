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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
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
// Capture joins what all are shown, and names apart what two were shown differently. timeout bounds each process; 0 is
// a minute, or more if it is declared. What the server prints is shown if that fails, or once it takes long; the error
// of one that ended before it answered has the last lines.
func (p *Program) Capture(ctx context.Context, w *workspace.Workspace, declared project.Server, adm policy.Admitted,
	timeout time.Duration) (_ *Shown, err error) {
	output, err := newMessages(cmp.Or[io.Writer](w.Host.Stderr, os.Stderr), declared.Name)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, declared.Name, "", err)
	}
	p.stderr = output.child
	defer func() {
		p.stderr = nil
		problem, died := (*evidence.Error)(nil), errors.As(err, new(*guard.DiedError))
		if err != nil && !died {
			output.show()
		}
		output.close()
		if died && errors.As(err, &problem) {
			problem.Detail = output.lastLines()
		}
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

// Shown is what a server showed to all kinds of clients.
type Shown struct {
	Surface *surface.Surface // the items that were the same for all that were shown them
	// Varying are the items of which two starts showed different ones, by key, with which clients these were, for a
	// person to read. A lock has one digest of an item, so that these cannot be compared with anything.
	Varying map[string]string
}

// Withhold takes items of which a lock says that they vary, though not always in a few starts, out of what was the
// same. Those of an excluded kind were not looked at.
func (s *Shown) Withhold(keys []string, excluded map[surface.Kind]bool) (err error) {
	for _, key := range keys {
		if s.Varying[key] == "" && !excluded[surface.KindOf(key)] {
			s.Varying[key] = "was not the same at each start when it was locked"
		}
	}
	s.Surface, err = s.Surface.Without(keys...)
	return err
}

// ToolsError returns an error that names the tools that vary, or nil if none does.
func (s *Shown) ToolsError(server string) error {
	all := []error{errors.New("two starts showed different tools")}
	for _, key := range slices.Sorted(maps.Keys(s.Varying)) {
		if surface.KindOf(key) == surface.KindTool {
			all = append(all, fmt.Errorf("%s %s", surface.Escape(key), s.Varying[key]))
		}
	}
	if len(all) == 1 {
		return nil
	}
	return evidence.Errorf(evidence.Drift, server,
		"ask its publisher for tools that stay the same, or take another version of it", errors.Join(all...))
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
	var dead atomic.Pointer[evidence.Error] // the first of a process that died before any answer
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(captureWidth)
	for i, s := range views {
		ended := make(chan struct{})
		group.Go(func() error {
			defer close(ended)
			if dead.Load() != nil {
				return nil
			}
			return noteDeath(&dead, c.one(parallel, s))
		})
		if i == 0 {
			select {
			case <-ended:
			case <-time.After(captureHeadStart):
			}
		}
	}
	err := group.Wait()
	if died := dead.Load(); died != nil && err == nil {
		if !slices.ContainsFunc(c.views, func(s *clientView) bool { return s.shown != nil }) {
			return died
		}
		err = died
	}
	if evidence.ClassOf(err) != evidence.Operation {
		return err
	}
	return c.alone(ctx, views)
}

// alone starts those that are left one after the other, and each again if it fails before its time is up: one that had
// all its time, and nothing beside it, would not answer the next time either.
func (c *capturer) alone(ctx context.Context, views []*clientView) error {
	for _, s := range views {
		if s.shown != nil {
			continue
		}
		begun := time.Now()
		err := c.one(ctx, s)
		for _, wait := range captureRetryPauses {
			if evidence.ClassOf(err) != evidence.Operation || ctx.Err() != nil || time.Since(begun) >= c.timeout {
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
	started, err := c.Start(ctx, c.w.Host, c.adm, c.w.Dir, nil)
	if err != nil {
		return evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errors.New("it took too long"))
	defer cancel()
	listing, _, err := guard.Surface(ctx, started, []byte(s.caps), s.version, c.declared.Excluded())
	failure := started.Failure()
	started.Kill()
	if err != nil && failure != nil {
		hint := "check its url, and run the command again once it can be reached"
		if errors.Is(failure, process.ErrLogin) {
			hint = "a token goes into 'headers' of this server; a server for which its client logs in, in a browser, " +
				"is left to that client"
		}
		return &evidence.Error{Subject: name, Kind: evidence.Operation, Hint: hint,
			Err: fmt.Errorf("could not be asked what it shows: %w", failure)}
	}
	if err != nil {
		hint := "variables that it needs must be set, and named under variables in hallmark.toml; " +
			"a kind that it cannot list is left out with surface_kinds"
		if c.w.Home != "" { // whose servers get what their client's entry sets
			hint = "it may need a variable, which its client's entry can set"
		}
		switch died := errors.As(err, new(*guard.DiedError)); {
		case c.w.Home != "" && !died:
			hint = "start its command by hand and look at what it says: " + hint
		case died:
			hint = cmp.Or(c.tellNode(), hint)
			if shown := c.shownCommand(); shown != "" {
				hint += "; '" + shown + "' shows all that it says"
			}
		}
		return &evidence.Error{Subject: name, Kind: evidence.Operation, Hint: hint,
			Err: fmt.Errorf("its surface could not be captured: %w", err)}
	}
	if s.shown, err = surface.New(listing); err != nil {
		return evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("its surface has no canonical form: %w", err))
	}
	return nil
}

// shownCommand is the command line of the program, for a person who starts it by hand: as it is declared where what is
// started holds code of Hallmark's own, as that of a module of python does; "" if nothing is declared.
func (c *capturer) shownCommand() string {
	words := slices.Clone(c.Args)
	switch {
	case slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "\n") }):
		if words = append([]string{c.declared.Command}, c.declared.Arguments...); words[0] == "" {
			return ""
		}
	case c.Executable != nil && !filepath.IsAbs(words[0]):
		words[0] = c.Executable.Path()
	}
	return host.QuoteArguments(launcher.Redact(words))
}

// tellNode says that the package of a script is for a newer Node.js than the one that starts it; "" if nothing says so.
func (p *Program) tellNode() string {
	if p.Runtime == nil || len(p.Args) < 2 || !filepath.IsAbs(p.Args[1]) ||
		strings.TrimSuffix(filepath.Base(p.Runtime.Path), ".exe") != "node" {
		return ""
	}
	for dir := filepath.Dir(p.Args[1]); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		data, err := host.ReadFile(filepath.Join(dir, "package.json"), maxPackageFile)
		if err != nil || data == nil {
			continue
		}
		var file struct {
			Engines struct {
				Node string `json:"node"`
			} `json:"engines"`
		}
		_ = surface.DecodeKnown(data, &file) // of one that cannot be read nothing is said
		if wanted := file.Engines.Node; isNewerNode(wanted, p.Runtime.Version) {
			return fmt.Sprintf("its package is for Node.js %s, and this is Node.js %s: install that, and run the "+
				"command again", surface.Escape(wanted), p.Runtime.Version)
		}
		break
	}
	return ""
}

// isNewerNode reports whether the lowest version that a range of npm names is of a later major version than have.
func isNewerNode(wanted, have string) bool {
	var majors []int
	for _, m := range nodeVersions().FindAllStringSubmatch(wanted, -1) {
		if major, err := strconv.Atoi(m[2]); err == nil && m[1] == "" {
			majors = append(majors, major)
		}
	}
	major, err := strconv.Atoi(have)
	return err == nil && len(majors) > 0 && major < slices.Min(majors)
}

// nodeVersions matches the versions of a range of npm: below which it ends, or in general; and their major version.
var nodeVersions = spelling.Form(`(<=?\s*v?)?(\d+)(?:\.[\dxX*]+)*`)

// maxPackageFile bounds a package.json of which a hint tells, in bytes.
const maxPackageFile = 1 << 20

// noteDeath stores err, unless there is one before it, if it is about a process that died, and returns any other error.
func noteDeath(dead *atomic.Pointer[evidence.Error], err error) error {
	var problem *evidence.Error
	if !errors.As(err, new(*guard.DiedError)) || !errors.As(err, &problem) {
		return err
	}
	dead.CompareAndSwap(nil, problem)
	return nil
}

// joinViews returns the union of what the clients were shown, but for items of one name that were not the same for
// all, because a lock holds one digest of each: these are named.
func joinViews(server string, views []*clientView) (*Shown, error) {
	type sight struct {
		view *clientView
		item surface.Item
	}
	first := map[string]sight{}
	out := &Shown{Surface: views[0].shown, Varying: map[string]string{}}
	for _, v := range views {
		for _, item := range v.shown.Items() {
			key := item.Key()
			before, ok := first[key]
			switch {
			case !ok:
				first[key] = sight{v, item}
			case out.Varying[key] == "" && !bytes.Equal(before.item.JSON, item.JSON):
				out.Varying[key] = fmt.Sprintf("differs, to %s and to %s", before.view, v)
			}
		}
	}
	varying := slices.Collect(maps.Keys(out.Varying))
	for i, v := range views {
		same, err := v.shown.Without(varying...)
		if err == nil && i > 0 {
			same, err = surface.Union(out.Surface, same)
		}
		if err != nil {
			return nil, evidence.Errorf(evidence.Drift, server, "", err)
		}
		out.Surface = same
	}
	return out, nil
}
