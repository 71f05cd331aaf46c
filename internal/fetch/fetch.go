// Package fetch turns a Ref into bytes on this machine: streamed to a temporary
// file, hashed on the way, bounded in size, time, redirects and retries.
//
// It also reads what a package that was downloaded says of itself: the entry points and the server of a wheel, the
// readme of a .nupkg. It refuses package files that programs would unpack differently, before another program installs
// them; see package archive. The list of files at the end of a zip is at most 4 MiB in a .nupkg and 32 MiB in a wheel,
// and each file that is held in memory has a bound of its own.
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
//     verified and nothing can turn that off. The exceptions are on this machine's
//     loopback, over no proxy: an image registry, if [OCIConfig] allows it, and a
//     registry of npm or an index of Python packages that the configuration names by
//     http://localhost, a name below it, or an address of loopback. What that leads to
//     is https, or on loopback too; a name is held to an address of loopback when it
//     is connected to.
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
// package evidence. A cancelled context gives an error that wraps the context's. A file of the
// user's configuration that cannot be read gives an [*evidence.Error] of class Validation. Any
// other error is one of this machine, such as a full disk.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
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
	if c.config.create == nil {
		c.config.create = createTemp
	}
	c.patient = time.Now().Add(c.limits.Wait)
	c.hosts = c.newHosts()
	c.slots = make(chan struct{}, max(c.limits.Parallel, 1))
	c.held = transfer.NewBudget(c.limits.Held)
	c.idle = new(connections)
	c.network = c.idle.add(c.route())
	c.tools = make(map[artifact.Kind]func() (*tool, error), len(ecosystems))
	for _, e := range ecosystems {
		c.tools[e.kind()] = sync.OnceValues(func() (*tool, error) { return c.readTool(e) })
	}
	return c
}

// readTool reads what the user's files say of an ecosystem. An error that is not a refusal is of
// class Validation.
func (c *Client) readTool(e ecosystem) (*tool, error) {
	config := c.config
	if config.user != nil {
		reader := *config.user
		reader.Ignored = new(userconfig.IgnoredSettings)
		if err := e.configure(&config, &reader); err != nil {
			if _, ok := errors.AsType[*evidence.Error](err); ok {
				return nil, err
			}
			return nil, evidence.Errorf(evidence.Validation, "", "mend that file", err)
		}
		config.named, config.ignored, config.warnings = reader.Named, reader.Ignored, reader.Warnings
	}
	for _, w := range config.warnings {
		c.log.Warn(w)
	}
	t := &tool{config: config, hosts: wire.NewHosts(config.named, config.Agreement, config.AnyHost)}
	_, configured := e.registries(config)
	for _, base := range configured {
		t.hosts.AllowConfigured(wire.HostOfText(strings.TrimPrefix(base, "sparse+")))
	}
	if own := e.route(config, c.route()); own != nil {
		t.network = c.idle.add(*own)
	}
	return t, nil
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
	algs = append([]digest.Algorithm{digest.SHA256}, algs...)
	if local := c.localFiles(ref); len(local) == 1 {
		return readLocal(ref, c.local[local[0].Normal()], algs)
	}
	e, err := ecosystemOf(ref)
	if err != nil {
		return nil, err
	}
	if c, err = c.withTool(ref.Kind()); err != nil {
		return nil, err
	}
	return await(ctx, c, ref, func() (*Download, error) {
		ctx, release, err := c.begin(ctx, ref)
		if err != nil {
			return nil, err
		}
		defer release()
		return e.fetch(ctx, c, ref, algs)
	})
}

// await calls ask again while it says that ref is not there, as long as [Limits.Wait] allows.
func await[T any](ctx context.Context, c *Client, ref artifact.Ref, ask func() (T, error)) (T, error) {
	for pause := c.limits.Backoff; ; pause = min(2*pause, c.limits.BackoffMax) {
		got, err := ask()
		left := time.Until(c.patient)
		if !isNotFound(err) || left <= 0 {
			return got, err
		}
		c.log.Warn("waiting for " + wire.Name(ref.String()) + ", which is not there yet")
		select {
		case <-ctx.Done():
			return got, context.Cause(ctx)
		case <-time.After(min(pause, left)):
		}
	}
}

// Files expands a Ref that stands for several files, such as a PyPI release, to one Ref for
// each. It returns any other Ref alone.
func (c *Client) Files(ctx context.Context, ref artifact.Ref) ([]artifact.Ref, error) {
	if local := c.localFiles(ref); len(local) > 0 {
		return local, nil
	}
	e := ecosystemOfKind(ref.Kind())
	if e == nil {
		return []artifact.Ref{ref}, nil
	}
	c, err := c.withTool(ref.Kind())
	if err != nil {
		return nil, err
	}
	return await(ctx, c, ref, func() ([]artifact.Ref, error) { return e.files(ctx, c, ref) })
}

// AsksAt reports whether packages of that kind and name are asked of the registry at base, and of no other. It sends
// nothing.
func (c *Client) AsksAt(kind artifact.Kind, name, base string) bool {
	e := ecosystemOfKind(kind)
	if e == nil {
		return false
	}
	c, err := c.withTool(kind)
	if err != nil {
		return false // fetching says why
	}
	bases, err := e.bases(c.config, name)
	return err == nil && slices.ContainsFunc(bases, func(known string) bool {
		return known != "" && strings.TrimRight(known, "/") == strings.TrimRight(base, "/")
	})
}

// CheckBase refuses the base URL of a registry that nothing would be fetched from.
func CheckBase(base string) error {
	u, err := url.Parse(strings.TrimPrefix(base, "sparse+"))
	if err != nil {
		return errors.New("the URL cannot be parsed")
	}
	return transfer.CheckURLFrom(u, u)
}

// UserConfig returns a configuration that is completed from what a user already has, as far as it
// counts in a checkout: see package userconfig. The files of a tool are read when a client first
// asks the registries of that tool. env is [os.Getenv] or a stand-in; projectDir and home may be
// empty.
func UserConfig(env func(string) string, projectDir, home string) Config {
	user := &userconfig.Reader{Env: env, Project: projectDir, Home: home, Agreement: new(wire.Agreement)}
	return Config{Agreement: user.Agreement, Proxy: user.Proxy(), user: user}
}
