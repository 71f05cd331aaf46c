package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// addProjectFlag adds --project. The commands that the answer names have the flag then, too.
func addProjectFlag(a *app.App, c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "project", ".", "`directory` that holds "+project.ConfigFile)
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("project") && !host.SameFile(*dir, ".") {
			nameFlag(a, c, projectFlag(*dir))
		}
		return nil
	}
}

const pinHelp = `Resolve each server to exact artifacts, fetch and hash them, compare them with the
registry's record, ask before the server is started to see its surface, show all of it,
and after consent write hallmark.lock, hallmark.surfaces/NAME.json and, for a package, its
resolved dependencies in hallmark.closures/NAME.json.

With --client or --config the servers come from an MCP client's configuration; they
are declared in hallmark.toml, and with --write-config the client starts them by
'hallmark run NAME' from then on. What its entries were is kept in FILE.hallmark beside
its file, for 'hallmark unpin'.`

func pinCommand(a *app.App) *cobra.Command {
	p := &pinner{a: a}
	c := &cobra.Command{
		Use:               "pin [NAME...]",
		Short:             "Lock the servers of hallmark.toml to exact bytes and surfaces",
		Example:           "\nnotes\n--client claude-code --write-config",
		Long:              pinHelp,
		ValidArgsFunction: completeServers,
		RunE:              a.Reporting(&p.asJSON, p.run),
	}
	addProjectFlag(a, c, &p.dir)
	a.AllowFlags(c)
	p.consent.register(c)
	c.Flags().BoolVar(&p.asJSON, "json", false, "print the entries and the evidence as one JSON document")
	app.LogKeyFlag(c, &p.log)
	c.Flags().StringSliceVar(&p.scripts, "allow-scripts", nil,
		"run the install scripts of this npm `package`, and lock that; may be repeated")
	c.Flags().StringVar(&p.tree, "tree", "",
		"lock all files of this `directory` with the script that the server is, and note that in hallmark.toml")
	addClientFlags(c, &p.from)
	c.Flags().BoolVar(&p.write, "write-config", false, "let the client start the servers by hallmark run")
	return c
}

// pinner is one call of pin.
type pinner struct {
	a             *app.App
	dir, tree     string
	asJSON, write bool
	scripts       []string
	consent       consentFlags
	from          pin.ClientFiles
	log           trail.Options
}

func (p *pinner) run(c *cobra.Command, names []string) error {
	h, err := p.a.Host(p.dir)
	if err != nil {
		return err
	}
	o := pin.Options{Log: p.log, From: p.from, WriteConfig: p.write, AllowScripts: p.scripts, Tree: p.tree}
	if why := checkClientFiles(p.from, p.write); why != "" {
		return app.Usage(c, errors.New(why))
	}
	o.From.Home, _ = os.UserHomeDir() // without one there are no user's files
	if p.a.Name == "hallmark" {
		o.Program = app.OwnFile() // without it a client finds it in its PATH
	}
	if err := p.a.LogOptions(c, &o.Log); err != nil {
		return err
	}
	if err := p.consent.options(c, &o); err != nil {
		return err
	}
	p.consent.ask(c.Context(), p.a, h, &o, func(w io.Writer, s *pin.Pinned) { showPin(p.a, w, s) }, nil)
	pinned, err := pin.Pin(c.Context(), h, p.dir, names, o)
	p.a.Bars.Stop()
	if p.asJSON {
		return p.a.WriteJSON(pinResult(pinned, err), err)
	}
	reportPinned(p.a, pinned, p.write, err)
	return err
}

// checkClientFiles says what is wrong with --client, --config and --write-config, or nothing.
func checkClientFiles(from pin.ClientFiles, write bool) string {
	switch {
	case write && from.Client == "" && from.Config == "":
		return "--write-config needs --client or --config: whose configuration is meant"
	case from.Client != "" && from.Config != "":
		return "--client and --config exclude each other"
	}
	return ""
}

// reportPinned says which servers are pinned, and which clients' files start them by Hallmark.
func reportPinned(a *app.App, pinned []*pin.Pinned, rewritten bool, err error) {
	if len(pinned) == 0 && err == nil {
		a.Note("%s declares no server, so that nothing is pinned; 'hallmark scan' shows those of clients",
			project.ConfigFile)
	}
	for _, p := range pinned {
		if !p.Written {
			continue
		}
		a.Note("%s is pinned", p.Name)
		for _, file := range p.Clients {
			if rewritten {
				a.Note("%s starts it by 'hallmark run %s'", surface.Escape(file), p.Name)
			}
		}
	}
}

