package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/sign"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

func (a *app) plugin() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Hash, sign, check and install plugins of Node hosts",
		Long: `A plugin is a directory or zip with mcp-plugin.json and dist/. Each check ends with
0, or with the code of its most urgent error: 3 integrityError, 5 signatureError,
4 policyError, 2 validationError; 1 means that nothing was decided.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.pluginHash(), a.pluginValidate(), a.pluginVerify(), a.pluginGate(), a.pluginSign(), a.pluginLock(),
		a.pluginInstall(), a.pluginRevalidate(), a.pluginOrder(), a.pluginPack(), a.pluginPublish())
	return c
}

// errorTypes are the names that hosts know the classes by.
var errorTypes = map[evidence.Class]string{
	evidence.Integrity: "integrityError", evidence.Signature: "signatureError", evidence.Refused: "policyError",
	evidence.Validation: "validationError", evidence.Operation: "operationError",
}

// pluginFlags adds the flags of checks. The environment sets their defaults.
type pluginFlags struct {
	o     hallmark.PluginOptions
	bools map[string]*bool
}

func newPluginFlags(c *cobra.Command) *pluginFlags {
	f := &pluginFlags{bools: map[string]*bool{}}
	for _, b := range []struct{ name, env, usage string }{
		{"allow-runtime-deps", "PLUGIN_ALLOW_RUNTIME_DEPS", "permit external packages, as the plugin's policy has it"},
		{"allow-native", "PLUGIN_ALLOW_NATIVE", "permit native addons, with a sandbox"},
		{"require-signatures", "REQUIRE_SIGNATURES", "a trusted key must have signed dist.hash"},
		{"strict-capabilities", "STRICT_CAPABILITIES", "declared and registered capabilities must be the same"},
		{"strict-tools", "STRICT_TOOLS", "registered tools must be well formed"},
		{"strict-integrity", "STRICT_INTEGRITY", "counts, full coverage and integrity of external packages must be there"},
		{"sandbox-available", "SANDBOX_AVAILABLE", "the host runs plugins in a sandbox"},
	} {
		f.bools[b.env] = c.Flags().Bool(b.name, false, b.usage+" ($"+b.env+")")
	}
	c.Flags().BoolVar(&f.o.Strict, "strict", false, "only unambiguous hashes, nothing unhashed, no computed import, the whole manifest signed")
	c.Flags().StringVar(&f.o.Allowlist, "allowlist", "", "`file` of allowed external packages (default "+plugin.AllowlistFile+" if it is there)")
	return f
}

// options reads the environment; a flag that is given wins.
func (f *pluginFlags) options(c *cobra.Command) (hallmark.PluginOptions, error) {
	flags, err := plugin.ReadFlags(func(env string) string {
		if b := f.bools[env]; b != nil && c.Flags().Changed(flagName(env)) {
			return fmt.Sprint(*b)
		}
		return os.Getenv(env)
	})
	if err != nil {
		return f.o, usage(c, err)
	}
	f.o.Flags = flags
	return f.o, nil
}

func flagName(env string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(env, "PLUGIN_")), "_", "-")
}

// pluginOutcome is the JSON answer about one plugin.
type pluginOutcome struct {
	outcome
	ErrorType string         `json:"error_type,omitempty"`
	Path      string         `json:"path"`
	Name      string         `json:"name,omitempty"`
	Version   string         `json:"version,omitempty"`
	Entry     string         `json:"entry,omitempty"`
	Profile   tree.Profile   `json:"profile,omitempty"`
	DistHash  string         `json:"dist_hash,omitempty"` // as the manifest has it
	TreeHash  string         `json:"tree_hash,omitempty"`
	SignedBy  string         `json:"signed_by,omitempty"`
	Copy      string         `json:"copy,omitempty"`
	Strict    bool           `json:"strict"`
	Flags     plugin.Flags   `json:"flags"`
	Issues    []plugin.Issue `json:"issues,omitempty"` // of the manifest
}

func outcomeOfPlugin(path string, r *plugin.Result, o hallmark.PluginOptions, err error) pluginOutcome {
	p := pluginOutcome{Path: filepath.ToSlash(path), Strict: o.Strict, Flags: o.Flags}
	var verdict policy.Verdict
	if r != nil {
		m := r.Manifest
		verdict = r.Verdict
		p.Name, p.Version, p.Entry, p.Profile, p.DistHash, p.TreeHash, p.SignedBy = m.Name, m.Version, m.Entry, r.Profile, m.Dist.Hash, r.Tree.String(), r.SignedBy
		if err == nil && verdict.Allowed() {
			p.Copy = filepath.ToSlash(o.CopyTo)
		}
	}
	var invalid *plugin.Invalid
	if errors.As(err, &invalid) {
		p.Issues = invalid.Issues
	}
	p.outcome = outcomeOf(verdict, err)
	p.ErrorType = errorTypes[p.Class]
	return p
}

// checked prints a checked plugin and returns what ends the program.
func (a *app) checked(path string, r *plugin.Result, o hallmark.PluginOptions, asJSON bool, err error) error {
	if err == nil {
		err = r.Verdict.Err()
	}
	a.bars.stop()
	if asJSON {
		return a.json(outcomeOfPlugin(path, r, o, err), err)
	}
	if r != nil {
		if failed := pluginReport(a.stdout, r); failed != nil {
			return failed
		}
	}
	if err != nil {
		return &typed{err}
	}
	_, err = fmt.Fprintf(a.stderr, "%s: %s: ok\n", a.name, surface.Escape(r.Manifest.Subject()))
	return err
}

// typed prints an error with the name that hosts know its class by.
type typed struct{ error }

func (e *typed) Error() string {
	return errorTypes[evidence.ClassOf(e.error)] + ": " + e.error.Error()
}

func (e *typed) Unwrap() error { return e.error }

// pluginReport prints what was allowed: warnings in full, checksums as a number.
func pluginReport(w io.Writer, r *plugin.Result) error {
	var shown evidence.Report
	files := 0
	for _, f := range r.Verdict.Findings {
		e := f.Evidence
		switch {
		case f.Class != evidence.OK:
		case e.Scheme == evidence.File && e.Authority == evidence.Manifest && e.Outcome == evidence.Match:
			files++
		case e.Outcome != evidence.Absent || f.Warning:
			shown = append(shown, e)
		}
	}
	if err := shown.WriteText(w); err != nil || files == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "%-12s  %s  (%s, dist.checksums)\n", evidence.Match, evidence.Count(files, "checksum"), plugin.ManifestFile)
	return err
}

func (a *app) pluginVerify() *cobra.Command {
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
		Args: args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.host(".")
			if err != nil {
				return err
			}
			r, err := hallmark.VerifyPlugin(c.Context(), h, names[0], o)
			return a.checked(names[0], r, o, asJSON, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().StringVar(&f.o.CopyTo, "copy-to", "", "new `directory` for a copy of what was checked")
	c.Flags().StringVar(&f.o.Registered, "registered", "", "`file` with the tools, resources and prompts that the plugin registered")
	c.Flags().BoolVar(&asJSON, "json", false, "print the evidence as one JSON document")
	return c
}

func (a *app) pluginValidate() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate DIR|ZIP",
		Short: "Check a plugin's manifest and dist.hash",
		Long:  "Check the manifest of a plugin and its dist.hash, and print the hash that was computed.",
		Args:  args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			r, hash, err := hallmark.ValidatePlugin(c.Context(), names[0])
			computed := ""
			if !hash.IsZero() {
				computed = hash.String()
			}
			if asJSON {
				return a.json(struct {
					pluginOutcome
					Computed string `json:"computed,omitempty"`
				}{outcomeOfPlugin(names[0], r, hallmark.PluginOptions{}, err), computed}, err)
			}
			if computed != "" {
				fmt.Fprintln(a.stdout, computed)
			}
			if err != nil {
				return &typed{err}
			}
			fmt.Fprintf(a.stderr, "%s: %s is valid (profile %s)\n", a.name, surface.Escape(r.Manifest.Subject()), r.Profile)
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

func (a *app) pluginHash() *cobra.Command {
	var asJSON, write bool
	var profile string
	c := &cobra.Command{
		Use:     "hash DIR|ZIP",
		Short:   "Compute a plugin's dist.hash, and write it into the manifest",
		Example: "notes --write",
		Args:    args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			r, err := hallmark.HashPlugin(c.Context(), names[0], tree.Profile(profile), write)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(struct {
					outcome
					Hash    string       `json:"hash"`
					Tree    string       `json:"hallmark-tree-v1"`
					Profile tree.Profile `json:"profile"`
					Files   int          `json:"fileCount"`
					Bytes   int64        `json:"totalBytes"`
					Written bool         `json:"written"`
				}{outcomeOf(policy.Verdict{}, nil), r.Hash.String(), r.Tree.String(), r.Profile, r.Files, r.Bytes, r.Written}, nil)
			}
			fmt.Fprintln(a.stdout, r.Hash)
			if write {
				state := "was up to date"
				if r.Written {
					state = "written"
				}
				fmt.Fprintf(a.stderr, "%s: %s %s: %s, %s bytes, profile %s\n", a.name, plugin.ManifestFile, state,
					evidence.Count(r.Files, "file"), evidence.Group(r.Bytes), r.Profile)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&profile, "profile", "", "hash `profile`: guide, od, od-builder or legacy-nul (default: the manifest's, else guide)")
	c.Flags().BoolVar(&write, "write", false, "write hash, framed hash, counts and checksums into "+plugin.ManifestFile)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

func (a *app) pluginGate() *cobra.Command {
	var asJSON, asSARIF bool
	var f *pluginFlags
	c := &cobra.Command{
		Use:     "gate DIR|ZIP...",
		Short:   "Check many plugins as verify does, before a release",
		Example: "plugins/notes plugins/tasks\nplugins/notes --sarif",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if asJSON && asSARIF {
				return usage(c, errors.New("--json and --sarif exclude each other"))
			}
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.host(".")
			if err != nil {
				return err
			}
			all, err := hallmark.GatePlugins(c.Context(), h, names, o)
			if err != nil {
				return err
			}
			outcomes := []pluginOutcome{}
			var failed []error
			for _, g := range all {
				err := g.Err
				if err == nil {
					err = g.Result.Verdict.Err()
				}
				if err != nil {
					failed = append(failed, err)
				}
				outcomes = append(outcomes, outcomeOfPlugin(g.Path, g.Result, o, err))
			}
			err = errors.Join(failed...)
			switch {
			case asSARIF:
				return a.json(evidence.MakeSARIF(program.Release(), nil, pluginResults(outcomes)), err)
			case asJSON:
				return a.json(struct {
					outcome
					Plugins []pluginOutcome `json:"plugins"`
				}{outcomeOf(policy.Verdict{}, err), outcomes}, err)
			}
			for i, p := range outcomes {
				word := "ok"
				if !p.OK {
					word = p.ErrorType
				}
				fmt.Fprintf(a.stdout, "%-15s  %s\n", word, surface.Escape(names[i]))
			}
			return err
		}),
	}
	f = newPluginFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print all results as one JSON document")
	c.Flags().BoolVar(&asSARIF, "sarif", false, "print what was refused or warned about as SARIF 2.1.0")
	return c
}

func (a *app) pluginSign() *cobra.Command {
	var asJSON bool
	var keyFile, id string
	c := &cobra.Command{
		Use:     "sign DIR --key FILE",
		Short:   "Sign a plugin's dist.hash and its whole manifest",
		Example: "notes --key acme.pem",
		Long: `Sign dist.hash, as hosts know it, and a statement of the whole manifest, which covers
