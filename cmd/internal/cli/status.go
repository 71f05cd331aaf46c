package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

const statusHelp = `Show each MCP server that your clients start, and those of the project in the current
directory, one line each. What needs you comes first:

  changed       its files are not those that are locked
  withheld      changed since you approved it
  not approved  locked, not approved on this machine
  open          what runs can change at any start
  pinned        one version; its bytes are not verified
  verified      its client compares a hash of it
  protected     verified by Hallmark at every start
  off           its client does not start it

'hallmark scan' says more of each, and ends with an error if something is open. This
command ends with one if a client's file cannot be read.`

func statusCommand(a *app.App) *cobra.Command {
	var o scan.Options
	var asJSON, hook bool
	// --status changed what was published, before 'deprecate', 'yank' and 'restore'
	published := author.StatusCommand(a)
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show every MCP server and whether it is protected",
		Example: "\n--client cursor\n--project .\n--json",
		Long:    statusHelp,
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, paths []string) error {
			if c.Flags().Changed("status") {
				return changePublished(a, c, published, paths, asJSON)
			}
			if err := setScanned(c, &o, paths); err != nil {
				return err
			}
			if len(o.Paths) > 0 {
				return app.Usage(c, errors.New("takes no NAME; 'deprecate', 'yank' and 'restore' are about what you "+
					"published"))
			}
			h, err := a.Host(o.Dir)
			if err != nil {
				return err
			}
			found, servers, err := findServers(c.Context(), a, h, o)
			if err != nil {
				return err
			}
			if hook {
				unread, _ := found.Unread()
				return writeHook(a.Stdout, servers, unread...)
			}
			var unused []string
			if len(o.Clients) == 0 && !o.Project { // all files of the user's clients were read
				unused = found.Unused(h)
			}
			return reportStatus(a, found, servers, unused, asJSON)
		}),
	}
	addScanFlags(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print the servers as one JSON document")
	c.Flags().BoolVar(&hook, "hook", false, "print what needs you, if anything, for a hook of a client")
	addHidden(c, published)
	return c
}

// addHidden has c take the flags of another command, too, which its help does not show.
func addHidden(c, other *cobra.Command) {
	other.Flags().VisitAll(func(f *pflag.Flag) {
		if c.Flags().Lookup(f.Name) == nil {
			f.Hidden = true
			c.Flags().AddFlag(f)
		}
	})
}

// addScanFlags adds the flags that choose whose servers are looked at.
func addScanFlags(c *cobra.Command, o *scan.Options) {
	c.Flags().StringVar(&o.Dir, "project", ".", "only the files of the project in `directory`, and below it")
	c.Flags().Lookup("project").NoOptDefVal = "."
	c.Flags().StringSliceVar(&o.Clients, "client", nil,
		"only servers of this `client`: "+strings.Join(clients.Names(), ", "))
	_ = c.RegisterFlagCompletionFunc("client", completeClient) // which is a flag of c
}

// findServers finds the servers that clients start, and what of their files changed. Those that need the user are
// first.
func findServers(ctx context.Context, a *app.App, h *host.Host, o scan.Options) (*scan.Result, []scan.Server, error) {
	o.Program = app.OwnFile()    // without one nothing is protected
	o.Home, _ = os.UserHomeDir() // without one there are no user's files
	o.Rewritten = true
	found, err := scan.Scan(ctx, h, o)
	if err != nil {
		return nil, nil, err
	}
	findNews(ctx, a, h, o, found)
	servers := slices.DeleteFunc(slices.Clone(found.Servers), func(s scan.Server) bool {
		return s.Starts != clients.StartsServer || s.Client == "hallmark"
	})
	if err := check.FindChanged(ctx, h, servers); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(servers, func(a, b scan.Server) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	return found, servers, nil
}

// reportStatus prints what each server is, and fails if a client's file could not be read. unused are names of servers
// that are locked and that no client starts.
func reportStatus(a *app.App, found *scan.Result, servers []scan.Server, unused []string, asJSON bool) error {
	unread, all := found.Unread()
	err := errors.Join(all...)
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			Servers []scan.Server     `json:"servers"`
			Unused  []string          `json:"unused,omitempty"`
			Unread  []scan.UnreadFile `json:"unread,omitempty"`
		}{app.OutcomeOf(policy.Verdict{}, err), servers, unused, unread}, err)
	}
	if failed := writeStatus(a.Stdout, found, servers, unused); err == nil || failed != nil {
		return failed
	}
	a.Note("unreadable: %s", evidence.Count(len(unread), "file"))
	return program.Shown{Err: err}
}

