package cli

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Delay garbage collection until the server has answered: collecting before would take a sixth of
// the time to start a small server.
const (
	startPercent = 400             // of GOGC: the heap is collected at 16 MiB, not at 4
	startTime    = 2 * time.Second // after that it is as usual
)

// spareCollector sets the garbage collector for the start of a server, unless the user did.
func spareCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startPercent)
	time.AfterFunc(startTime, func() { debug.SetGCPercent(usual) })
}

const runHelp = `Verify everything that the lock claims of a server, start it from the bytes that were
verified, and relay between it and the MCP client on standard input and output. What
the server shows is compared with the approved surface before any call is let through;
what differs is withheld. A server of type "http" is reached at its URL, of which nothing but
what it shows can be verified.

A server without an entry in hallmark.lock is refused, unless hallmark.toml says that it needs
none (unlocked = true, or a verify block, which is enforced) or --unlocked does, and this
machine approved its launch line: 'hallmark review NAME'. A server that this
machine approved with a lock entry needs it: --unlocked does not replace it. Arguments after '--'
are approved with the rest, unless the server's table has extra_arguments = "any".`

func runCommand(a *app.App) *cobra.Command {
	r := &runner{a: a}
	c := &cobra.Command{
		Use:     "run NAME [-- arguments]",
		Short:   "Start a locked server from verified bytes, and guard it",
		Example: "notes\nnotes --log calls.jsonl -- --verbose",
		Long:    runHelp,
		Args: app.Args(func(c *cobra.Command, names []string) error {
			dash := c.ArgsLenAtDash()
			if len(names) == 0 || dash == 0 || dash < 0 && len(names) > 1 || dash > 1 {
				return errors.New("takes one NAME; arguments for the server follow '--'")
			}
			return nil
		}),
		ValidArgsFunction: completeServers,
		RunE:              r.run,
	}
	addProjectFlag(a, c, &r.dir)
	a.AllowFlags(c)
	a.PlaceFlags(c)
	app.LogKeyFlag(c, &r.log)
	c.Flags().BoolVar(&r.o.TrustLock, "trust-lock", false,
		"accept the lock of this checkout without this machine's approval")
	c.Flags().BoolVar(&r.o.Unlocked, "unlocked", false,
		"start a server that is not locked, if this machine approved its launch line")
	c.Flags().BoolVar(&r.o.Settings.RequireLock, "require-lock", false,
		"refuse a server that is not locked, whatever hallmark.toml says")
	c.Flags().StringVar(&r.logFile, "log", "", "append one JSON line for each call to `file`")
	return c
}

// runner is one call of run.
type runner struct {
	a            *app.App
	dir, logFile string
	o            launch.RunOptions
	log          trail.Options
}

func (r *runner) run(c *cobra.Command, names []string) error {
	if r.o.Unlocked && r.o.Settings.RequireLock {
		return app.Usage(c, errors.New("--unlocked and --require-lock exclude each other"))
	}
	spareCollector()
	h, err := r.a.Host(r.dir)
	if err != nil {
		return err
	}
	if err := r.a.LogOptions(c, &r.log); err != nil {
		return err
	}
	r.o.LogKey = r.log.Key // nobody is asked: standard input is the client's
	r.o.Arguments = names[1:]
	r.o.Stdin, r.o.Stdout, r.o.Stderr = r.a.Stdin, r.a.Stdout, r.a.Stderr
	r.o.Judged = func(v policy.Verdict) {
		r.a.Bars.Stop()
		r.a.WriteWarnings(v, v.Warnings())
		if v.Err() == nil {
			program.ExplainWait(r.a.Name, names[0])
		}
	}
	if r.logFile != "" {
		f, err := workspace.OpenAppend(r.dir, r.logFile)
		if err != nil {
			return err
		}
		defer f.Close()
		r.o.Log = f
	}
	if term.IsTerminal(int(r.a.Stdin.Fd())) { // else it is the client's
		r.o.Ask = func(seen *launch.Reviewed) (host.Consent, error) { return r.ask(c.Context(), seen) }
	}
	code, err := launch.Run(c.Context(), h, r.dir, names[0], r.o)
	if err != nil {
		return err
	}
	if code != 0 {
		return program.ServerExit(code)
	}
	return nil
}

// ask shows what the server changed since it was approved, and asks whether that is approved, too.
func (r *runner) ask(ctx context.Context, seen *launch.Reviewed) (host.Consent, error) {
	showReview(r.a, r.a.Stderr, seen)
	if err := pageSurface(ctx, r.a, seen.Name, seen.Surface); err != nil {
		return host.NoConsent, err
	}
	return r.a.Ask(ctx, "Approve this?")
}
