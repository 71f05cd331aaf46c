package operate

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
)

// newOutside returns the clients that verify logins at other hosts. They obey the same rules
// about private addresses, and trust the same authorities, as the client that fetches packages.
func newOutside(o ServeOptions) api.Outside {
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
	return api.Outside{
		HTTP:               client,
		LookupTXT:          net.DefaultResolver.LookupTXT,
		ProofPort:          o.Login.ProofPort,
		GitHubAPI:          strings.TrimRight(cmp.Or(o.Login.GitHubAPI, registry.GitHubURL()), "/"),
		GitHubOIDC:         o.Login.GitHubIssuer,
		GitHubOIDCAudience: o.Login.GitHubAudience,
		OIDC:               o.Login.OIDC,
	}
}

// openIssuer opens the key that signs tokens, which it creates if it is missing in o.Data.
func openIssuer(ctx context.Context, o ServeOptions) (*api.Issuer, error) {
	var seed []byte
	var err error
	if o.TokenKeyFile != "" {
		seed, err = registry.ReadKey(o.TokenKeyFile)
	} else {
		var created bool
		path := filepath.Join(o.Data, "token.key")
		if seed, created, err = registry.OpenKey(ctx, path); created && err == nil {
			o.Logger.Info("token key created", "file", path)
		}
	}
	if err != nil {
		hint := ""
		if !hasHint(err) {
			hint = "--token-key-file is a file with 64 hexadecimal digits, such as 'openssl rand -hex 32' prints"
		}
		return nil, evidence.Errorf(evidence.ClassOf(err), "token key", hint, err)
	}
	return api.NewIssuer(seed)
}

// reloadCredentials reads the operator's credentials again, for publishes that begin afterwards.
// If that fails the old credentials stay.
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