// pinnedJSON is a server that was pinned, or would be in a dry run.
type pinnedJSON struct {
	Name     string              `json:"name"`
	Written  bool                `json:"written"`
	Consent  digest.Digest       `json:"consent"` // zero before there was anything to show
	Before   *project.ServerLock `json:"before,omitempty"`
	Entry    project.ServerLock  `json:"entry"`
	Runtime  *project.Runtime    `json:"runtime,omitempty"`
	Release  *fetch.Release      `json:"release,omitempty"` // what the package registry says of the version
	Files    *kind.ChangedFiles  `json:"files,omitempty"`   // of its package, that differ from the locked one's
	Surface  json.RawMessage     `json:"surface,omitempty"` // all that a model is told, in its canonical form
	Changes  []surface.Change    `json:"changes"`
	Weaker   []project.Weakening `json:"weaker,omitempty"`  // what was accepted and is declared no more
	Clients  []string            `json:"clients,omitempty"` // files that start it by hallmark run now
	Error    string              `json:"error,omitempty"`   // why it is not pinned
	Findings []policy.Finding    `json:"findings"`
}

func pinnedServers(pinned []*pin.Pinned) []pinnedJSON {
	servers := []pinnedJSON{}
	for _, p := range pinned {
		s := pinnedJSON{p.Name, p.Written, digest.Digest{}, p.Before, p.Entry, p.Runtime, p.Release, p.Files,
			nil, p.Changes, p.Weaker, p.Clients, "", p.Verdict.Findings}
		if p.Err != nil {
			s.Error = artifact.RedactURLs(p.Err.Error())
		}
		if p.Surface != nil {
			s.Consent, s.Surface = p.Consent(), p.Surface.Canonical()
		}
		servers = append(servers, s)
	}
	return servers
}

func pinResult(pinned []*pin.Pinned, err error) any {
	return struct {
		app.Outcome
		Servers []pinnedJSON `json:"servers"`
	}{app.OutcomeOf(policy.Verdict{}, err), pinnedServers(pinned)}
}

// showPin prints everything that consent is asked for.
func showPin(a *app.App, w io.Writer, p *pin.Pinned) {
	fmt.Fprintf(w, "\n%s\n", p.Name)
	showBytes(w, p)
	showJudged(a, w, p)
}

// showBytes prints what is known of a server before it is started: what runs, what it gets, and what changed of that.
func showBytes(w io.Writer, p *pin.Pinned) {
	showEntry(w, p.Entry, p.Runtime)
	showWeaker(w, p.Weaker)
	showPreview(w, p.Preview)
	if len(p.Wanted) > 0 {
		fmt.Fprintf(w, "  not given   %s; declare those that it may have in 'variables'\n",
			surface.Escape(strings.Join(p.Wanted, " ")))
	}
	if p.Release != nil && !p.Release.Published.IsZero() {
		since := ""
		if p.Replaced != nil && !p.Replaced.Published.IsZero() {
			since = "; what is locked: " + formatPublished(p.Replaced.Published, time.Now())
		}
		fmt.Fprintf(w, "  published   %s%s\n", formatPublished(p.Release.Published, time.Now()), since)
	}
	showChangedFiles(w, p.Files)
	showPackages(w, p)
	if len(p.Scripts) > 0 {
		fmt.Fprintf(w, "  not run     install scripts of %s\n", surface.Escape(strings.Join(p.Scripts, ", ")))
	}
}

// showJudged prints the evidence, what a server shows, and the digest that consent is bound to.
func showJudged(a *app.App, w io.Writer, p *pin.Pinned) {
	counts := map[evidence.Outcome]int{}
	for _, f := range p.Verdict.Findings {
		counts[f.Evidence.Outcome]++
	}
	columns, _ := terminalOf(w)
	if columns == 0 {
		fmt.Fprintf(w, "  evidence    %d match, %d absent, %d waived\n", counts[evidence.Match],
			counts[evidence.Absent], counts[evidence.Waived])
	}
	showWarnings(w, p)
	if !p.Claimed.IsZero() && consentTo(p.Claimed, p.Entry.APISurface) != host.InformedConsent {
		fmt.Fprintf(w, "  ALARM       its publisher says that it shows tools with api_surface %s\n", p.Claimed)
	}
	if p.Same {
		fmt.Fprintln(w, "  ALARM       the bytes are those that were approved, but they show a model something else")
	}
	switch {
	case isNewSurface(p):
		showSurface(a, w, p.Surface, "'hallmark pin "+p.Name+" --start --json', or once it is locked 'hallmark "+
			"surface show "+
			p.Name+"'")
	case len(p.Changes) == 0:
		fmt.Fprintf(w, "  surface     %s, as before (%s)\n", formatDigest(w, p.Entry.Surface),
			evidence.Count(len(p.Entry.SurfaceItems), "item"))
	}
	showVarying(w, p.Varying)
	showChanges(w, p.Changes)
	showConsent(a, w, p.Consent())
}

