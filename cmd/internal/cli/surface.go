package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

func surfaceCommand(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "surface",
		Short: "Capture, hash, compare and show what servers show a model",
		Long: `A surface is all that a server shows a model: tools, prompts, resources, templates and
instructions, in one canonical form (spec/surface.md).`,
	}, surfaceCaptureCommand(a), surfaceHashCommand(a), surfaceDiffCommand(a), surfaceShowCommand(a))
}

// surfaceFlags holds the flags of commands that may start a server to capture its surface.
type surfaceFlags struct {
	dir    string
	asJSON bool
	o      launch.SurfaceOptions
	log    trail.Options
}

func (s *surfaceFlags) register(c *cobra.Command, a *app.App) {
	addProjectFlag(a, c, &s.dir)
	a.AllowFlags(c)
	app.LogKeyFlag(c, &s.log)
	c.Flags().BoolVar(&s.asJSON, "json", false, "print one JSON document")
	c.Flags().BoolVar(&s.o.TrustLock, "trust-lock", false,
		"accept the lock of this checkout without this machine's approval")
	s.o.Judged = func(v policy.Verdict) {
		a.Bars.Stop()
		if len(s.o.Command) == 0 { // else no lock is to hold it, and no table has an opt-out
			a.WriteWarnings(v, v.Warnings())
		}
	}
}

// capture starts the server called name, or the command in s, and returns what it shows. What varies is said on
// standard error, as it is no part of the surface.
func (s *surfaceFlags) capture(a *app.App, c *cobra.Command, name string) (*program.Shown, error) {
	h, err := a.Host(s.dir)
	if err != nil {
		return nil, err
	}
	if err := a.LogOptions(c, &s.log); err != nil {
		return nil, err
	}
	s.o.LogKey = s.log.Key
	seen, err := launch.CaptureSurface(c.Context(), h, s.dir, name, s.o)
	a.Bars.Stop()
	if err == nil && !s.asJSON {
		showVarying(a.Stderr, seen.Varying)
	}
	return seen, err
}

// readStored returns the surface in a file, or that of a locked server if there is no such file.
func (s *surfaceFlags) readStored(a *app.App, c *cobra.Command, name string) (*surface.Surface, error) {
	if isFile(name) {
		return launch.ReadSurface(name)
	}
	h, err := a.Host(s.dir)
	if err != nil {
		return nil, err
	}
	return launch.LockedSurface(c.Context(), h, s.dir, name)
}

// isFile reports whether an argument names a file and not a server.
func isFile(name string) bool {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json") {
		return true
	}
	_, err := os.Stat(name)
	return err == nil
}

// surfaceJSON is a surface in a JSON answer.
type surfaceJSON struct {
	Surface    digest.Digest            `json:"surface"`
	APISurface digest.Digest            `json:"api_surface"`
	Items      map[string]digest.Digest `json:"surface_items"`
}

func digestsOf(s *surface.Surface) surfaceJSON {
	return surfaceJSON{s.Digest(), s.APISurface(), s.ItemDigests()}
}

// shownJSON is a surface with its contents.
type shownJSON struct {
	app.Outcome
	surfaceJSON
	// items of which two starts showed different ones, and how
	Varying  map[string]string `json:"surface_varying,omitempty"`
	Document json.RawMessage   `json:"document"`
	Warnings []surface.Warning `json:"warnings"`
}

func shownResult(s *surface.Surface, varying map[string]string) shownJSON {
	return shownJSON{app.OutcomeOf(policy.Verdict{}, nil), digestsOf(s), varying, s.Canonical(),
		append([]surface.Warning{}, surface.Warnings(s)...)}
}

func surfaceCaptureCommand(a *app.App) *cobra.Command {
	var s surfaceFlags
	c := &cobra.Command{
		Use:     "capture NAME | -- COMMAND [ARGUMENT...]",
		Short:   "Start a server and print what it shows each kind of client",
		Example: "notes\n-- node server.js",
		Long: `Start a server of hallmark.toml, locked or not, as 'hallmark run' does, or the command
behind '--', and print its surface: what it shows under the newest and the oldest version of the
protocol, and if that differs under those between, to a client that can do nothing and
to one that can do everything. Nothing is locked by this.`,
		ValidArgsFunction: completeServers,
		RunE: a.Reporting(&s.asJSON, func(c *cobra.Command, words []string) error {
			name := ""
			switch dash := c.ArgsLenAtDash(); {
			case dash == 0 && len(words) > 0:
				s.o.Command = words
			case dash < 0 && len(words) == 1 && len(s.o.Variables) == 0:
				name = words[0]
			case len(s.o.Variables) > 0:
				return app.Usage(c, errors.New("--variable is for a command behind '--'"))
			default:
				return app.Usage(c, errors.New("takes one NAME, or a command behind '--'"))
			}
			seen, err := s.capture(a, c, name)
			if err != nil {
				return err
			}
			if s.asJSON {
				return a.WriteJSON(shownResult(seen.Surface, seen.Varying), nil)
			}
			_, err = a.Stdout.Write(seen.Surface.FormatIndented())
			return err
		}),
	}
	s.register(c, a)
	c.Flags().StringSliceVar(&s.o.Variables, "variable", nil,
		"`name` of a variable that the command gets from the environment")
	return c
}

