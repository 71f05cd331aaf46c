package operator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/surface"
)

// tokensCommand is hallmark-registry token with its commands, which work while the registry serves.
func tokensCommand(a *app.App) *cobra.Command {
	var at operate.Place
	c := app.Group(&cobra.Command{
		Use:   "token",
		Short: "API tokens: long-lived, limited to names, revocable",
	})
	c.PersistentFlags().StringVar(&at.Data, "data", "",
		"`directory` of the registry's database (default: below the user's data directory)")
	c.PersistentFlags().StringVar(&at.Database, "db", "",
		"`URL` of the registry's PostgreSQL database, postgres://… (default: a file in the data directory)")
	// with opens the tokens, runs f on them, and closes them.
	with := func(c *cobra.Command, f func(*operate.TokenStore) error) error {
		if err := setDefaultDir(&at.Data); err != nil {
			return err
		}
		s, err := operate.OpenTokens(c.Context(), at, c.Name() == "create", time.Now)
		if err != nil {
			return err
		}
		return errors.Join(f(s), s.Close())
	}
	c.AddCommand(tokenCreateCommand(a, with), tokenListCommand(a, with), tokenRevokeCommand(a, with))
	return c
}

// withTokens runs a function on the tokens of the registry that the flags of a command name.
type withTokens func(*cobra.Command, func(*operate.TokenStore) error) error

// tokenCreateCommand is hallmark-registry token create.
func tokenCreateCommand(a *app.App, with withTokens) *cobra.Command {
	var note, lifetime string
	var publish, edit []string
	var asJSON bool
	c := &cobra.Command{
		Use:     "create --publish NAMES",
		Short:   "Make a token and print it, once",
		Example: "--publish 'io.github.acme/*' --expires 90d",
		Long: `Make a token that may publish under the given names and change their status: a name, or
the beginning of names and a star, as in com.example/*. The text is printed this once;
the registry keeps its hash.`,
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			life, err := parseLifetime(lifetime)
			if err != nil {
				return app.Usage(c, err)
			}
			permissions := append(permit(registry.ActionPublish, publish), permit(registry.ActionEdit, edit)...)
			if len(permissions) == 0 {
				return app.Usage(c, errors.New("say with --publish or --edit for which names"))
			}
			return with(c, func(s *operate.TokenStore) error {
				t, text, err := s.Create(c.Context(), note, permissions, life)
				if err != nil {
					return err
				}
				if asJSON {
					return a.WriteJSON(struct {
						registry.Token
						Text string `json:"token"`
					}{t, text}, nil)
				}
				a.Note("token %s, shown this once", t.ID)
				_, err = fmt.Fprintln(a.Stdout, text)
				return err
			})
		}),
	}
	f := c.Flags()
	f.StringSliceVar(&publish, "publish", nil, "`names` to publish under")
	f.StringSliceVar(&edit, "edit", nil, "`names` whose status may be changed, without publishing")
	f.StringVar(&note, "note", "", "`text` that says what the token is for")
	f.StringVar(&lifetime, "expires", "", "`time` after which it is refused: 12h, 90d (default: never)")
	f.BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// permit is the permissions to do an action under each of some names.
func permit(action registry.Action, names []string) (out []registry.Permission) {
	for _, r := range names {
		out = append(out, registry.Permission{Action: action, Resource: r})
	}
	return out
}

// parseLifetime reads a duration, which may be in days; "" is 0.
func parseLifetime(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%q is no time such as 12h or 90d", s)
}

// tokenListCommand is hallmark-registry token list.
func tokenListCommand(a *app.App, with withTokens) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List tokens, without their text",
		Args:  app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			return with(c, func(s *operate.TokenStore) error {
				all, err := s.List(c.Context())
				if err != nil {
					return err
				}
				if asJSON {
					if all == nil {
						all = []registry.Token{}
					}
					return a.WriteJSON(struct {
						Tokens []registry.Token `json:"tokens"`
					}{all}, nil)
				}
				w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
				for _, t := range all {
					var grants []string
					for _, p := range t.Permissions {
						grants = append(grants, string(p.Action)+" "+p.Resource)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, describeState(t), t.CreatedAt.Format(time.DateOnly),
						strings.Join(grants, ", "), surface.Escape(t.Note))
				}
				return w.Flush()
			})
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the tokens as one JSON document")
	return c
}

// describeState says whether a token can be used.
func describeState(t registry.Token) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.Valid(time.Now()):
		return "expired"
	case !t.ExpiresAt.IsZero():
		return "until " + t.ExpiresAt.Format(time.DateOnly)
	}
	return "valid"
}

// tokenRevokeCommand is hallmark-registry token revoke.
func tokenRevokeCommand(a *app.App, with withTokens) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Have a token refused from now on",
		Args:  app.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, ids []string) error {
			return with(c, func(s *operate.TokenStore) error {
				t, err := s.Revoke(c.Context(), ids[0], c.Parent().CommandPath()+" list")
				if err != nil {
					return err
				}
				a.Note("token %s is revoked", t.ID)
				return nil
			})
		},
	}
}
