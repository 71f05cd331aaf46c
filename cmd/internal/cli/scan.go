package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

const scanHelp = `Read the files of every MCP client that Hallmark knows, yours and the project's, or the
files and projects that you name. Each server is one line, which begins with how far it is
covered, the worst first:

  withheld      changed since you approved it
  not approved  locked, not approved on this machine
  open          what runs can change, or is not known
  pinned        one version; its bytes are not verified
  verified      its client compares a hash of it
  guarded       verified by Hallmark at every start
  off           its client does not start it

With -v each has its file, every finding, and the exact spelling to write. Nothing is
started or fetched, and no file of a client is changed. What is new in your own files since
the last scan is named. Exit code 4 if a rule refuses.

An entry is guarded only if it starts this machine's own program, as it is, for a server
that is locked as its project declares it and approved on this machine.

With --project only the files of one checkout are read, in all its directories. If the
project has a hallmark.toml, an entry that starts a server without Hallmark is refused,
also one that is disabled, has a URL or starts a script of the checkout. That holds for
every scan of such a file. A hallmark.toml in a client's directory counts for nothing: the
directory is part of the project that holds it. Skills, agents and commands that no lock
covers are warnings, which show what they can run. --strict refuses them, and each opt-out
of a hallmark.toml, also in a project below this one.`

func scanCommand(a *app.App) *cobra.Command {
	var o scan.Options
	var details bool
	g := &gate{what: "scan", dir: &o.Dir}
	c := &cobra.Command{
		Use:     "scan [PATH...]",
		Short:   "Show what your MCP clients start, and how to pin it",
		Example: "\n--client claude-code,cursor\nproject/.mcp.json --json\n--project . --sarif",
		Long:    scanHelp,
		RunE: g.run(a, func(c *cobra.Command, paths []string) error {
			if err := setScanned(c, &o, paths); err != nil {
				return err
			}
			h, err := a.Host(o.Dir)
			if err != nil {
				return err
			}
			if a.Name == "hallmark" {
				o.Program = app.OwnFile() // without one nothing is guarded
			}
			o.Home, _ = os.UserHomeDir() // without one there are no user's files
			o.Rewritten = true
			found, err := scan.Scan(c.Context(), h, o)
			if err != nil {
				return err
			}
			findNews(c.Context(), a, h, o, found)
			return reportScanned(a, g, found, details)
		}),
	}
	c.Flags().StringVar(&o.Dir, "project", ".", "only the files of the project in `directory`, and below it")
	c.Flags().Lookup("project").NoOptDefVal = "."
	c.Flags().BoolVarP(&details, "verbose", "v", false, "show files, every finding, and what to write")
	c.Flags().BoolVar(&o.Strict, "strict", false,
		"refuse what a hallmark.toml opts out of: unlocked = true, and auto-approve; and skills, agents and commands "+
			"that no lock covers")
	c.Flags().StringSliceVar(&o.Clients, "client", nil,
		"only files of this client: "+strings.Join(clients.Names(), ", "))
	_ = c.RegisterFlagCompletionFunc("client", completeClient) // which is a flag of c
	g.flags(c, "print servers and findings as one JSON document", "print the findings as SARIF 2.1.0")
	return c
}

// reportScanned prints what was found, in the form that the flags ask for.
func reportScanned(a *app.App, g *gate, found *scan.Result, details bool) error {
	unwritten := g.summarize(a, found.Verdict, nil)
	err := errors.Join(found.Verdict.Err(), unwritten)
	switch {
	case g.sarif:
		return a.WriteJSON(evidence.MakeSARIF(program.Release(), launcher.Rules, results(found.Rules)), err)
	case g.json:
		return a.WriteJSON(struct {
			app.Outcome
			*scan.Result
		}{app.OutcomeOf(found.Verdict, err), found}, err)
	case unwritten != nil:
		return err
	}
	if details {
		return errors.Join(showScan(a.Stdout, found), scanError(a, found, err))
	}
	return errors.Join(showScanned(a.Stdout, found), scanError(a, found, err))
}

