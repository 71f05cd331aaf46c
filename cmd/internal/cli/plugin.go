package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

func pluginCommand(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "plugin",
		Short: "Hash, sign, check and install plugins of Node hosts",
		Long: `A plugin is a directory or zip with mcp-plugin.json and dist/. Each check ends with
0, or with the code of its most urgent error: 3 integrityError, 5 signatureError,
4 policyError, 2 validationError; 1 means that nothing was decided.`,
	}, pluginHashCommand(a), pluginValidateCommand(a), pluginVerifyCommand(a), pluginGateCommand(a),
		pluginSignCommand(a), pluginLockCommand(a),
		pluginInstallCommand(a), pluginRevalidateCommand(a), pluginForgetCommand(a), pluginOrderCommand(a),
		pluginPackCommand(a), pluginPublishCommand(a))
}

// errorTypes maps classes to the names that hosts know.
var errorTypes = map[evidence.Class]string{
	evidence.Integrity: "integrityError", evidence.Signature: "signatureError", evidence.Refused: "policyError",
	evidence.Validation: "validationError", evidence.Operation: "operationError",
}

// pluginFlags adds the flags of checks. The environment sets their defaults.
type pluginFlags struct {
	o     plugins.Options
	bools map[string]*bool  // by name in the environment
	names map[string]string // of the flags, by name in the environment
}

func newPluginFlags(c *cobra.Command) *pluginFlags {
	f := &pluginFlags{bools: map[string]*bool{}, names: map[string]string{}}
	for _, b := range []struct{ name, env, alias, usage string }{
		{"allow-runtime-deps", "PLUGIN_ALLOW_RUNTIME_DEPS", "", "permit external packages, as the plugin's " +
			"policy has it"},
		{"allow-native", "PLUGIN_ALLOW_NATIVE", "", "permit native addons, with a sandbox"},
		{"require-signatures", "REQUIRE_SIGNATURES", "PLUGIN_REQUIRE_SIGNED", "a trusted key must have signed " +
			"dist.hash"},
		{"strict-capabilities", "STRICT_CAPABILITIES", "PLUGIN_STRICT_CAPABILITIES",
			"declared and registered capabilities must be the same"},
		{"strict-tools", "STRICT_TOOLS", "", "registered tools must be well formed"},
		{"strict-integrity", "STRICT_INTEGRITY", "",
			"counts, full coverage and integrity of external packages must be there"},
		{"sandbox-available", "SANDBOX_AVAILABLE", "", "the host runs plugins in a sandbox"},
	} {
		value := c.Flags().Bool(b.name, false, b.usage+" ($"+b.env+")")
		for _, env := range strings.Fields(b.env + " " + b.alias) {
			f.bools[env], f.names[env] = value, b.name
		}
	}
	c.Flags().BoolVar(&f.o.Strict, "strict", false,
		"only unambiguous hashes, nothing unhashed, no computed import, the whole manifest signed")
	c.Flags().StringVar(&f.o.Allowlist, "allowlist", "",
		"`file` of allowed external packages (default "+plugin.AllowlistFile+" if it is there)")
	c.Flags().StringVar(&f.o.Registered, "registered", "",
		"`file` with the tools, resources and prompts that the plugin registered, or directory of NAME.json for each "+
			"plugin")
	return f
}

// options reads the environment, which flags override, by whichever name it has them.
func (f *pluginFlags) options(c *cobra.Command) (plugins.Options, error) {
	collectRarely()
	flags, err := plugin.ReadFlags(func(env string) string {
		if b := f.bools[env]; b != nil && c.Flags().Changed(f.names[env]) {
			return fmt.Sprint(*b)
		}
		return os.Getenv(env)
	})
	if err != nil {
		return f.o, app.Usage(c, err)
	}
	f.o.Flags = flags
	return f.o, nil
}

// pluginOutcome is the JSON answer about one plugin.
type pluginOutcome struct {
	app.Outcome
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

	headline bool // Error is one, and with it escaped

	// what others added to the manifest, by JSON pointer
	Further map[string]json.RawMessage `json:"further_members,omitempty"`
}

func outcomeOfPlugin(path string, r *plugin.Result, o plugins.Options, err error) pluginOutcome {
	p := pluginOutcome{Path: filepath.ToSlash(path), Strict: o.Strict, Flags: o.Flags}
	var verdict policy.Verdict
	if r != nil {
		m := r.Manifest
		verdict = r.Verdict
		p.Name, p.Version, p.Entry, p.Profile, p.DistHash, p.TreeHash, p.SignedBy = m.Name, m.Version, m.Entry,
			r.Profile, m.Dist.Hash, r.Tree.String(), r.SignedBy
		p.Issues = m.Issues()
		for _, f := range m.Further {
			if p.Further == nil {
				p.Further = map[string]json.RawMessage{}
			}
			p.Further[f.Path] = f.Value
		}
		if err == nil && verdict.Allowed() {
			p.Copy = filepath.ToSlash(o.CopyTo)
		}
	}
	if invalid, ok := errors.AsType[*plugin.Invalid](err); ok {
		p.Issues = invalid.Issues
	}
	p.Outcome = app.OutcomeOf(verdict, err)
	if refusal, ok := errors.AsType[*policy.Refusal](err); ok {
		p.Error, p.headline = refusal.Verdict.Headline(), true
	}
	p.ErrorType = errorTypes[p.Class]
	return p
}

// pluginReporter prints the result of a command about a plugin.
type pluginReporter struct {
	app     *app.App
	options plugins.Options
	asJSON  bool
}

// reportChecked prints a checked plugin and returns the error that ends the program.
func (p pluginReporter) reportChecked(path string, r *plugin.Result, err error) error {
	a := p.app
	if err == nil {
		err = r.Verdict.Err()
	}
	a.Bars.Stop()
	if p.asJSON {
		return a.WriteJSON(outcomeOfPlugin(path, r, p.options, err), err)
	}
	if r != nil {
		if failed := writePluginText(a.Stdout, r); failed != nil {
			return failed
		}
	}
	if err != nil {
		return &typedError{err}
	}
	_, err = fmt.Fprintf(a.Stderr, "%s: %s: ok (profile %s)\n", a.Name, surface.Escape(r.Manifest.Subject()), r.Profile)
	return err
}

// typedError prints an error with the name that hosts know its class by.
type typedError struct{ error }

func (e *typedError) Error() string {
	return errorTypes[evidence.ClassOf(e.error)] + ": " + e.error.Error()
}

func (e *typedError) Unwrap() error { return e.error }

// writePluginText prints an allowed plugin: warnings in full, checksums as a number.
func writePluginText(w io.Writer, r *plugin.Result) error {
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
	if err := shown.WriteText(w); err != nil {
		return err
	}
	if files > 0 {
		fmt.Fprintf(w, "%-12s  %s  (%s, dist.checksums)\n", evidence.Match, evidence.Count(files, "checksum"),
			plugin.ManifestFile)
	}
	return writeFurther(w, r.Manifest.Further)
}

// maxFurther bounds the names of members that are printed.
const maxFurther = 20

// writeFurther prints the places of what others added to a manifest.
func writeFurther(w io.Writer, further []plugin.Member) error {
	var names []string
	for _, f := range further[:min(len(further), maxFurther)] {
		names = append(names, surface.Escape(strings.TrimPrefix(f.Path, "/")))
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(further) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	_, err := fmt.Fprintf(w, "%-12s  %s  (%s)\n", "further", strings.Join(names, ", "), plugin.ManifestFile)
	return err
}
