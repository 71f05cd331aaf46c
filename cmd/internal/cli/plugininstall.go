package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

const pluginInstallHelp = `Check a plugin as 'hallmark plugin verify' does, and place the bytes that were checked
below plugins/ as NAME@VERSION. A file or directory of the name goes before a plugin of
the registry, of which the record and its proof in the registry's log are checked too.
External packages that the policy permits are installed beside it, at exactly the
versions of the manifest, with what they depend on, from the bytes that were compared.
No script of theirs is run.`

func pluginInstallCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	var base, sum string
	var o plugins.InstallOptions
	c := &cobra.Command{
		Use:     "install URL|ZIP|DIR|NAME[@VERSION]",
		Short:   "Check a plugin and place it below plugins/",
		Example: "notes.zip --require-signatures\nnotes@1.4.0 --registry https://registry.example.com",
		Long:    pluginInstallHelp,
		Args:    app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) (err error) {
			if o.Options, err = f.options(c); err != nil {
				return err
			}
			if sum != "" {
				if o.SHA256, err = parseZipDigest(sum); err != nil {
					return app.Usage(c, err)
				}
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			if o.Registry, err = pluginRegistry(h, c, base); err != nil {
				return err
			}
			if err := a.LogOptions(c, &o.Log); err != nil {
				return err
			}
			o.Progress = a.Bars.Fetching
			in, err := plugins.Install(c.Context(), h, names[0], o)
			return pluginReporter{a, o.Options, asJSON}.reportInstalled(names[0], in, err)
		}),
	}
	a.AllowFlags(c)
	f = newPluginFlags(c)
	c.Flags().StringVar(&o.Dir, "dir", "plugins", "`directory` that holds the plugins")
	c.Flags().StringVar(&sum, "sha256", "", "`digest` that the zip must have: sha256:HEX, or the hex alone")
	c.Flags().StringVar(&base, "registry", os.Getenv("HALLMARK_REGISTRY"),
		"base `URL` of the registry (default $HALLMARK_REGISTRY, else that of hallmark.toml, else that of the last "+
			"login)")
	app.LogKeyFlag(c, &o.Log)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// parseZipDigest reads the digest of a zip: sha256: and hex, or the hex alone, as install.lock.json and
// sha256sum write it.
func parseZipDigest(text string) (digest.Digest, error) {
	if d, err := digest.ParseHex(digest.SHA256, text); err == nil {
		return d, nil
	}
	return digest.Parse(text)
}

// pluginRegistry returns the registry that plugins are installed from by name. A missing one is an
// error only if a plugin is installed by name.
func pluginRegistry(h *host.Host, c *cobra.Command, base string) (project.Registry, error) {
	h.Sending.AllowURL(base)
	rules, err := trail.Rules(".", "")
	switch {
	case base == "" && err == nil, err == nil && rules.URL == base:
		return rules, nil
	case base != "":
		return project.Registry{URL: base}, nil
	}
	if _, bad := os.Stat(project.ConfigFile); bad == nil {
		return project.Registry{}, nil // it names none
	}
	if client, _, err := author.FindRegistry(h, c, ""); err == nil {
		return project.Registry{URL: client.Base}, nil
	}
	return project.Registry{}, nil
}

func pluginLockCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	c := &cobra.Command{
		Use:   "lock DIR",
		Short: "Write or refresh " + plugin.LockFile + " without installing",
		Args:  app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			in, err := plugins.Lock(c.Context(), h, names[0], o)
			return pluginReporter{a, o, asJSON}.reportInstalled(names[0], in, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// reportInstalled prints an installed or refused plugin.
func (p pluginReporter) reportInstalled(from string, in *plugins.Installation, err error) error {
	a := p.app
	if in == nil {
		in = &plugins.Installation{}
	}
	if err != nil || in.Path == "" || !p.asJSON {
		if failed := p.reportChecked(from, in.Result, err); failed != nil || err != nil {
			return failed
		}
	}
	if p.asJSON {
		return a.WriteJSON(struct {
			pluginOutcome
			Installed string               `json:"installed"`
			Externals *plugins.Externals   `json:"externals,omitempty"`
			Lock      *plugins.InstallLock `json:"lock"`
		}{outcomeOfPlugin(from, in.Result, p.options, nil), filepath.ToSlash(in.Path), in.Externals, in.Lock}, nil)
	}
	p.noteExternals(in.Externals)
	machineWarnings(a, plugins.CheckResult{Path: in.Path, Result: in.Result})
	if in.Already {
		a.Note("it was installed already")
	}
	_, err = fmt.Fprintln(a.Stdout, filepath.ToSlash(in.Path))
	return err
}

// noteExternals says which external packages were installed beside a plugin, and which were not.
func (p pluginReporter) noteExternals(x *plugins.Externals) {
	if x == nil {
		return
	}
	for _, left := range x.LeftOut {
		p.app.Note("warning: left out %s, which is optional: %s", surface.Escape(left.Name),
			surface.Escape(left.Reason))
	}
	if len(x.Packages) > 0 {
		p.app.Note("installed beside it: %s", surface.Escape(strings.Join(x.Packages, ", ")))
	}
	if len(x.Scripts) > 0 {
		p.app.Note("not run: install scripts of %s", surface.Escape(strings.Join(x.Scripts, ", ")))
	}
}

func pluginRevalidateCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	var dir string
	c := &cobra.Command{
		Use:   "revalidate",
		Short: "Check installed plugins against what was locked, offline",
		Long: `Check each plugin below plugins/ as 'hallmark plugin verify' does, for the flags of this
host, and against all that its install.lock.json owes. The flags that it was locked under
only add demands and take rights. On the machine that installed a plugin the lock itself
is compared with what was written then, and a plugin that is gone is refused. So is
anything else among the plugins, or in the directory of one.`,
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			all, err := plugins.Revalidate(c.Context(), h, dir, o)
			if err != nil {
				return err
			}
			if !asJSON {
				for _, v := range all {
					machineWarnings(a, v)
				}
			}
			outcomes, err := outcomesOfPlugins(all, o)
			if len(outcomes) == 0 && !asJSON {
				a.Note("no plugin is installed in %s", surface.Escape(filepath.ToSlash(dir)))
			}
			return printPlugins(a, outcomes, lineOfInstalled, asJSON, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().StringVar(&dir, "dir", "plugins", "`directory` that holds the plugins")
	c.Flags().BoolVar(&asJSON, "json", false, "print all results as one JSON document")
	return c
}

// machineWarnings warns if this machine did not install an allowed plugin, or accepted a stronger
// version of it before.
func machineWarnings(a *app.App, v plugins.CheckResult) {
	if v.Err != nil || !v.Result.Verdict.Allowed() {
		return
	}
	for _, f := range v.Result.Verdict.Warnings() {
		if e := f.Evidence; e.Scheme == evidence.Installed && e.Authority == evidence.Machine {
			a.Note("warning: %s: %s", surface.Escape(filepath.ToSlash(v.Path)), e.Reason)
		}
	}
}

func pluginForgetCommand(a *app.App) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     "forget NAME@VERSION",
		Short:   "Forget a plugin that was installed here and removed",
		Example: "net-utils@1.1.0",
		Long: `Forget that this machine installed a plugin, after you removed its directory on purpose.
Until then 'hallmark plugin revalidate' refuses, because the plugin is gone.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.OnHost(nil, func(c *cobra.Command, h *host.Host, names []string) error {
			if err := plugins.Forget(c.Context(), h, dir, names[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Stderr, "%s: forgot %s\n", a.Name, surface.Escape(names[0]))
			return err
		}),
	}
	c.Flags().StringVar(&dir, "dir", "plugins", "`directory` that held the plugin")
	return c
}