name, version, entry, permissions and policy too. The key is PEM (Ed25519, RSA, P-256,
P-384) or minisign's; the password of an encrypted one is read from HALLMARK_KEY_PASSWORD.
The hash is checked first: what does not match is not signed.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if keyFile == "" {
				return usage(c, errors.New("name the private key with --key FILE"))
			}
			text, err := readKey(keyFile)
			if err != nil {
				return err
			}
			key, err := sign.ParsePrivateKey(text, os.Getenv("HALLMARK_KEY_PASSWORD"))
			if err != nil {
				return evidence.Errorf(evidence.Validation, keyFile, "", err)
			}
			h, err := a.host(".")
			if err != nil {
				return err
			}
			if id, err = hallmark.SignPlugin(c.Context(), h, names[0], key, id); err != nil {
				return err
			}
			if asJSON {
				return a.json(struct {
					outcome
					SignedBy  string         `json:"signed_by"`
					Algorithm sign.Algorithm `json:"algorithm"`
				}{outcomeOf(policy.Verdict{}, nil), id, key.Public().Algorithm()}, nil)
			}
			_, err = fmt.Fprintf(a.stderr, "%s: signed by %s (%s)\n", a.name, surface.Escape(id), key.Public().Algorithm())
			return err
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	c.Flags().StringVar(&keyFile, "key", "", "private key `file`")
	c.Flags().StringVar(&id, "id", "", "`id` of the key, as those who trust it know it (default: from the key)")
	return c
}