// findNews finds what is new in the files of the user's clients, and remembers it. That it cannot is only a warning.
func findNews(ctx context.Context, a *app.App, h *host.Host, o scan.Options, found *scan.Result) {
	if err := found.FindNews(ctx, h, o); err != nil {
		a.Note("warning: what is new is not known: %s", firstLine(err.Error()))
	}
}

// setScanned sets what is scanned: paths, or with --project the directory that is its value or
// follows it.
func setScanned(c *cobra.Command, o *scan.Options, paths []string) error {
	if o.Project = c.Flags().Changed("project"); !o.Project {
		o.Paths = paths
		return nil
	}
	switch {
	case len(paths) > 1 || len(paths) == 1 && o.Dir != ".":
		return app.Usage(c, errors.New("--project takes one directory"))
	case len(paths) == 1:
		o.Dir = paths[0]
	}
	return nil
}

// scanError returns a line with the number of refused entries. The reasons were printed with each
// server.
func scanError(a *app.App, found *scan.Result, err error) error {
	if err == nil {
		return nil
	}
	refused, files := 0, 0
	for _, f := range found.Rules {
		switch {
		case f.Class == evidence.OK:
		case f.Evidence.Rule == launcher.RuleUnreadable:
			files++
		default:
			refused++
		}
	}
	if files > 0 {
		a.Note("unreadable: %s", evidence.Count(files, "file"))
	}
	if refused > 0 {
		a.Note("refused: %s", evidence.Count(refused, "finding"))
	}
	return program.Shown{Err: err}
}

