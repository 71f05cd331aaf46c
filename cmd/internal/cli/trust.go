package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

func trustCommand(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "trust",
		Short: "The keys whose signatures this machine trusts",
	}, trustAddCommand(a), trustListCommand(a), trustRevokeCommand(a))
}

func trustAddCommand(a *app.App) *cobra.Command {
	var id, owner, from, until string
	c := &cobra.Command{
		Use:     "add FILE",
		Short:   "Trust a public key: PEM, or minisign's",
		Example: "acme.pem --owner Acme",
		Args:    app.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, names []string) error {
			text, err := readKey(names[0])
			if err != nil {
				return err
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			k := plugin.TrustedKey{ID: id, Owner: owner, Added: h.Now().UTC().Truncate(time.Second)}
			if k.Public, err = plugin.ParsePublicKey(string(text)); err != nil {
				return evidence.Errorf(evidence.Validation, names[0], keyHint, err)
			}
			if k.ID == "" {
				k.ID = k.Public.ID()
			}
			for _, t := range []struct {
				text string
				to   *time.Time
			}{{from, &k.NotBefore}, {until, &k.NotAfter}} {
				if t.text == "" {
					continue
				}
				if *t.to, err = time.Parse(time.RFC3339, t.text); err != nil {
					return app.Usage(c, fmt.Errorf("%+q is no time; write 2027-01-31T00:00:00Z", t.text))
				}
			}
			if err := plugins.ChangeTrust(c.Context(), h, func(keys *plugin.TrustedKeys) error {
				return keys.Add(k)
			}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s  %s\n", k.ID, k.Public.Algorithm())
			return err
		},
	}
	c.Flags().StringVar(&id, "id", "", "`id` that signatures name the key by (default: from the key)")
	c.Flags().StringVar(&owner, "owner", "", "`name` of the owner of the key, for people")
	c.Flags().StringVar(&from, "not-before", "", "`time` (RFC 3339) from which it is valid")
	c.Flags().StringVar(&until, "not-after", "", "`time` (RFC 3339) until which it is valid")
	return c
}

func trustListCommand(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the trusted keys, revoked ones too",
		Args:  app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, _ []string) error {
			keys, err := plugins.TrustedKeys(h)
			if err != nil {
				return err
			}
			type row struct {
				ID        string                    `json:"id"`
				Algorithm plugin.SignatureAlgorithm `json:"algorithm"`
				Owner     string                    `json:"owner,omitempty"`
				State     string                    `json:"state"`
				PublicKey string                    `json:"public_key"`
			}
			rows := []row{}
			for _, k := range keys.All() {
				state := "trusted"
				if err := k.CheckUsable(h.Now()); err != nil {
					state = err.Error()
				}
				rows = append(rows, row{k.ID, k.Public.Algorithm(), k.Owner, state, k.Public.String()})
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Keys []row `json:"keys"`
				}{app.OutcomeOf(policy.Verdict{}, nil), rows}, nil)
			}
			for _, r := range rows {
				fmt.Fprintf(a.Stdout, "%s  %s  %s  %s\n", r.ID, r.Algorithm, r.State, surface.Escape(r.Owner))
			}
			return nil
		})),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the keys as one JSON document")
	return c
}

func trustRevokeCommand(a *app.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "End the trust in a key for good, in earlier signatures too",
		Long: `End the trust in a key, in the signatures that it made before too. This is final: no command
trusts the key or its id again. Its owner makes a new key, takes the signatures of the old one out of
mcp-plugin.json (signatures, x-hallmark-signatures) and signs anew; you trust the new key, under
another id, with 'hallmark trust add'.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.OnHost(nil, func(c *cobra.Command, h *host.Host, names []string) error {
			return plugins.ChangeTrust(c.Context(), h, func(keys *plugin.TrustedKeys) error {
				return keys.Revoke(names[0], reason, h.Now().UTC().Truncate(time.Second))
			})
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "`text` for people that says why")
	return c
}