// readKey reads the file of a key.
func readKey(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, name, "", errors.Unwrap(err))
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, sign.MaxKey+1))
}

func (a *app) pluginLock() *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	c := &cobra.Command{
		Use:   "lock DIR",
		Short: "Write or refresh " + plugin.LockFile + " without installing",
		Args:  args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.host(".")
			if err != nil {
				return err
			}
			in, err := hallmark.LockPlugin(c.Context(), h, names[0], o)
			return a.installed(names[0], in, o, asJSON, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// installed prints an installed or refused plugin.
func (a *app) installed(from string, in *hallmark.Installed, o hallmark.PluginOptions, asJSON bool, err error) error {
	if in == nil {
		in = &hallmark.Installed{}
	}
	if err != nil || in.Path == "" || !asJSON {
		if failed := a.checked(from, in.Result, o, asJSON, err); failed != nil || err != nil {
			return failed
		}
	}
	if asJSON {
		return a.json(struct {
			pluginOutcome
			Installed string               `json:"installed"`
			Lock      *project.InstallLock `json:"lock"`
		}{outcomeOfPlugin(from, in.Result, o, nil), filepath.ToSlash(in.Path), in.Lock}, nil)
	}
	if in.Already {
		fmt.Fprintf(a.stderr, "%s: it was installed already\n", a.name)
	}
	_, err = fmt.Fprintln(a.stdout, filepath.ToSlash(in.Path))
	return err
}

func (a *app) pluginInstall() *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	var base, sum string
	var o hallmark.InstallOptions
	c := &cobra.Command{
		Use:     "install URL|ZIP|DIR|NAME[@VERSION]",
		Short:   "Check a plugin and place it below plugins/",
		Example: "notes.zip --require-signatures\nnotes@1.4.0 --registry https://registry.example.com",
		Long: `Check a plugin as 'hallmark plugin verify' does, and place the bytes that were checked
below plugins/ as NAME@VERSION. A file or directory of the name goes before a plugin of
the registry, of which the record and its proof in the registry's log are checked too.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) (err error) {
			if o.PluginOptions, err = f.options(c); err != nil {
				return err
			}
			if sum != "" {
				if o.SHA256, err = digest.Parse(sum); err != nil {
					return usage(c, err)
				}
			}
			h, err := a.host(".")
			if err != nil {
				return err
			}
			if o.Registry, err = pluginRegistry(h, c, base); err != nil {
				return err
			}
			if err := a.logOptions(c, &o.Log); err != nil {
				return err
			}
			o.Progress = a.bars.fetching
			in, err := hallmark.InstallPlugin(c.Context(), h, names[0], o)
			return a.installed(names[0], in, o.PluginOptions, asJSON, err)
		}),
	}
	f = newPluginFlags(c)
	c.Flags().StringVar(&o.Dir, "dir", "plugins", "`directory` that holds the plugins")
	c.Flags().StringVar(&sum, "sha256", "", "`digest` that the zip must have")
	c.Flags().StringVar(&base, "registry", os.Getenv("HALLMARK_REGISTRY"), "base `URL` of the registry (default $HALLMARK_REGISTRY, else that of hallmark.toml, else that of the last login)")
	logKeyFlag(c, &o.Log)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// pluginRegistry is the registry that plugins are installed from by name. That there is
// none matters only if one is.
func pluginRegistry(h *hallmark.Host, c *cobra.Command, base string) (project.Registry, error) {
	rules, err := hallmark.LogRules(".", "")
	switch {
	case base == "" && err == nil, err == nil && rules.URL == base:
		return rules, nil
	case base != "":
		return project.Registry{URL: base}, nil
	}
	if _, bad := os.Stat(project.ConfigFile); bad == nil {
		return project.Registry{}, nil // it names none
	}
	if client, _, err := target(h, c, ""); err == nil {
		return project.Registry{URL: client.Base}, nil
	}
	return project.Registry{}, nil
}

func (a *app) pluginPublish() *cobra.Command {
	var asJSON bool
	var o hallmark.PublishOptions
	var base string
	c := &cobra.Command{
		Use:   "publish DIR|ZIP",
		Short: "Publish a plugin to a registry",
		Long: `Recompute what the manifest claims of the plugin's files, and send the plugin: a zip as
it is, a directory as 'hallmark plugin pack' packs it. The registry recomputes it too;
what it recorded, and the proof that its log has it, are compared.

Names of plugins have no scope: publishing needs an API token that names the plugin, or
one for every name, in HALLMARK_TOKEN.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			h, err := a.host(".")
			if err != nil {
				return err
			}
			if o.Registry, o.Token, err = target(h, c, base); err != nil {
				return err
			}
			if err := a.logOptions(c, &o.Log); err != nil {
				return err
			}
			p, err := hallmark.PublishPlugin(c.Context(), h, names[0], o)
			return a.sentArchive(p, asJSON, err)
		}),
	}
	c.Flags().StringVar(&base, "registry", os.Getenv("HALLMARK_REGISTRY"), "base `URL` of the registry (default $HALLMARK_REGISTRY, else that of the last login)")
	logKeyFlag(c, &o.Log)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