// showScan prints each file, its servers and their findings.
func showScan(w io.Writer, found *scan.Result) error {
	var b strings.Builder
	showFiles(&b, found.Rules)
	file := ""
	for _, s := range found.Servers {
		if s.File != file {
			file = s.File
			fmt.Fprintf(&b, "%s", surface.Escape(file))
			if s.Client != "" {
				fmt.Fprintf(&b, "  (%s)", s.Client)
			}
			b.WriteByte('\n')
			showOwn(&b, found.Servers, file)
		}
		if s.Starts != clients.StartsClient {
			showServer(&b, s, found.Looked)
		}
	}
	if b.Len() == 0 {
		b.WriteString(describeNothing(found))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describeNothing says that no server was found, and where.
func describeNothing(found *scan.Result) string {
	if len(found.Files) == 0 {
		return "no configuration of an MCP client was found\n"
	}
	lacking := slices.DeleteFunc(slices.Clone(found.Files), func(name string) bool {
		return !clients.HoldsOnlyServers(name)
	})
	if len(lacking) > 0 {
		return "no command or URL of a server in " + surface.Escape(strings.Join(lacking, ", ")) + "\n"
	}
	return "no server in " + evidence.Count(len(found.Files), "file") + " of clients\n"
}

// showFiles prints the findings about files and projects, and about command lines that are no server.
func showFiles(b *strings.Builder, findings []policy.Finding) {
	file := ""
	for _, f := range findings {
		e := f.Evidence
		what, line, fix := "refused", "", ""
		switch {
		case e.Rule == launcher.RuleRemoved:
			line, fix = surface.Escape(e.Subject)+"  ", e.Fix
		case e.Rule == launcher.RuleUnlocked:
			fix = e.Fix
		case e.Rule == launcher.RuleProgram:
			line = fmt.Sprintf("line %d  ", e.Place.Line)
		case e.Rule != launcher.RuleUnreadable:
			continue
		}
		if f.Warning {
			what = "warning"
		}
		if at := cmp.Or(e.Place.File, e.Subject); at != file {
			file = at
			fmt.Fprintf(b, "%s\n", surface.Escape(file))
		}
		fmt.Fprintf(b, "  %s  %s%s: %s\n", what, line, e.Rule, surface.EscapeSentence(e.Reason))
		if fix != "" {
			fmt.Fprintf(b, "    hint: %s\n", surface.EscapeSentence(fix))
		}
	}
}

// showOwn counts the entries of a file that are parts of its client.
func showOwn(b *strings.Builder, servers []scan.Server, file string) {
	n := 0
	for _, s := range servers {
		if s.File == file && s.Starts == clients.StartsClient {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(b, "  %s: parts of the client itself, which start no other program\n", evidence.Count(n, "entry"))
	}
}

// showNews says how an entry differs from what was seen at looked.
func showNews(b *strings.Builder, s scan.Server, looked *time.Time) {
	switch {
	case s.News == scan.LostEntry:
		fmt.Fprintf(b, "    open     it was protected, and its entry was written anew: "+
			"'hallmark protect' protects it again, 'hallmark undo %s' gives it up\n",
			surface.Escape(host.QuoteArguments([]string{s.Name})))
	case s.News == scan.NewEntry && looked != nil:
		fmt.Fprintf(b, "    new      it was not there on %s\n", looked.Local().Format("2006-01-02 15:04"))
	case s.News == scan.ChangedEntry && looked != nil:
		fmt.Fprintf(b, "    changed  it started something else on %s\n", looked.Local().Format("2006-01-02 15:04"))
	}
}

// showServer prints one server, how far it is covered, and its findings. looked is when this machine looked before.
func showServer(b *strings.Builder, s scan.Server, looked *time.Time) {
	name := s.Name
	if s.Scope != "" {
		name = s.Scope + ": " + name
	}
	starts := s.CommandLine()
	switch {
	case s.Starts == clients.StartsNothing:
		starts = "starts nothing: it has no command and no URL"
	case starts == "":
		starts = "?"
	}
	fmt.Fprintf(b, "  %s  line %d  %s\n", surface.Escape(name), s.Line, surface.Escape(starts))
	showCover(b, s)
	showNews(b, s, looked)
	if s.Disabled {
		b.WriteString("    disabled\n")
	}
	for _, p := range s.Packages {
		switch {
		case p.Locked:
			fmt.Fprintf(b, "    pinned   %s %s; hallmark.lock holds its digest, which only hallmark run verifies\n",
				surface.Escape(p.Name), p.Pin)
		case p.Pinned:
			fmt.Fprintf(b, "    pinned   %s by its %s; its bytes are not verified\n", surface.Escape(p.Name), p.Pin)
		}
	}
	for _, f := range s.Findings {
		what := "refused"
		switch {
		case f.Class == evidence.OK && !f.Warning:
			continue
		case f.Warning:
			what = "warning"
		}
		reason := cmp.Or(f.Evidence.Reason, launcher.Rules[f.Evidence.Rule])
		fmt.Fprintf(b, "    %s  %s: %s\n", what, f.Evidence.Rule, surface.Escape(reason))
		if f.Evidence.Fix != "" {
			fmt.Fprintf(b, "    write    %s\n", surface.EscapeSentence(f.Evidence.Fix))
		}
	}
}

// showCover prints how far Hallmark covers a server that is started through it.
func showCover(b *strings.Builder, s scan.Server) {
	switch {
	case s.Guarded:
		b.WriteString("    guarded  hallmark run verifies it when it starts\n")
	case s.Cover == scan.Guarded:
		b.WriteString("    partly   hallmark run verifies it when it starts, but its client calls tools without " +
			"asking\n")
	case s.Cover == scan.Unapproved:
		b.WriteString("    locked   not approved on this machine: 'hallmark review' shows it and asks you; until " +
			"then it does not start\n")
	case s.Cover == scan.Editor && len(s.Roots) == 0:
		b.WriteString("    editor   reads and writes what its client names as roots\n")
	case s.Cover == scan.Editor:
		fmt.Fprintf(b, "    editor   reads and writes %s\n", surface.Escape(strings.Join(s.Roots, ", ")))
	}
}
