package author

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/surface"
)

// LoginCommand returns the command login.
func LoginCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "login METHOD",
		Short: "Get a token of a registry",
		Long: `Get a token of a registry, with which publish and status work for five minutes.
It is kept in a file that only this user can read.`,
		Args: app.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return app.Usage(c, errors.New("name a method: github, github-oidc, dns, http or none"))
		},
	}
	github := newLoginMethod(a, "github", "As a person, through GitHub",
		`Gives io.github.USER/*, and io.github.ORGANISATION/* for those that the user owns if the
token may read organisations. Without a token a person is asked to let the program in.

A token on the command line is visible to other users of this machine; prefer
MCP_GITHUB_TOKEN.`)
	github.command.Flags().StringVar(&github.token, "token", "", "access `token` of GitHub (default $MCP_GITHUB_TOKEN)")
	github.command.Flags().StringVar(&github.github, "github", "", "base `URL` of GitHub (default: the public one)")
	c.AddCommand(github.command,
		newLoginMethod(a, "github-oidc", "As a workflow of GitHub Actions",
			`Gives io.github.OWNER/* for the owner of the workflow's repository. The job needs the
permission id-token: write.`).command,
		newLoginMethod(a, "none", "As nobody, where the registry allows it",
			`Gives io.modelcontextprotocol.anonymous/*, for trying things out.`).command)
	for method, place := range map[string]string{
		"dns":  "a TXT record of the domain. Gives com.example/* and com.example.* for example.com",
		"http": "https://DOMAIN/.well-known/mcp-registry-auth. Gives com.example/* for example.com",
	} {
		m := newLoginMethod(a, method, "As the owner of a domain, by "+method,
			`The registry looks for the public key in `+place+`.
What to put there is printed. 'openssl genpkey -algorithm ed25519 -out key.pem' makes a key;
give it with --private-key-file key.pem.

A private key on the command line is visible to other users of this machine, and
stays in the shell's history; prefer --private-key-file, which takes "-" for standard input.`)
		m.proof = true
		f := m.command.Flags()
		f.StringVar(&m.domain, "domain", "", "the `domain` whose names are wanted")
		f.StringVar(&m.key, "private-key", "", "private key in `hexadecimal`; other users can see it")
		f.StringVar(&m.keyFile, "private-key-file", "", "`file` with the private key, as PEM or in hexadecimal")
		f.StringVar(&m.algorithm, "algorithm", string(registry.Ed25519), "of the key: ed25519 or ecdsap384")
		refuseVaults(m.command)
		c.AddCommand(m.command)
	}
	return c
}

// refuseVaults has c take the arguments and flags by which the official client signs with a key in a vault, and refuse
// them with what to do instead.
func refuseVaults(c *cobra.Command) {
	flags, args := []string{"resource", "vault", "key"}, c.Args
	for _, name := range flags {
		c.Flags().String(name, "", "")
		c.Flags().Lookup(name).Hidden = true
	}
	c.Args = func(c *cobra.Command, names []string) error {
		if !slices.ContainsFunc(flags, c.Flags().Changed) &&
			(len(names) == 0 || names[0] != "google-kms" && names[0] != "azure-key-vault") {
			return args(c, names)
		}
		return evidence.Errorf(evidence.Validation, "login "+c.Name(),
			"log in with the official client, whose session 'hallmark publish' takes; or say --private-key-file",
			errors.New("keys in Google KMS and Azure Key Vault cannot sign here"))
	}
}

// loginMethod is one of the commands below login.
type loginMethod struct {
	command *cobra.Command

	base, token, github             string
	proof                           bool
	domain, key, keyFile, algorithm string
	asJSON                          bool
}