// showConsent prints the digest that --approve takes, to those who are not asked.
func showConsent(a *app.App, w io.Writer, consent digest.Digest) {
	if columns, _ := terminalOf(w); columns == 0 || !a.HasTerminal() {
		fmt.Fprintf(w, "  consent     %s\n", consent)
	}
}

// showWarnings prints what is to be known of the evidence so far, such as that a publisher took the version back.
func showWarnings(w io.Writer, p *pin.Pinned) {
	for _, f := range p.Verdict.Warnings() {
		switch e := f.Evidence; {
		case e.Outcome == evidence.Absent && e.Reason != "": // which says all of it
			fmt.Fprintf(w, "  warning     %s: %s\n", surface.Escape(e.Subject), surface.EscapeSentence(e.Reason))
		case e.Outcome == evidence.Absent && e.Scheme == evidence.File:
			fmt.Fprintf(w, "  warning     nobody published a sha256 of %s\n", surface.Escape(e.Subject))
		case e.Reason != "":
			fmt.Fprintf(w, "  warning     %s\n              %s\n", e.Title(), surface.EscapeSentence(e.Reason))
		default:
			fmt.Fprintf(w, "  warning     %s\n", e.Title())
		}
	}
}

// mostListed is how many packages or files are listed of each kind.
const mostListed = 20

// showPackages prints how many packages there are, and those that are not as they were locked.
func showPackages(w io.Writer, p *pin.Pinned) {
	switch n := len(p.Packages); {
	case n > p.Verified:
		fmt.Fprintf(w, "  packages    %d, of which this platform needs %d, each verified\n", n, p.Verified)
	case n > 0:
		fmt.Fprintf(w, "  packages    %d, each verified\n", n)
	}
	for i, moved := range p.Moved {
		switch {
		case i == mostListed:
			fmt.Fprintf(w, "  new         and %d more\n", len(p.Moved)-mostListed)
			return
		case moved.Was != "":
			fmt.Fprintf(w, "  new         %s, was %s\n", surface.Escape(moved.Ref), surface.Escape(moved.Was))
		default:
			fmt.Fprintf(w, "  new         %s\n", surface.Escape(moved.Ref))
		}
	}
}

// showChangedFiles prints which files of the package differ from those that are locked, those that moved most bytes
// first.
func showChangedFiles(w io.Writer, f *kind.ChangedFiles) {
	switch {
	case f == nil:
		return
	case f.Unknown != "":
		fmt.Fprintf(w, "  files       not compared with those that are locked: %s\n", surface.Escape(f.Unknown))
		return
	}
	changes, count := slices.Clone(f.Changes), map[string]int{}
	for _, c := range changes {
		count[c.Kind()]++
	}
	fmt.Fprintf(w, "  files       %d added, %d changed, %d removed since %s\n", count["added"], count["changed"],
		count["removed"], surface.Escape(f.Since))
	slices.SortStableFunc(changes, func(a, b fetch.FileChange) int { return cmp.Compare(b.Moved(), a.Moved()) })
	for i, c := range changes {
		if i == mostListed {
			fmt.Fprintf(w, "    and %d more; --json lists all of them\n", len(changes)-mostListed)
			return
		}
		var sizes []string
		for _, size := range []*int64{c.Old, c.New} {
			if size != nil {
				sizes = append(sizes, evidence.Group(*size))
			}
		}
		fmt.Fprintf(w, "    %-8s  %s, %s bytes\n", c.Kind(), surface.Escape(c.Path), strings.Join(sizes, " -> "))
	}
}

