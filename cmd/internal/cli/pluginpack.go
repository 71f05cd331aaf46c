package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

func pluginHashCommand(a *app.App) *cobra.Command {
	var asJSON, write bool
	var profile string
	c := &cobra.Command{
		Use:     "hash DIR|ZIP",
		Short:   "Compute a plugin's dist.hash, and write it into the manifest",
		Example: "notes --write",
		Args:    app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			collectRarely()
			r, err := plugins.Hash(c.Context(), names[0], plugins.HashOptions{Profile: tree.Profile(profile),
				Write: write, Framed: asJSON})
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Hash    string       `json:"hash"`
					Tree    string       `json:"hallmark-tree-v1"`
					Profile tree.Profile `json:"profile"`
					Files   int          `json:"fileCount"`
					Bytes   int64        `json:"totalBytes"`
					Written bool         `json:"written"`
					Dropped int          `json:"signatures_dropped"`
					Stale   bool         `json:"lock_stale"`
				}{app.OutcomeOf(policy.Verdict{}, nil), r.Hash.String(), r.Tree.String(), r.Profile, r.Files, r.Bytes,
					r.Written, r.Dropped, r.Stale}, nil)
			}
			fmt.Fprintln(a.Stdout, r.Hash)
			reportHashed(a, r, write)
			return nil
		}),
	}
	c.Flags().StringVar(&profile, "profile", "",
		"hash `profile`: guide or od (default: the manifest's; without --write else the one "+
			"that its dist.hash has; else guide)")
	c.Flags().BoolVar(&write, "write", false, "write hash, framed hash, counts and checksums into "+plugin.ManifestFile)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// reportHashed says how a plugin was hashed, and what has to be made anew.
func reportHashed(a *app.App, r *plugins.HashResult, write bool) {
	if write {
		state := "was up to date"
		if r.Written {
			state = "written"
		}
		a.Note("%s %s: %s, %s bytes, profile %s", plugin.ManifestFile, state, evidence.Count(r.Files, "file"),
			evidence.Group(r.Bytes), r.Profile)
	}
	if !write {
		a.Note("profile %s", r.Profile)
	}
	if r.Dropped > 0 {
		a.Note("warning: removed %s of the manifest before; 'hallmark plugin sign' signs "+
			"it anew", evidence.Count(r.Dropped, "signature"))
	}
	if r.Stale {
		a.Note("warning: %s is of the manifest before; 'hallmark plugin lock' writes it anew", plugin.LockFile)
	}
}

func pluginSignCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var keyFile, id string
	var drop []string
	c := &cobra.Command{
		Use:     "sign DIR --key FILE",
		Short:   "Sign a plugin's dist.hash and its whole manifest",
		Example: "notes --key acme.pem\nnotes --key acme-2027.pem --id acme-2027 --drop acme-2026",
		Long: `Sign dist.hash, as hosts know it, and a statement of the whole manifest, which covers
name, version, entry, permissions and policy too. The key is PEM (Ed25519, RSA, P-256,
P-384) or minisign's; the password of an encrypted one is read from HALLMARK_KEY_PASSWORD.
The hash is checked first: what does not match is not signed. A lock beside the manifest
is written anew, for the manifest with its signatures.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if keyFile == "" {
				return app.Usage(c, errors.New("name the private key with --key FILE"))
			}
			key, err := readPrivateKey(keyFile)
			if err != nil {
				return err
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			if id, err = plugins.Sign(c.Context(), h, names[0], key, id, drop...); err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					SignedBy  string                    `json:"signed_by"`
					Algorithm plugin.SignatureAlgorithm `json:"algorithm"`
				}{app.OutcomeOf(policy.Verdict{}, nil), id, key.Public().Algorithm()}, nil)
			}
			_, err = fmt.Fprintf(a.Stderr, "%s: signed by %s (%s)\n", a.Name, surface.Escape(id),
				key.Public().Algorithm())
			return err
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	c.Flags().StringVar(&keyFile, "key", "", "private key `file`")
	c.Flags().StringSliceVar(&drop, "drop", nil,
		"remove the signatures by the key of this `id`, which is revoked or replaced; may be repeated")
	c.Flags().StringVar(&id, "id", "", "`id` of the key, as those who trust it know it (default: from the key)")
	return c
}

// keyHint is for a file that is no key.
const keyHint = "'openssl genpkey -algorithm ed25519 -out KEY.pem' makes a private key, " +
	"and 'openssl pkey -in KEY.pem -pubout' prints the public one"

// readPrivateKey reads the file of a private key, with the password that the environment has.
func readPrivateKey(name string) (key plugin.PrivateKey, err error) {
	text, err := readKey(name)
	if err != nil {
		return key, err
	}
	if key, err = plugin.ParsePrivateKey(text, os.Getenv("HALLMARK_KEY_PASSWORD")); err != nil {
		return key, evidence.Errorf(evidence.Validation, name, keyHint, err)
	}
	return key, nil
}

// readKey reads the file of a key.
func readKey(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, name, keyHint, errors.Unwrap(err))
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, plugin.MaxKey+1))
}

func pluginPackCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var out string
	c := &cobra.Command{
		Use:   "pack DIR",
		Short: "Pack a plugin as a zip; the same files give the same bytes",
		Long: `Pack a plugin as a zip. The hash of its manifest must hold, and so must its signatures, as far as
this machine trusts the keys that made them: a signature by another key is named, and not checked.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if out == "" {
				abs, err := filepath.Abs(names[0])
				if err != nil {
					return err
				}
				out = filepath.Base(abs) + ".zip"
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			signed, err := plugins.CheckSignatures(c.Context(), h, names[0])
			if err != nil {
				return err
			}
			d, left, err := plugins.Pack(c.Context(), names[0], out)
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					File        string        `json:"file"`
					ContentHash digest.Digest `json:"content_hash"`
					Left        []string      `json:"left_out"`
				}{app.OutcomeOf(policy.Verdict{}, nil), filepath.ToSlash(out), d, append([]string{}, left...)}, nil)
			}
			warnOfPacked(a, signed, left)
			_, err = fmt.Fprintf(a.Stdout, "%s  %s\n", d, surface.Escape(filepath.ToSlash(out)))
			return err
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	c.Flags().StringVarP(&out, "output", "o", "", "`file` to write (default DIR.zip in this directory)")
	return c
}

// warnOfPacked names the signatures that could not be checked, and what was left out.
func warnOfPacked(a *app.App, signed policy.Verdict, left []string) {
	for _, f := range signed.Warnings() {
		a.Note("warning: %s not checked: %s", f.Evidence.Scheme, surface.Escape(f.Evidence.Reason))
	}
	for _, path := range left {
		advice := ""
		if path == "package.json" {
			advice = `; if it has a "type", write a dist/package.json with that, so that Node reads the .js files alike`
		}
		a.Note("warning: %s is no part of the plugin, and was left out%s", surface.Escape(path), advice)
	}
}

func pluginPublishCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var o publish.Options
	var base string
	c := &cobra.Command{
		Use:   "publish DIR|ZIP",
		Short: "Publish a plugin to a registry",
		Long: `Recompute what the manifest claims of the plugin's files, and send the plugin: a zip as
it is, a directory as 'hallmark plugin pack' packs it. The registry recomputes it too;
what it recorded, and the proof that its log has it, are compared.

Names of plugins have no scope: publishing needs an API token that names the plugin, or
one for every name, in HALLMARK_TOKEN.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, names []string) (err error) {
			if o.Registry, o.Token, err = author.FindRegistry(h, c, base); err != nil {
				return err
			}
			if err := a.LogOptions(c, &o.Log); err != nil {
				return err
			}
			p, err := plugins.Publish(c.Context(), h, names[0], o)
			return author.ReportPublishedArchive(a, p, asJSON, err)
		})),
	}
	c.Flags().StringVar(&base, "registry", os.Getenv("HALLMARK_REGISTRY"),
		"base `URL` of the registry (default $HALLMARK_REGISTRY, else that of the last login)")
	app.LogKeyFlag(c, &o.Log)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}