func (a *app) pluginRevalidate() *cobra.Command {
	var asJSON bool
	var f *pluginFlags
	var dir string
	c := &cobra.Command{
		Use:   "revalidate",
		Short: "Check installed plugins against what was locked, offline",
		Args:  args(cobra.NoArgs),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			h, err := a.host(".")
			if err != nil {
				return err
			}
			all, err := hallmark.RevalidatePlugins(c.Context(), h, dir, o)
			if err != nil {
				return err
			}
			outcomes := []pluginOutcome{}
			var failed []error
			for _, v := range all {
				err := v.Err
				if err == nil {
					err = v.Result.Verdict.Err()
				}
				if err != nil {
					failed = append(failed, &typed{err})
				}
				outcomes = append(outcomes, outcomeOfPlugin(v.Path, v.Result, o, err))
			}
			err = errors.Join(failed...)
			if asJSON {
				return a.json(struct {
					outcome
					Plugins []pluginOutcome `json:"plugins"`
				}{outcomeOf(policy.Verdict{}, err), outcomes}, err)
			}
			for _, p := range outcomes {
				word := "ok"
				if !p.OK {
					word = p.ErrorType
				}
				fmt.Fprintf(a.stdout, "%-15s  %s\n", word, surface.Escape(p.Path))
			}
			if len(outcomes) == 0 {
				fmt.Fprintf(a.stderr, "%s: no plugin is installed in %s\n", a.name, surface.Escape(filepath.ToSlash(dir)))
			}
			return err
		}),
	}
	f = newPluginFlags(c)
	c.Flags().StringVar(&dir, "dir", "plugins", "`directory` that holds the plugins")
	c.Flags().BoolVar(&asJSON, "json", false, "print all results as one JSON document")
	return c
}