// showEntry prints what a lock entry starts, with which settings, and who claims its digests.
func showEntry(w io.Writer, e project.ServerLock, runtime *project.Runtime) {
	if e.Launch.URL == "" {
		declared := append([]string{e.Launch.Command + e.Launch.Server + e.Launch.Source}, e.Launch.Arguments...)
		fmt.Fprintf(w, "  declared    %s\n", surface.Escape(strings.Join(declared, " ")))
	}
	if e.Launch.URL != "" {
		fmt.Fprintf(w, "  reached at  %s; what runs there is not verified\n", surface.Escape(e.Launch.URL))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Launch.Headers)) {
		fmt.Fprintf(w, "  sends it    %s: %s\n", surface.Escape(name), surface.Escape(e.Launch.Headers[name]))
	}
	if runs, ok := e.Artifacts[e.Ref]; ok {
		fmt.Fprintf(w, "  runs        %s  %s\n", surface.Escape(e.Ref), runs)
	}
	for _, ref := range slices.Sorted(maps.Keys(e.Artifacts)) {
		if ref != e.Ref {
			fmt.Fprintf(w, "  may load    %s  %s\n", surface.Escape(ref), e.Artifacts[ref])
		}
	}
	for _, name := range e.Launch.Data {
		fmt.Fprintf(w, "  not hashed  %s, which hallmark.toml names as data\n", surface.Escape(name))
	}
	if e.Image != "" {
		fmt.Fprintf(w, "  tag         %s led there\n", surface.Escape(e.Image))
	}
	for _, platform := range slices.Sorted(maps.Keys(e.Platforms)) {
		fmt.Fprintf(w, "  for         %s  %s\n", surface.Escape(platform), e.Platforms[platform])
	}
	if e.Launch.Facet != "" {
		fmt.Fprintf(w, "  facet       %s\n", surface.Escape(e.Launch.Facet))
	}
	if e.Entry != "" {
		fmt.Fprintf(w, "  script      %s\n", surface.Escape(e.Entry))
	}
	showRuntime(w, e, runtime)
	showSettings(w, e)
	if r := e.Record; r != nil {
		fmt.Fprintf(w, "  record      %s at %s\n", surface.Escape(r.Subject()), surface.Escape(r.Registry))
	}
	if e.Closure != nil {
		if columns, _ := terminalOf(w); columns == 0 {
			fmt.Fprintf(w, "  closure     %s\n", e.Closure.Lock)
		}
		if len(e.Closure.Scripts) > 0 {
			fmt.Fprintf(w, "  run         install scripts of %s\n",
				surface.Escape(strings.Join(e.Closure.Scripts, ", ")))
		}
	}
}

// showRuntime prints the program that starts or builds a server, if there is one.
func showRuntime(w io.Writer, e project.ServerLock, runtime *project.Runtime) {
	if runtime != nil {
		by := "started by"
		if e.Source.Built() {
			by = "built by  "
		}
		fmt.Fprintf(w, "  %s  %s  %s\n", by, surface.Escape(runtime.Path), formatDigest(w, runtime.Digest))
	}
}

// showSettings prints with what a locked server is started, and what may be done with it.
func showSettings(w io.Writer, e project.ServerLock) {
	if len(e.Arguments) > 0 {
		fmt.Fprintf(w, "  arguments   %s\n", surface.Escape(strings.Join(e.Arguments, " ")))
	}
	if len(e.Variables) > 0 {
		fmt.Fprintf(w, "  variables   %s\n", surface.Escape(strings.Join(e.Variables, " ")))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Launch.Environment)) {
		fmt.Fprintf(w, "  environment %s=%s\n", surface.Escape(name), surface.Escape(e.Launch.Environment[name]))
	}
	if e.Launch.OnDrift != "withhold" {
		fmt.Fprintf(w, "  on drift    %s\n", e.Launch.OnDrift)
	}
	if e.Launch.Requests != "" {
		fmt.Fprintf(w, "  may ask     %s (requests of the server to its client)\n", e.Launch.Requests)
	}
	if e.Launch.Kinds != nil {
		fmt.Fprintf(w, "  watches     %s only\n", strings.Join(e.Launch.Kinds, " "))
	}
}

// showWeaker prints accepted demands that are no longer declared.
func showWeaker(w io.Writer, weaker []project.Weakening) {
	for _, x := range weaker {
		fmt.Fprintf(w, "  WEAKER      %s\n", surface.Escape(x.String()))
	}
}

// isNewSurface reports whether there is no surface that this one could be compared with.
func isNewSurface(p *pin.Pinned) bool {
	return p.Before == nil || len(p.Changes) == 0 && !evidence.Same(p.Before.Surface, p.Entry.Surface)
}

