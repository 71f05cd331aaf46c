package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

func pluginVerifyCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	c := &cobra.Command{
		Use:     "verify DIR|ZIP",
		Short:   "Check whether a plugin may be loaded",
		Example: "notes\nnotes.zip --strict --json",
		Long: `Check, in this order: manifest, dist.hash, checksums, imports, external packages and
allowlist, signatures, capabilities. Every byte is read once. With --copy-to a plugin
that is allowed is written to a new directory from the bytes that were checked: load it
from there, and no change of the original matters.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			r, err := plugins.Verify(c.Context(), h, names[0], o)
			return pluginReporter{a, o, asJSON}.reportChecked(names[0], r, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().StringVar(&f.o.CopyTo, "copy-to", "", "new `directory` for a copy of what was checked")
	c.Flags().BoolVar(&asJSON, "json", false, "print the evidence as one JSON document")
	return c
}

func pluginValidateCommand(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate DIR|ZIP",
		Short: "Check a plugin's manifest and dist.hash",
		Long:  "Check the manifest of a plugin and its dist.hash, and print the hash that was computed.",
		Args:  app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			demands, err := listUnvalidated(os.Getenv)
			if err != nil {
				return app.Usage(c, err)
			}
			r, hash, err := plugins.Validate(c.Context(), names[0])
			computed := ""
			if !hash.IsZero() {
				computed = hash.String()
			}
			if asJSON {
				return a.WriteJSON(struct {
					pluginOutcome
					Computed string `json:"computed,omitempty"`
					// demands of the environment that only 'plugin verify' checks
					Unchecked []string `json:"not_checked,omitempty"`
				}{outcomeOfPlugin(names[0], r, plugins.Options{}, err), computed, demands}, err)
			}
			if computed != "" {
				fmt.Fprintln(a.Stdout, computed)
			}
			if err != nil {
				return &typedError{err}
			}
			a.Note("%s is valid (profile %s)", surface.Escape(r.Manifest.Subject()), r.Profile)
			if len(demands) > 0 {
				a.Note("not checked here: %s; 'hallmark plugin verify' does", strings.Join(demands, ", "))
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// listUnvalidated lists the demands of the environment on plugins, none of which validate checks.
func listUnvalidated(getenv func(string) string) (demands []string, err error) {
	flags, err := plugin.ReadFlags(getenv)
	for _, d := range []struct {
		on   bool
		name string
	}{
		{flags.RequireSignatures, "REQUIRE_SIGNATURES"}, {flags.StrictCapabilities, "STRICT_CAPABILITIES"},
		{flags.StrictTools, "STRICT_TOOLS"}, {flags.StrictIntegrity, "STRICT_INTEGRITY"},
	} {
		if d.on {
			demands = append(demands, d.name)
		}
	}
	return demands, err
}

func pluginGateCommand(a *app.App) *cobra.Command {
	var asJSON, asSARIF bool
	var f *pluginFlags
	c := &cobra.Command{
		Use:     "gate DIR|ZIP...",
		Short:   "Check many plugins as verify does, before a release",
		Example: "plugins/notes plugins/tasks\nplugins --sarif",
		Long: `Check each plugin as 'hallmark plugin verify' does. A directory that is no plugin means all
plugins and zips below it, four directories deep, but for what lies in a plugin, in
node_modules and in directories whose names begin with a dot. One without any plugin is
an error.`,
		Args: app.Args(cobra.MinimumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if asJSON && asSARIF {
				return app.Usage(c, errors.New("--json and --sarif exclude each other"))
			}
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			all, err := plugins.VerifyAll(c.Context(), h, names, o)
			if err != nil {
				return err
			}
			outcomes, err := outcomesOfPlugins(all, o)
			if asSARIF {
				return a.WriteJSON(evidence.MakeSARIF(program.Release(), nil, pluginResults(outcomes)), err)
			}
			return printPlugins(a, outcomes, lineOfPlugin, asJSON, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print all results as one JSON document")
	c.Flags().BoolVar(&asSARIF, "sarif", false, "print what was refused or warned about as SARIF 2.1.0")
	return c
}

func pluginOrderCommand(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "order DIR|ZIP...",
		Short: "Print the order in which plugins are to be loaded",
		Long: "Print the order in which plugins are to be loaded, by the dependencies of their manifests. Nothing " +
			"else of them is checked. A directory that is no plugin means all that are below it, as for " +
			"'hallmark plugin gate'.",
		Args: app.Args(cobra.MinimumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			order, err := plugins.Order(c.Context(), names)
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Order []string `json:"order"`
				}{app.OutcomeOf(policy.Verdict{}, nil), order}, nil)
			}
			for _, name := range order {
				fmt.Fprintln(a.Stdout, name)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the order as one JSON document")
	return c
}

// outcomesOfPlugins returns the outcome of each checked plugin, and the errors of those that were
// refused.
func outcomesOfPlugins(all []plugins.CheckResult, o plugins.Options) ([]pluginOutcome, error) {
	outcomes := []pluginOutcome{}
	var failed []error
	for _, c := range all {
		err := c.Err
		if err == nil {
			err = c.Result.Verdict.Err()
		}
		if err != nil {
			failed = append(failed, &typedError{err})
		}
		outcomes = append(outcomes, outcomeOfPlugin(c.Path, c.Result, o, err))
	}
	return outcomes, errors.Join(failed...)
}

// printPlugins prints the line of each plugin, or one document. It returns err.
func printPlugins(a *app.App, outcomes []pluginOutcome, line func(pluginOutcome) string, asJSON bool, err error) error {
	if asJSON {
		all := app.OutcomeOf(policy.Verdict{}, err)
		if headline := headlineOfPlugins(outcomes, all.Class); headline != "" {
			all.Error = headline
		}
		return a.WriteJSON(struct {
			app.Outcome
			Plugins []pluginOutcome `json:"plugins"`
		}{all, outcomes}, err)
	}
	for _, p := range outcomes {
		word := "ok"
		if !p.OK {
			word = p.ErrorType
		}
		fmt.Fprintf(a.Stdout, "%-15s  %s\n", word, line(p))
	}
	return err
}

// headlineOfPlugins says what decided the class of several results.
func headlineOfPlugins(outcomes []pluginOutcome, class evidence.Class) string {
	refused, headline := 0, ""
	for _, p := range outcomes {
		if p.OK {
			continue
		}
		if refused++; headline == "" && p.Class == class {
			headline = surface.Escape(p.Path) + ": " + strings.TrimPrefix(p.Error, p.Path+": ")
		}
	}
	if headline == "" {
		return ""
	}
	return fmt.Sprintf("%d of %s refused: %s", refused, evidence.Count(len(outcomes), "plugin"), headline)
}

// lineOfInstalled names an installed plugin, whose directory has its name.
func lineOfInstalled(p pluginOutcome) string { return surface.Escape(p.Path) }

// lineOfPlugin names a plugin, and says why it was refused.
func lineOfPlugin(p pluginOutcome) string {
	line := surface.Escape(p.Path)
	if p.Name != "" && p.Version != "" {
		line = surface.Escape(p.Name+"@"+p.Version) + "  " + line
	}
	if p.OK {
		return line
	}
	if p.headline {
		return line + ": " + p.Error
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(p.Error, p.Path+": "), "\n")
	return line + ": " + surface.Escape(first)
}
