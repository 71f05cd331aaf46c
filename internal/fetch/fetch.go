// Package fetch turns a Ref into bytes on this machine: streamed to a temporary
// file, hashed on the way, bounded in size, time, redirects and retries.
//
// It reads npm, PyPI, GitHub releases, NuGet, crates, image registries and plain
// https; a git or file Ref is not fetched here.
//
// It does not judge. A [Download] holds what was observed and what the package's
// own registry claims; package evidence compares the two.
//
// # Rules of a transfer
//
//   - https only, for base URLs, files and every redirect; certificates are always
//     verified and nothing can turn that off. The one exception is an image registry
//     on this machine's loopback, if [OCIConfig] allows it.
//   - Requests ask for Accept-Encoding: identity. A reply with another
//     Content-Encoding is refused, since its bytes are not the artifact's.
//   - A reply whose end is not marked (neither Content-Length nor chunks) is
//     refused: cut off, it would look whole. Bytes beyond Content-Length are not
//     part of an HTTP/1.1 reply and are not read.
//   - 5xx, 429, resets, stalls and bodies that end early are tried again after a
//     growing, jittered pause (Retry-After is honoured up to a cap). Other 4xx
//     are final.
//   - A retry continues where the last attempt ended if the server gave a strong
//     ETag, or a Last-Modified old enough to be one: Range with If-Range, and the
//     206's Content-Range, total and validator must fit. In every other case the
//     file and the hash begin again at zero, so that two versions of a file are
//     never mixed.
//   - Credentials go to the host and path prefix that they were configured for.
//     After a redirect to another host no credentials are sent. A server sends only
//     those of [HostCredential], and each only for the namespaces mapped to it.
//   - Nothing is left on disk after an error.
//
// # Errors
//
// If a host or what it answers is at fault, the error is an [*wire.Error] with a cause of
// package evidence. A cancelled context gives an error that wraps the context's. Any other
// error is one of this machine, such as a full disk.
package fetch

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// New returns a client. The configuration must not change afterwards.
func New(config Config) *Client {
	c := &Client{config: config, limits: config.Limits.orDefault(), log: config.Logger,
		operator: new(atomic.Pointer[[]HostCredential])}
	c.SetCredentials(config.Credentials)
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	for _, w := range config.Warnings {
		c.log.Warn(w)
	}
	if c.config.create == nil {
		c.config.create = createTemp
	}
	c.hosts = newHosts(config)
	c.slots = make(chan struct{}, max(c.limits.Parallel, 1))
	c.held = transfer.NewBudget(c.limits.Held)
	route := transfer.Route{RootCAs: config.RootCAs, Proxy: config.Proxy, AllowAddr: config.AllowAddr,
		Patience: config.Patience, Redirects: c.limits.Redirects, Idle: c.limits.Parallel, Dial: config.dial}
	c.shared, c.own = transfer.NewNetwork(route), make(map[artifact.Kind]*transfer.Network)
	for _, e := range ecosystems {
		if own := e.route(config, route); own != nil {
			c.own[e.kind()] = transfer.NewNetwork(*own)
		}
	}
	return c
}

// Fetch downloads ref and computes sha256, the digests under algs, and those that
// the registry's own claim needs, in one pass. The caller closes the Download,
// which removes its file.
func (c *Client) Fetch(ctx context.Context, ref artifact.Ref, algs ...digest.Algorithm) (*Download, error) {
	for _, a := range algs {
		if a.Size() == 0 {
			return nil, fmt.Errorf("%s: %w", wire.Name(ref.String()),
				&digest.UnknownAlgorithmError{Algorithm: string(a)})
		}
	}
	e, err := ecosystemOf(ref)
	if err != nil {
		return nil, err
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	return e.fetch(ctx, c, ref, append([]digest.Algorithm{digest.SHA256}, algs...))
}

// Files expands a Ref that stands for several files, such as a PyPI release, to one Ref for
// each. It returns any other Ref alone.
func (c *Client) Files(ctx context.Context, ref artifact.Ref) ([]artifact.Ref, error) {
	e := ecosystemOfKind(ref.Kind())
	if e == nil {
		return []artifact.Ref{ref}, nil
	}
	return e.files(ctx, c, ref)
}

// UserConfig returns the configuration that a user already has, as far as it counts in a
// checkout: see package userconfig. env is [os.Getenv] or a stand-in; projectDir and home may
// be empty.
func UserConfig(env func(string) string, projectDir, home string) (Config, error) {
	user := &userconfig.Reader{Env: env, Project: projectDir, Home: home,
		Agreement: new(consent.Agreement), Ignored: new(userconfig.IgnoredSettings)}
	config := Config{Agreement: user.Agreement, ignored: user.Ignored, Proxy: user.Proxy()}
	for _, e := range ecosystems {
		if err := e.configure(&config, user); err != nil {
			return config, err
		}
	}
	config.named, config.Warnings = user.Named, user.Warnings
	return config, nil
}
