package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

func logCommand(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "log",
		Short: "Monitor, witness and prove what registries published",
	}, logProofCommand(a), logVerifyCommand(a), monitorCommand(a), witnessCommand(a), logForgetCommand(a))
}

func logProofCommand(a *app.App) *cobra.Command {
	var dir, base, output string
	var asJSON bool
	var o trail.Options
	c := &cobra.Command{
		Use:     "proof NAME@VERSION",
		Short:   "Fetch and verify the proof that a record is logged",
		Example: "io.github.acme/notes@1.4.0 -o notes.proof",
		Long: `Fetch a record and the proof that it is in its registry's log, verify both, and print the
proof (C2SP tlog-proof). Who has the log's key can verify it without the registry.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, names []string) error {
			if err := a.LogOptions(c, &o); err != nil {
				return err
			}
			h.Sending.AllowURL(base)
			rules, err := trail.Rules(dir, base)
			if err != nil {
				return err
			}
			p, err := obtain.FetchProof(c.Context(), h, rules, names[0], o)
			a.Bars.Stop()
			if err == nil && output != "" {
				err = durable.WriteFile(output, p.Proof, 0o644)
			}
			if asJSON {
				return a.WriteJSON(provenResult(p, err), err)
			}
			if err != nil {
				return err
			}
			showProven(a, p)
			if output == "" {
				_, err = a.Stdout.Write(p.Proof)
			}
			return err
		})),
	}
	addProjectFlag(a, c, &dir)
	a.AllowFlags(c)
	app.LogKeyFlag(c, &o)
	c.Flags().StringVar(&base, "registry", "", "base `URL` of the registry (default: that of "+"hallmark.toml)")
	c.Flags().StringVarP(&output, "output", "o", "", "`file` to write the proof to (default: standard output)")
	c.Flags().BoolVar(&asJSON, "json", false, "print proof and evidence as one JSON document")
	return c
}

func logVerifyCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var o trail.Options
	c := &cobra.Command{
		Use:     "verify FILE",
		Short:   "Verify a proof in a file, without the network",
		Example: "notes.proof",
		Args:    app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, names []string) error {
			if err := a.LogOptions(c, &o); err != nil {
				return err
			}
			p, err := trail.VerifyProof(h, names[0], o.Key)
			if asJSON {
				return a.WriteJSON(provenResult(p, err), err)
			}
			if err == nil {
				showProven(a, p)
			}
			return err
		})),
	}
	app.LogKeyFlag(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print what the proof says as one JSON document")
	return c
}

func provenResult(p *trail.ProvenRecord, err error) any {
	type result struct {
		app.Outcome
		Origin   string `json:"origin,omitempty"`
		Index    int64  `json:"index"`
		Size     int64  `json:"size"`
		Name     string `json:"name,omitempty"`
		Version  string `json:"version,omitempty"`
		Document string `json:"document,omitempty"`
		Proof    string `json:"proof,omitempty"`
	}
	if p == nil {
		return result{Outcome: app.OutcomeOf(policy.Verdict{}, err)}
	}
	return result{app.OutcomeOf(p.Verdict, err), p.Origin, p.Index, p.Size, p.Leaf.Name, p.Leaf.Version,
		p.Leaf.Document.String(), string(p.Proof)}
}

func showProven(a *app.App, p *trail.ProvenRecord) {
	a.Note("%s is entry %d of the log %s, published %s by %s, document %s", surface.Escape(p.Leaf.Subject()),
		p.Index, surface.Escape(p.Origin), p.Leaf.At.Format(time.RFC3339), surface.Escape(p.Leaf.Publisher),
		p.Leaf.Document)
}

const monitorHelp = `Read every entry of a registry's log, rebuild its tree, compare the tiles, the checkpoint
and every record that the registry serves with the entries, and report what an honest
registry never shows: a name and version twice, an entry, tile or record that was
rewritten, a record without an entry, an entry without its record, two histories.

With --state the next run goes on where this one stopped, and holds the log to what it
showed. Each run reads a part of what was read before again, all of it in
--reread runs. With --from a directory with a copy of the log's files is read, without records.
Exit code 3 if anything was found, now or in an earlier run with the same state.`

func monitorCommand(a *app.App) *cobra.Command {
	var o monitor.Options
	var asJSON, follow bool
	var every time.Duration
	c := &cobra.Command{
		Use:   "monitor [URL]",
		Short: "Compare all that a registry serves with its log",
		Example: "https://registry.example.com --state monitor.json\n" +
			"https://registry.example.com --state monitor.json --follow --every 10m",
		Long: monitorHelp,
		Args: app.Args(cobra.MaximumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if len(names) > 0 {
				o.URL = names[0]
			}
			if follow {
				o.Follow = every
			}
			if why := checkMonitored(names, o, every); why != "" {
				return app.Usage(c, errors.New(why))
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			if err := a.LogOptions(c, &o.Log); err != nil {
				return err
			}
			shown := 0
			o.Round = func(m *monitor.Result) error {
				if follow && len(m.Found) > shown {
					showAnomalies(a.Stdout, m.Found[shown:])
					shown = len(m.Found)
				}
				return nil
			}
			m, err := monitor.Monitor(c.Context(), h, o)
			a.Bars.Stop()
			return reportMonitored(a, o.State, m, shown, asJSON, err)
		}),
	}
	addMonitorFlags(c, &o)
	f := c.Flags()
	f.BoolVar(&follow, "follow", false, "go on, and look again and again")
	f.DurationVar(&every, "every", time.Minute, "`time` between looks with --follow")
	f.BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// addMonitorFlags adds the flags that say what is read, and what is kept.
func addMonitorFlags(c *cobra.Command, o *monitor.Options) {
	f := c.Flags()
	app.LogKeyFlag(c, &o.Log)
	f.StringVar(&o.From, "from", "", "`directory` with a copy of a log: checkpoint, tile/…")
	f.StringVar(&o.State, "state", "", "`file` that keeps what was read")
	f.IntVar(&o.Reread, "reread", monitor.DefaultReread,
		"`number` of runs in which all that was read before is read again; 0 is never")
}

// checkMonitored says what is wrong with the flags of 'log monitor', or nothing.
func checkMonitored(names []string, o monitor.Options, every time.Duration) string {
	switch {
	case (len(names) == 0) == (o.From == ""):
		return "takes the URL of a registry, or a directory with --from"
	case o.Reread < 0:
		return "--reread is 0 at least"
	case every < time.Second:
		return "--every is a second at least"
	}
	return ""
}

// reportMonitored says how much was read and compared. shown anomalies were printed while it was read.
func reportMonitored(a *app.App, state string, m *monitor.Result, shown int, asJSON bool, err error) error {
	if m == nil { // nothing was read, which is not the same as nothing found
		return err
	}
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			*monitor.Result
		}{app.OutcomeOf(policy.Verdict{}, err), m}, err)
	}
	showAnomalies(a.Stdout, m.Found[min(shown, len(m.Found)):])
	if m.Began {
		a.Note("there was no %s: the log was read from its first entry", surface.Escape(state))
	}
	if err != nil && m.Size == 0 {
		return err
	}
	again := ""
	if m.Again > 0 {
		again = fmt.Sprintf(", %d read again", m.Again)
	}
	a.Note("log %s: %s, %d new%s; %s compared; %s", surface.Escape(m.Origin), evidence.Count(int(m.Size), "entry"),
		m.Read, again, evidence.Count(int(m.Records), "record"), evidence.Count(len(m.Found), "anomaly"))
	return err
}

func showAnomalies(w io.Writer, found []monitor.Anomaly) {
	for _, f := range found {
		title := f.What
		if f.Index != nil {
			title += fmt.Sprintf(": entry %d", *f.Index)
		}
		for _, s := range []string{f.Subject, f.Path} {
			if s != "" {
				title += ": " + surface.Escape(s)
			}
		}
		fmt.Fprintln(w, title)
		if f.Expected != "" {
			fmt.Fprintf(w, "  expected %s\n", surface.Escape(f.Expected))
		}
		if f.Actual != "" {
			fmt.Fprintf(w, "  actual   %s\n", surface.Escape(f.Actual))
		}
		for line := range strings.Lines(f.Detail) {
			fmt.Fprintf(w, "    %s\n", surface.Escape(strings.TrimSuffix(line, "\n")))
		}
	}
}

func witnessCommand(a *app.App) *cobra.Command {
	var o monitor.WitnessOptions
	c := &cobra.Command{
		Use:   "witness --key-file FILE --state DIR --log KEY",
		Short: "Cosign the checkpoints of logs that only ever grow",
		Long: `Serve POST /add-checkpoint (C2SP tlog-witness): cosign a checkpoint of a known log if it
continues the one that was cosigned last. The key is made at the first start; its
verifier key is printed: put it under witnesses in hallmark.toml, and give it to the
registry with --witness.

What was cosigned last is kept in --state. A log that --state does not know is refused,
because a witness that lost its state could cosign another history. --begin says that this
witness never cosigned the log. A new key needs no --begin.`,
		Args: app.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			for flag, value := range map[string]string{"key-file": o.KeyFile, "state": o.State} {
				if value == "" {
					return app.Usage(c, fmt.Errorf("--%s is needed", flag))
				}
			}
			if len(o.Logs) == 0 {
				return app.Usage(c, errors.New("--log names the key of a log to witness"))
			}
			for _, key := range o.Logs {
				if _, err := ledger.ParseVerifier(key); err != nil {
					return app.Usage(c, err)
				}
			}
			o.Logger = slog.New(slog.NewTextHandler(a.Stderr, nil))
			o.Listening = func(addr net.Addr, key string) {
				a.Note("witness at http://%s, key %s", addr, key)
			}
			return monitor.Witness(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Addr, "listen", "127.0.0.1:8081", "`address` to listen on")
	f.StringVar(&o.KeyFile, "key-file", "", "`file` with the witness's key, created if it is missing")
	f.StringVar(&o.Name, "name", "", "`name` of a new key, such as witness.example.org (default: a random one)")
	f.StringVar(&o.State, "state", "", "`directory` that keeps the newest checkpoint of each log")
	f.StringArrayVar(&o.Logs, "log", nil, "verifier `key` of a log to witness; repeatable")
	f.BoolVar(&o.Begin, "begin", false, "begin with the logs that --state has nothing of")
	return c
}

func logForgetCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "forget URL",
		Short: "Forget which key a registry's log has",
		Long: `Forget which key a registry's log has. The next use of the registry asks for the key
again. What this machine saw of the log under the old key is not forgotten.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.OnHost(nil, func(c *cobra.Command, h *host.Host, names []string) error {
			key, err := trail.Forget(c.Context(), h, names[0])
			if err == nil {
				a.Note("forgot the key %s", surface.Escape(key))
			}
			return err
		}),
	}
	return c
}