// showSurface prints a line of each item, and how much more a model is told, which [pageSurface] shows to a person at a
// terminal and the named commands to others.
func showSurface(a *app.App, w io.Writer, s *surface.Surface, commands string) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "  surface     %s\n", formatDigest(w, s.Digest()))
	outline := s.Outline()
	bare := map[string]int{} // resources of which there is nothing but a URI: some servers have hundreds
	for line := range strings.SplitSeq(strings.TrimSuffix(outline, "\n"), "\n") {
		kind, _, _ := strings.Cut(line, ":")
		if kind == string(surface.KindResource) && !strings.Contains(line, "  ") {
			if bare[kind]++; bare[kind] > mostListed {
				continue
			}
		}
		fmt.Fprintf(w, "    %s\n", line)
	}
	if more := bare[string(surface.KindResource)] - mostListed; more > 0 {
		fmt.Fprintf(w, "    and %s more, without a description\n", evidence.Count(more, "resource"))
	}
	if more := len(s.FullText()) - len(outline); more > 0 && !a.HasTerminal() {
		fmt.Fprintf(w, "  not shown   %s bytes more that a model is told; all of it: %s\n", evidence.Group(int64(more)),
			commands)
	}
	for _, warning := range surface.Warnings(s) {
		fmt.Fprintf(w, "  look at     %s\n", warning)
	}
}

// showVarying prints the items that are withheld because they differ from start to start, and how.
func showVarying(w io.Writer, varying map[string]string) {
	var kinds []string // those that need not be watched, as surface_kinds calls them
	for _, key := range slices.Sorted(maps.Keys(varying)) {
		fmt.Fprintf(w, "  withheld    %s  %s\n", surface.Escape(key), varying[key])
		if kind := surface.KindOf(key); kind != surface.KindTool {
			kinds = append(kinds, strings.TrimSuffix(string(kind), "s")+"s")
		}
	}
	if kinds = slices.Compact(slices.Sorted(slices.Values(kinds))); len(kinds) > 0 {
		fmt.Fprintf(w, "              leave %s out of surface_kinds in %s to let all of them pass unwatched\n",
			strings.Join(kinds, " and "), project.ConfigFile)
	}
}

// pageSurface shows a person at a terminal all that a model is told.
func pageSurface(ctx context.Context, a *app.App, name string, s *surface.Surface) error {
	if s == nil || !a.HasTerminal() {
		return nil
	}
	fmt.Fprintf(a.Stderr, "\nAll that a model is told by %s:\n", surface.Escape(name))
	return a.Page(ctx, s.FullText())
}

func showChanges(w io.Writer, changes []surface.Change) {
	if len(changes) == 0 {
		return
	}
	showChangeCounts(w, changes)
	listed, more := listedChanges(changes)
	if columns, _ := terminalOf(w); columns > 0 {
		for _, line := range surface.ChangeLines(listed) {
			showChangeLine(w, line)
		}
	} else {
		for line := range strings.SplitSeq(strings.TrimSuffix(surface.FormatChanges(listed), "\n"), "\n") {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
	showMore(w, more)
}

// showChangeCounts prints how many changes there are of each severity.
func showChangeCounts(w io.Writer, changes []surface.Change) {
	count := map[surface.Severity]int{}
	for _, c := range changes {
		count[c.Severity]++
	}
	fmt.Fprintf(w, "  changes     %d high, %d medium, %d low\n", count[surface.High], count[surface.Medium],
		count[surface.Low])
}

// listedChanges are the changes that a person is shown, and how many items more are gone.
func listedChanges(changes []surface.Change) (listed []surface.Change, more int) {
	gone := map[surface.Class]int{}
	listed = slices.DeleteFunc(slices.Clone(changes), func(c surface.Change) bool {
		if c.Path != "" || c.New != "" {
			return false
		}
		gone[c.Class]++
		return gone[c.Class] > mostListed
	})
	return listed, len(changes) - len(listed)
}

func showMore(w io.Writer, more int) {
	if more > 0 {
		fmt.Fprintf(w, "    and %s more that are gone; --json lists all of them\n", evidence.Count(more, "item"))
	}
}

// showChangeLine prints a line of changes on a terminal: one with words that went or came as two, the old text and the
// new, with what differs in colour.
func showChangeLine(w io.Writer, line []surface.Piece) {
	text := func(side, code string) (whole string) {
		for _, p := range line {
			switch p.Sign {
			case "":
				whole += p.Text
			case side:
				whole += colour(w, code, p.Text)
			}
		}
		return whole
	}
	if !slices.ContainsFunc(line, func(p surface.Piece) bool { return p.Sign != "" }) {
		fmt.Fprintf(w, "    %s\n", text("", ""))
		return
	}
	for _, side := range []struct{ sign, code string }{{"-", "31"}, {"+", "32"}} {
		whole := text(side.sign, side.code)
		words := strings.TrimLeft(whole, " ")
		fmt.Fprintf(w, "    %s%s %s\n", whole[:len(whole)-len(words)], colour(w, side.code, side.sign), words)
	}
}
