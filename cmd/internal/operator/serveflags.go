package operator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
)

// loginFlags are how a registry's operator says who may log in.
type loginFlags struct {
	operate.LoginMethods
	offered                        []string
	issuer, client                 string
	oidcPublish, oidcEdit, oidcHas []string
}

func (l *loginFlags) register(f *pflag.FlagSet) {
	f.StringSliceVar(&l.offered, "login", []string{"dns", "http", "github-at"},
		"`methods` of login: dns, http, github-at, none, or \"\" for no login; github-oidc and oidc come with their "+
			"own flags")
	f.StringVar(&l.GitHubAPI, "github-api", "", "base `URL` of GitHub's API (default: the public one)")
	f.StringVar(&l.GitHubClient, "github-client-id", "",
		"`id` of the OAuth application that people log in to GitHub with")
	f.StringVar(&l.GitHubAudience, "github-oidc-audience", "",
		"`audience` of the tokens of GitHub workflows: this registry's URL as clients write it")
	f.StringVar(&l.GitHubIssuer, "github-oidc-issuer", "",
		"`URL` of who issues the tokens of GitHub workflows (default: the public one)")
	f.StringVar(&l.issuer, "oidc-issuer", "", "`URL` of an OpenID Connect issuer whose ID tokens are taken")
	f.StringVar(&l.client, "oidc-client-id", "", "the `audience` that they must have")
	f.StringSliceVar(&l.oidcPublish, "oidc-publish", nil, "`names` that they permit to publish")
	f.StringSliceVar(&l.oidcEdit, "oidc-edit", nil, "`names` whose status they permit to change")
	f.StringSliceVar(&l.oidcHas, "oidc-claim", nil,
		"`claim=value` that they must have; of several values of one claim, one")
	f.StringVar(&l.ProofPort, "proof-port", "", "port of the https servers that hold proofs")
	f.Lookup("proof-port").Hidden = true // only 443 proves anything about a domain; another is for tests
}

// methods returns the logins that the flags ask for.
func (l *loginFlags) methods() (operate.LoginMethods, error) {
	for _, name := range l.offered {
		if name == "" {
			continue
		}
		m := registry.LoginMethod(name)
		if !slices.Contains([]registry.LoginMethod{registry.MethodDNS, registry.MethodHTTP, registry.MethodGitHubAT,
			registry.MethodNone}, m) {
			return operate.LoginMethods{}, fmt.Errorf("there is no login %q", name)
		}
		l.Offered = append(l.Offered, m)
	}
	if l.GitHubAudience != "" {
		l.Offered = append(l.Offered, registry.MethodGitHubOIDC)
	}
	if l.issuer == "" {
		if l.client != "" || len(l.oidcPublish)+len(l.oidcEdit)+len(l.oidcHas) > 0 {
			return operate.LoginMethods{}, errors.New("--oidc-issuer is missing")
		}
		return l.LoginMethods, nil
	}
	if l.client == "" || len(l.oidcPublish)+len(l.oidcEdit) == 0 {
		// Without an audience every token of the issuer would be accepted; without names a token
		// would permit nothing.
		return operate.LoginMethods{},
			errors.New("--oidc-issuer needs --oidc-client-id, and --oidc-publish or --oidc-edit")
	}
	p := &api.Provider{Issuer: l.issuer, Audience: l.client, Claims: map[string][]string{}}
	for _, claim := range l.oidcHas {
		name, value, ok := strings.Cut(claim, "=")
		if !ok || name == "" {
			return operate.LoginMethods{}, fmt.Errorf("--oidc-claim %q is not claim=value", claim)
		}
		p.Claims[name] = append(p.Claims[name], value)
	}
	for action, names := range map[registry.Action][]string{registry.ActionPublish: l.oidcPublish,
		registry.ActionEdit: l.oidcEdit} {
		for _, r := range names {
			if err := registry.CheckResource(r); err != nil {
				return operate.LoginMethods{}, err
			}
			p.Permissions = append(p.Permissions, registry.Permission{Action: action, Resource: r})
		}
	}
	l.OIDC = p
	l.Offered = append(l.Offered, registry.MethodOIDC)
	return l.LoginMethods, nil
}

// limitFlags bound what a registry's clients may cost.
type limitFlags struct {
	requests, logins, writes float64 // a second
	checks, eachChecks       int
	bytes, eachBytes         app.Mebibytes
	proxies                  []string
}

func (l *limitFlags) register(f *pflag.FlagSet) {
	app.RateVar(f, &l.requests, "rate-requests", 50,
		"requests a second from one address; this machine's has no limit; 0 is no limit")
	app.RateVar(f, &l.logins, "rate-logins", 1, "logins a second from one address; 0 is no limit")
	app.RateVar(f, &l.writes, "rate-writes", 5,
		"publishes and changes of status a second with one token; 0 is no limit")
	app.IntVar(f, &l.checks, "max-checks", app.Bounds[int]{Default: 16, Most: maxChecks},
		"publishes whose packages are fetched at once, --max-files-at-once of each; 0 is no limit, and then so many "+
			"files of all")
	app.IntVar(f, &l.eachChecks, "max-checks-each", app.Bounds[int]{Default: 4, Most: maxChecks},
		"of these, publishes with one token, or without one from one address; 0 is no limit")
	app.MebibytesVar(f, &l.bytes, "max-body-bytes", app.Bounds[app.Mebibytes]{Default: 128},
		"`MiB` of request bodies in memory at once; 0 is no limit")
	app.MebibytesVar(f, &l.eachBytes, "max-body-bytes-each", app.Bounds[app.Mebibytes]{Default: 32},
		"of these, `MiB` of requests from one address; this machine's has no limit; 0 is no limit")
	f.StringSliceVar(&l.proxies, "trusted-proxy", nil,
		"`address` or network of a proxy whose X-Forwarded-For is believed")
}

// maxChecks is the largest value of --max-checks: more than one machine can fetch for at once.
const maxChecks = 10_000

// burstSeconds is how many seconds of a rate may come at once.
const burstSeconds = 10

// limits returns the limits that the flags set.
func (l *limitFlags) limits() (api.Limits, error) {
	per := func(n float64) api.Rate { return api.Rate{PerSecond: n, Burst: int(n * burstSeconds)} }
	out := api.Limits{
		Requests: per(l.requests), Logins: per(l.logins), Writes: per(l.writes),
		Checks: l.checks, EachChecks: l.eachChecks, CheckWait: 30 * time.Second, Bytes: l.bytes.Bytes(),
		EachBytes: l.eachBytes.Bytes(),
	}
	for _, text := range l.proxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return api.Limits{}, fmt.Errorf("--trusted-proxy %q is neither an address nor a network", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		out.Proxies = append(out.Proxies, p.Masked())
	}
	return out, nil
}
