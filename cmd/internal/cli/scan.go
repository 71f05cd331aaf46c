package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/surface"
)

func (a *app) scan() *cobra.Command {
	var (
		o               hallmark.ScanOptions
		asJSON, asSARIF bool
	)
	c := &cobra.Command{
		Use:     "scan [PATH...]",
		Short:   "Report what the MCP clients of this machine start unpinned",
		Example: "\n--client claude-code,cursor\nproject/.mcp.json --json",
		Long: `Read the configuration files of every MCP client that is known, the user's and the
project's, or the files and projects' directories that are named, and report servers
that are not pinned, hidden in a shell line, reached by plain http and so on, each with
the exact spelling to write. Nothing is started, fetched or changed. Exit code 4 if a
rule refuses.`,
		RunE: a.reporting(&asJSON, func(c *cobra.Command, paths []string) error {
			if asJSON && asSARIF {
				return usage(c, errors.New("--json and --sarif exclude each other"))
			}
			h, err := a.host(o.Dir)
			if err != nil {
				return err
			}
			o.Paths = paths
			o.Home, _ = os.UserHomeDir() // without one there are no user's files
			found, err := hallmark.Scan(c.Context(), h, o)
			if err != nil {
				return err
			}
			err = found.Verdict.Err()
			switch {
			case asSARIF:
				return a.json(evidence.MakeSARIF(program.Release(), launcher.Rules, results(found.Rules)), err)
			case asJSON:
				return a.json(struct {
					outcome
					*hallmark.Scanned
				}{outcomeOf(found.Verdict, err), found}, err)
			}
			return errors.Join(showScan(a.stdout, found), a.scanError(found, err))
		}),
	}
	c.Flags().StringVar(&o.Dir, "project", ".", "`directory` of the project whose files are read beside the user's")
	c.Flags().StringSliceVar(&o.Clients, "client", nil, "only files of this client: "+strings.Join(clients.Names(), ", "))
	c.Flags().BoolVar(&asJSON, "json", false, "print servers and findings as one JSON document")
	c.Flags().BoolVar(&asSARIF, "sarif", false, "print the findings as SARIF 2.1.0")
	return c
}

// scanError says in a line how much was refused: what and why was printed with its server.
func (a *app) scanError(found *hallmark.Scanned, err error) error {
	if err == nil {
		return nil
	}
	refused, files := 0, 0
	for _, f := range found.Rules {
		switch {
		case f.Evidence.Rule == launcher.RuleUnreadable:
			files++
		case f.Class != evidence.OK:
			refused++
		}
	}
	if files > 0 {
		fmt.Fprintf(a.stderr, "%s: unreadable: %s\n", a.name, evidence.Count(files, "file"))
	}
	if refused > 0 {
		fmt.Fprintf(a.stderr, "%s: refused: %s\n", a.name, evidence.Count(refused, "finding"))
	}
	return program.Shown{Err: err}
}

// showScan prints each file, its servers and what is wrong with them.
func showScan(w io.Writer, found *hallmark.Scanned) error {
	var b strings.Builder
	for _, f := range found.Rules {
		if f.Evidence.Rule == launcher.RuleUnreadable {
			fmt.Fprintf(&b, "%s\n  refused  %s: %s\n", surface.Escape(f.Evidence.Place.File), f.Evidence.Rule, surface.Escape(f.Evidence.Reason))
		}
	}
	file := ""
	for _, s := range found.Servers {
		if s.File != file {
			file = s.File
			fmt.Fprintf(&b, "%s", surface.Escape(file))
			if s.Client != "" {
				fmt.Fprintf(&b, "  (%s)", s.Client)
			}
			b.WriteByte('\n')
		}
		name := s.Name
		if s.Scope != "" {
			name = s.Scope + ": " + name
		}
		fmt.Fprintf(&b, "  %s  line %d  %s\n", surface.Escape(name), s.Line, surface.Escape(strings.TrimSpace(strings.Join(append([]string{s.Command}, s.Arguments...), " ")+s.URL)))
		switch {
		case s.Guarded:
			b.WriteString("    guarded  hallmark run verifies it when it starts\n")
		case s.Disabled:
			b.WriteString("    disabled\n")
		}
		for _, p := range s.Packages {
			switch {
			case p.Locked:
				fmt.Fprintf(&b, "    pinned   %s %s; hallmark.lock holds its digest, which only hallmark run verifies\n", surface.Escape(p.Name), p.Pin)
			case p.Pinned:
				fmt.Fprintf(&b, "    pinned   %s by its %s; its bytes are not verified\n", surface.Escape(p.Name), p.Pin)
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
			reason := f.Evidence.Reason
			if reason == "" {
				reason = launcher.Rules[f.Evidence.Rule]
			}
			fmt.Fprintf(&b, "    %s  %s: %s\n", what, f.Evidence.Rule, surface.Escape(reason))
			if f.Evidence.Fix != "" {
				fmt.Fprintf(&b, "    write    %s\n", surface.Escape(f.Evidence.Fix))
			}
		}
	}
	if len(found.Files) == 0 {
		b.WriteString("no configuration of an MCP client was found\n")
	} else if b.Len() == 0 {
		fmt.Fprintf(&b, "no command or URL of a server in %s\n", surface.Escape(strings.Join(found.Files, ", ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