func newLoginMethod(a *app.App, method, short, long string) *loginMethod {
	m := new(loginMethod)
	m.command = &cobra.Command{
		Use: method, Short: short, Long: long, Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&m.asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, _ []string) (err error) {
			o := publish.LoginOptions{
				Registry: &client.Client{Base: m.base}, Method: method, Domain: m.domain, GitHub: m.github,
				GitHubToken: cmp.Or(m.token, os.Getenv("MCP_GITHUB_TOKEN")),
				Tell:        func(line string) { fmt.Fprintln(a.Stderr, line) },
			}
			if m.proof {
				if m.domain == "" {
					return app.Usage(c, errors.New("name the domain with --domain"))
				}
				if o.Key, err = m.proofKey(a, c); err != nil {
					return err
				}
			}
			s, err := publish.Login(c.Context(), h, o)
			return m.report(a, s, err)
		})),
	}
	f := m.command.Flags()
	f.StringVar(&m.base, "registry", cmp.Or(os.Getenv("HALLMARK_REGISTRY"), host.OfficialRegistry),
		"base `URL` of the registry (default $HALLMARK_REGISTRY, else the official one)")
	f.Lookup("registry").DefValue = "" // said in the text
	f.BoolVar(&m.asJSON, "json", false, "print the result as one JSON document")
	return m
}

// report says until when the session lasts, and for which names.
func (m *loginMethod) report(a *app.App, s *host.Session, err error) error {
	if m.asJSON {
		answer := struct {
			app.Outcome
			Registry  string `json:"registry,omitempty"`
			Method    string `json:"method"`
			ExpiresAt string `json:"expires_at,omitempty"`
		}{Outcome: app.OutcomeOf(verdictless, err), Method: m.command.Name()}
		if err == nil {
			answer.Registry, answer.ExpiresAt = s.Registry, time.Unix(s.Expires, 0).UTC().Format(time.RFC3339)
		}
		return a.WriteJSON(answer, err)
	}
	if err != nil {
		return err
	}
	a.Note("logged in to %s until %s", surface.Escape(s.Registry), time.Unix(s.Expires, 0).Format(time.TimeOnly))
	if names := registry.ClaimedNames(s.Token); len(names) > 0 {
		a.Note("you may publish %s", surface.Escape(strings.Join(names, ", ")))
	}
	return nil
}

// proofKey reads the private key that the flags name.
func (m *loginMethod) proofKey(a *app.App, c *cobra.Command) (*registry.ProofKey, error) {
	if (m.key == "") == (m.keyFile == "") {
		return nil, app.Usage(c, errors.New("give the private key with --private-key-file or --private-key"))
	}
	text := m.key
	if m.keyFile != "" {
		in := io.Reader(a.Stdin)
		if m.keyFile != "-" {
			f, err := os.Open(m.keyFile)
			if err != nil {
				return nil, evidence.Errorf(evidence.Validation, m.keyFile, "", errors.Unwrap(err))
			}
			defer f.Close()
			in = f
		}
		data, err := io.ReadAll(io.LimitReader(in, maxKeyFile))
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	key, err := registry.ParseProofKey(registry.Algorithm(m.algorithm), text)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "login", "", err)
	}
	return key, nil
}

// maxKeyFile bounds the file of a private key, in bytes.
const maxKeyFile = 4 << 10

// LogoutCommand returns the command logout.
func LogoutCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Forget the token of the last login",
		Long: `Remove the kept token, and that of the official client, which would be used in its
place.`,
		Args: app.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			removed, err := host.Logout(h)
			for _, path := range removed {
				a.Note("removed %s", path)
			}
			if err == nil && len(removed) == 0 {
				a.Note("not logged in")
			}
			return err
		},
	}
}

// FindRegistry returns the registry of a command and the token for it: the named one, or that of
// the last login.
func FindRegistry(h *host.Host, c *cobra.Command, base string) (*client.Client, string, error) {
	registry, token, err := publish.FindRegistry(h, base)
	if err == nil && registry == nil {
		err = app.Usage(c, errors.New("name the registry with --registry URL, or log in"))
	}
	return registry, token, err
}