func (a *app) pluginOrder() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "order DIR|ZIP...",
		Short: "Print the order in which plugins are to be loaded",
		Args:  args(cobra.MinimumNArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			order, err := hallmark.OrderPlugins(c.Context(), names)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(struct {
					outcome
					Order []string `json:"order"`
				}{outcomeOf(policy.Verdict{}, nil), order}, nil)
			}
			for _, name := range order {
				fmt.Fprintln(a.stdout, name)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the order as one JSON document")
	return c
}

func (a *app) pluginPack() *cobra.Command {
	var asJSON bool
	var out string
	c := &cobra.Command{
		Use:   "pack DIR",
		Short: "Pack a plugin as a zip; the same files give the same bytes",
		Args:  args(cobra.ExactArgs(1)),
		RunE: a.reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if out == "" {
				abs, err := filepath.Abs(names[0])
				if err != nil {
					return err
				}
				out = filepath.Base(abs) + ".zip"
			}
			d, left, err := hallmark.PackPlugin(c.Context(), names[0], out)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(struct {
					outcome
					File        string        `json:"file"`
					ContentHash digest.Digest `json:"content_hash"`
					Left        []string      `json:"left_out"`
				}{outcomeOf(policy.Verdict{}, nil), filepath.ToSlash(out), d, append([]string{}, left...)}, nil)
			}
			for _, path := range left {
				fmt.Fprintf(a.stderr, "%s: warning: %s is no part of the plugin, and was left out\n", a.name, surface.Escape(path))
			}
			_, err = fmt.Fprintf(a.stdout, "%s  %s\n", d, surface.Escape(filepath.ToSlash(out)))
			return err
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	c.Flags().StringVarP(&out, "output", "o", "", "`file` to write (default DIR.zip in this directory)")
	return c
}
