package operate

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
)

// loginOutside is how a registry asks others about who logs in: with the same rules about
// addresses, and the same authorities, as it fetches packages.
func loginOutside(o ServeOptions) auth.Outside {
	client := &http.Client{Transport: &http.Transport{
		DialContext:            transfer.Dialer(o.Fetch.AllowAddr),
		TLSClientConfig:        &tls.Config{RootCAs: o.Fetch.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           16,
	}}
	if o.Login.OIDC != nil {
		o.Login.OIDC.HTTP = client
	}
	return auth.Outside{
		HTTP:               client,
		LookupTXT:          net.DefaultResolver.LookupTXT,
		ProofPort:          o.Login.ProofPort,
		GitHubAPI:          strings.TrimRight(cmp.Or(o.Login.GitHubAPI, GitHubAPI()), "/"),
		GitHubOIDC:         o.Login.GitHubIssuer,
		GitHubOIDCAudience: o.Login.GitHubAudience,
		OIDC:               o.Login.OIDC,
	}
}

// GitHubAPI is the base URL of the public API of GitHub.
func GitHubAPI() string {
	u, err := url.Parse(model.RegistryURLGitHub)
	if err != nil {
		return ""
	}
	u.Host = "api." + u.Host
	return u.String()
}

// tokenIssuer opens the key that signs tokens.
func tokenIssuer(ctx context.Context, o ServeOptions) (*auth.Issuer, error) {
	var seed []byte
	var err error
	if o.TokenKeyFile != "" {
		seed, err = auth.ReadKey(o.TokenKeyFile)
	} else {
		var created bool
		path := filepath.Join(o.Data, "token.key")
		if seed, created, err = auth.OpenKey(ctx, path); created && err == nil {
			o.Logger.Info("token key created", "file", path)
		}
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), "registry", "", err)
	}
	return auth.NewIssuer(seed)
}

// currentPolicy is the policy of a registry that may change while it runs.
type currentPolicy struct {
	current atomic.Pointer[api.Policy]
}

func newCurrentPolicy(o ServeOptions) (*currentPolicy, error) {
	p, err := readPolicy(o)
	if err != nil {
		return nil, err
	}
	c := new(currentPolicy)
	c.current.Store(&p)
	return c, nil
}

func (c *currentPolicy) get() api.Policy { return *c.current.Load() }

// reload reads the policy's file again. One that cannot be read changes nothing.
func (c *currentPolicy) reload(o ServeOptions) {
	p, err := readPolicy(o)
	if err != nil {
		o.Logger.Error("policy stays as it was", "error", err)
		return
	}
	c.current.Store(&p)
	o.Logger.Info("policy read again", "validation", p.Validation, "require_hashes", p.RequireHashes,
		"allow_anonymous", p.AllowAnonymous, "blocked", len(p.Blocked))
}

// reloadCredentials reads the operator's credentials again, for publishes that begin from
// now on. A file that cannot be read changes nothing.
func reloadCredentials(o ServeOptions, client *fetch.Client) {
	if o.Credentials == nil {
		return
	}
	all, err := o.Credentials()
	if err != nil {
		o.Logger.Error("credentials stay as they were", "error", err)
		return
	}
	client.SetCredentials(all)
	o.Logger.Info("credentials read again", "credentials", len(all))
}

// readPolicy is what the options say, save where the file says otherwise.
func readPolicy(o ServeOptions) (api.Policy, error) {
	p := api.Policy{Validation: o.Validation, RequireHashes: o.RequireHashes, AllowAnonymous: o.AllowAnonymous}
	if o.PolicyFile == "" {
		return p, nil
	}
	data, err := host.ReadNamed(o.PolicyFile, api.MaxPolicy)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Operation, o.PolicyFile, "", os.ErrNotExist)
	}
	if err != nil {
		return api.Policy{}, err
	}
	if p, err = api.ParsePolicy(data, p); err != nil {
		return api.Policy{}, evidence.Errorf(evidence.Validation, o.PolicyFile, "", err)
	}
	return p, nil
}