// writeStatus prints a line for each server, the files that could not be read, and what to type next.
func writeStatus(out io.Writer, found *scan.Result, servers []scan.Server, unused []string) error {
	w := &failing{to: out}
	unread := slices.ContainsFunc(found.Rules, func(f policy.Finding) bool {
		return f.Evidence.Rule == launcher.RuleUnreadable
	})
	if len(servers) > 0 || !unread {
		showStatus(w, servers, unstartedServers(found))
	}
	for _, f := range found.Rules {
		if f.Evidence.Rule != launcher.RuleUnreadable && f.Evidence.Rule != launcher.RuleRemoved {
			continue
		}
		said, hint := surface.EscapeSentence(f.Evidence.Reason), ""
		if f.Evidence.Rule == launcher.RuleUnreadable && f.Class != evidence.OK { // as protect says it
			said, hint = "cannot be read: "+said, "  hint: mend the file, and run the command again\n"
		}
		fmt.Fprintln(w)
		writeFolded(w, surface.Escape(f.Evidence.Subject)+": "+said, "  ")
		fmt.Fprint(w, hint)
	}
	if len(unused) > 0 {
		fmt.Fprintln(w)
		writeFolded(w, surface.Escape(strings.Join(unused, ", "))+": still locked, and no client starts it any more. "+
			"Unlock it: 'hallmark undo "+host.QuoteArguments(unused)+"'", "  ")
	}
	if next := nextCommand(servers); next != "" {
		fmt.Fprintln(w)
		writeFolded(w, next, "  ")
	}
	return w.err
}

// changePublished runs the command published, of which c has the flags, and names the one that replaces it.
func changePublished(a *app.App, c, published *cobra.Command, args []string, asJSON bool) error {
	if asJSON {
		if err := published.Flags().Set("json", "true"); err != nil {
			return err
		}
	}
	if err := published.Args(c, args); err != nil {
		return err
	}
	a.Note("warning: 'status --status' is replaced by 'deprecate', 'yank' and 'restore'")
	return published.RunE(c, args)
}

// writeHook prints what needs the user, as clients show what a hook says that runs when a session starts; nothing if
// all is as it was.
func writeHook(w io.Writer, servers []scan.Server, unread ...scan.UnreadFile) error {
	var lines []string
	for _, f := range unread {
		lines = append(lines, surface.Escape(f.File)+" cannot be read: "+firstLine(f.Reason))
	}
	for _, s := range servers {
		what := ""
		switch rank := rankOf(s); {
		case rank <= 2:
			what = statusWords[rank].word
		case s.News != "" && (s.State == scan.StateOpen || s.State == scan.StatePinned):
			if what = newsText(s.News); s.News != scan.LostEntry {
				what += ", not protected"
			}
		default:
			continue
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s: %s", surface.Escape(s.Name), clients.Title(s.Client), what,
			surface.Escape(statusText(s))))
	}
	if len(lines) == 0 {
		return nil
	}
	if next := nextCommand(servers); next != "" {
		lines = append(lines, next)
	}
	data, err := json.Marshal(map[string]string{"systemMessage": "Hallmark: " + strings.Join(lines, "\n")})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

// statusWords are what is said of a server in a state, what needs the user first.
var statusWords = []struct {
	state scan.State
	word  string
}{
	{"", "changed"}, {"", "withheld"}, {scan.StateUnapproved, "not approved"}, {scan.StateOpen, "open"},
	{scan.StatePinned, "pinned"}, {scan.StateVerified, "verified"}, {scan.StateGuarded, "protected"},
	{scan.StateEditor, "editor"}, {scan.StateOff, "off"},
}

// rankOf returns the index of a server's word in statusWords.
func rankOf(s scan.Server) int {
	switch {
	case s.Changed != "":
		return 0
	case s.Withheld != nil && s.State == scan.StateGuarded:
		return 1
	}
	return slices.IndexFunc(statusWords, func(w struct {
		state scan.State
		word  string
	}) bool {
		return w.state == s.State
	})
}