func surfaceHashCommand(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "hash FILE...",
		Short: "Print the digests of surfaces in files",
		Args:  app.Args(cobra.MinimumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(_ *cobra.Command, files []string) error {
			type hashed struct {
				File string `json:"file"`
				surfaceJSON
			}
			all := []hashed{}
			for _, file := range files {
				s, err := launch.ReadSurface(file)
				if err != nil {
					return err
				}
				all = append(all, hashed{file, digestsOf(s)})
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Files []hashed `json:"files"`
				}{app.OutcomeOf(policy.Verdict{}, nil), all}, nil)
			}
			for _, f := range all {
				if _, err := fmt.Fprintf(a.Stdout, "surface      %s  %s\napi_surface  %s  %[2]s\n", f.Surface,
					surface.Escape(f.File), f.APISurface); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the digests, those of all items too, as one JSON document")
	return c
}

func surfaceDiffCommand(a *app.App) *cobra.Command {
	var s surfaceFlags
	c := &cobra.Command{
		Use:     "diff NAME | OLD NEW",
		Short:   "Compare the locked surface with what is shown now",
		Example: "notes\nold.json new.json",
		Long: `Compare the surface that is locked of a server with what it shows now, for which it is
started as 'hallmark run' starts it; or two surfaces, each a file or the name of a locked
server. Changes are classified, the words that changed are marked, and what a terminal
would obey or hide is escaped. Exit code 6 if anything differs.`,
		Args: app.Args(cobra.RangeArgs(1, 2)),
		RunE: a.Reporting(&s.asJSON, func(c *cobra.Command, names []string) error {
			before, err := s.readStored(a, c, names[0])
			if err != nil {
				return err
			}
			seen, err := s.readOther(a, c, names)
			if err != nil {
				return err
			}
			after := seen.Surface
			changes := append([]surface.Change{}, surface.Diff(before, after)...)
			if len(changes) > 0 {
				err = evidence.Errorf(evidence.Drift, surface.Escape(strings.Join(names, ", ")), "",
					fmt.Errorf("%s", evidence.Count(len(changes), "change")))
			}
			if s.asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Old surfaceJSON `json:"old"`
					New surfaceJSON `json:"new"`
					// items of the new one that two starts showed differently
					Varying map[string]string `json:"surface_varying,omitempty"`
					Changes []surface.Change  `json:"changes"`
				}{app.OutcomeOf(policy.Verdict{}, err), digestsOf(before), digestsOf(after), seen.Varying, changes},
					err)
			}
			if _, failed := io.WriteString(a.Stdout, surface.FormatChanges(changes)); failed != nil {
				return failed
			}
			return err
		}),
	}
	s.register(c, a)
	return c
}

// readOther reads the second of two surfaces, or starts the server whose locked one is the first.
func (s *surfaceFlags) readOther(a *app.App, c *cobra.Command, names []string) (*program.Shown, error) {
	switch {
	case len(names) == 2:
		stored, err := s.readStored(a, c, names[1])
		return &program.Shown{Surface: stored}, err
	case isFile(names[0]):
		return nil, app.Usage(c, errors.New("name a server, or two files"))
	}
	return s.capture(a, c, names[0])
}

func surfaceShowCommand(a *app.App) *cobra.Command {
	var s surfaceFlags
	c := &cobra.Command{
		Use:   "show NAME | FILE",
		Short: "Print a surface for a person to read",
		Long: `Print every item of a surface with all its text. What a terminal would obey or hide is
escaped, and what looks like an instruction to the model is named.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&s.asJSON, func(c *cobra.Command, names []string) error {
			seen, err := s.readStored(a, c, names[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				return a.WriteJSON(shownResult(seen, nil), nil)
			}
			return showItems(a.Stdout, seen)
		}),
	}
	addProjectFlag(a, c, &s.dir)
	a.AllowFlags(c)
	c.Flags().BoolVar(&s.asJSON, "json", false, "print the surface, its digests and warnings as one JSON document")
	return c
}

// showItems prints each item in full, one member per line.
func showItems(w io.Writer, s *surface.Surface) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "surface      %s\napi_surface  %s\n", s.Digest(), s.APISurface())
	warnings := surface.Warnings(s)
	for _, item := range s.Items() {
		fmt.Fprintf(&b, "\n%s  %s\n", surface.Escape(item.Key()), item.Digest)
		b.WriteString(item.FullText())
		for i := range warnings {
			if warnings[i].Item == item.Key() {
				fmt.Fprintf(&b, "  look at  %s\n", warnings[i])
			}
		}
	}
	for _, rest := range slices.DeleteFunc(warnings, func(w surface.Warning) bool { return w.Item != "" }) {
		fmt.Fprintf(&b, "look at  %s\n", rest)
	}
	_, err := w.Write(b.Bytes())
	return err
}