// unstartedServers are the names of the servers in hallmark.toml that no entry of a client starts.
func unstartedServers(found *scan.Result) (names []string) {
	for _, s := range found.Servers {
		if s.Client == "hallmark" && !slices.ContainsFunc(found.Servers, func(x scan.Server) bool {
			return x.Runs != nil && x.Runs.Name == s.Name && host.SameFile(x.Runs.Project, filepath.Dir(s.File))
		}) {
			names = append(names, s.Name)
		}
	}
	return names
}

// showStatus prints a line for each server, in columns. Of those that are declared and that no client starts, it says
// how one does.
func showStatus(w io.Writer, servers []scan.Server, unstarted []string) {
	writeStates(w, servers)
	if len(unstarted) == 0 {
		return
	}
	none := "So none"
	if len(servers) > 0 {
		fmt.Fprintln(w)
		none = "No client"
	}
	writeFolded(w, fmt.Sprintf("%s starts %s of hallmark.toml. An entry in a client's file does: "+
		"this program as its command, \"run\" and \"%s\" as its arguments.", none,
		surface.Escape(evidence.NameSome(unstarted, 3)), surface.Escape(unstarted[0])), "  ")
}

// writeStates prints a line for each server, or that there is none.
func writeStates(w io.Writer, servers []scan.Server) {
	if len(servers) == 0 {
		fmt.Fprintln(w, "No MCP server was found in the files of your clients.")
		return
	}
	var t table
	for _, s := range servers {
		text := statusText(s)
		if s.News != "" {
			text = newsText(s.News) + ": " + text
		}
		t.add(statusWords[rankOf(s)].word, surface.Escape(s.Name), clients.Title(s.Client), surface.Escape(text))
	}
	t.writeTo(w)
}

// newsText says how an entry differs from what was seen before.
func newsText(n scan.News) string {
	if n == scan.LostEntry {
		return "no longer protected"
	}
	return string(n) + " since you looked last"
}

// statusText says what a server is, and of one that is not protected why.
func statusText(s scan.Server) string {
	switch {
	case s.Changed != "":
		return "not started: " + s.Changed
	case s.Withheld != nil && s.State == scan.StateGuarded:
		return fmt.Sprintf("%s changed, seen %s", evidence.Count(len(s.Withheld.Items), "item"),
			s.Withheld.Since.Local().Format("2006-01-02 15:04"))
	case s.State == scan.StateGuarded && len(s.AutoApprove) > 0:
		return s.Runs.Ref + "; its client calls tools without asking"
	case s.State == scan.StateGuarded, s.State == scan.StateUnapproved:
		return s.Runs.Ref
	case s.State == scan.StateOpen && (s.Runs != nil || s.CommandLine() == ""):
		for _, f := range s.Findings {
			if f.Evidence.Reason != "" {
				reason, _, _ := strings.Cut(f.Evidence.Reason, "\n")
				return reason
			}
		}
	}
	return s.CommandLine()
}

// nextCommand says what to type next; "" if nothing needs the user.
func nextCommand(servers []scan.Server) string {
	for _, s := range servers {
		switch rank := rankOf(s); {
		case s.System || s.Installed || s.Command == "" && s.URL == "":
		case s.Changed != "":
			return "If you know why it changed: '" + s.Renew + "'"
		case rank <= 2 && s.Runs != nil:
			said := "Look at what changed"
			if s.State == scan.StateUnapproved {
				said = "Read what is locked, and approve it on this machine"
			}
			return said + ": 'hallmark review " +
				host.QuoteArguments([]string{s.Runs.Name, "--project", s.Runs.Project}) + "'"
		case s.State == scan.StateOpen && s.Renew != "":
			return "Have it start this program: '" + s.Renew + "'"
		case s.State == scan.StateOpen && s.Runs != nil:
			return "What is refused, and why: 'hallmark scan'"
		case (s.State == scan.StateOpen || s.State == scan.StatePinned) && !s.User:
			return "Lock what the project's file starts: 'hallmark pin " +
				host.QuoteArguments([]string{"--config", s.File, "--write-config"}) + "'"
		case s.State == scan.StateOpen || s.State == scan.StatePinned:
			return "Protect what is " + statusWords[rank].word + ": 'hallmark protect'"
		}
	}
	return ""
}
