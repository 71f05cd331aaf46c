package hallmark

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ShutdownTime is how long requests may take to finish when a registry stops.
const ShutdownTime = 30 * time.Second

// ServeOptions describe a registry.
type ServeOptions struct {
	Addr           string // host:port
	Data           string // directory of the database; created if it is missing
	AllowAnonymous bool
	RequireHashes  bool
	Validation     registry.Validation
	AllowHosts     []string // hosts that may resolve to private addresses
	BundleHosts    []string // hosts of downloadable bundles, besides the two that are always allowed
	Fetch          fetch.Config
	Version        string
	Logger         *slog.Logger
	Listening      func(net.Addr) // told once, when connections are taken; may be nil
}

// Serve runs a registry until ctx ends, then lets requests finish.
func Serve(ctx context.Context, o ServeOptions) error {
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return evidence.Errorf(evidence.Operation, "registry", "", err)
	}
	records, err := registry.OpenSQLite(ctx, filepath.Join(o.Data, "registry.db"))
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", "", err)
	}
	defer records.Close()
	o.Fetch.AllowAddr = fetch.RefusePrivate(o.AllowHosts...)
	o.Fetch.Logger = o.Logger
	client := fetch.New(o.Fetch)
	handler, err := registry.New(registry.Config{
		Records: records,
		Check: func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			return CheckClaims(ctx, client, doc, o.BundleHosts)
		},
		Validation: o.Validation, AllowAnonymous: o.AllowAnonymous, RequireHashes: o.RequireHashes,
		Logger: o.Logger, Version: o.Version,
	})
	if err != nil {
		return evidence.Errorf(evidence.Validation, "registry", "", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", "is another registry running? choose a port with --addr", err)
	}
	server := registry.NewServer(o.Addr, handler)
	if o.Listening != nil {
		o.Listening(listener.Addr())
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTime)
		defer cancel()
		err = server.Shutdown(stop)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// CheckClaims is the registry's half of a publish: it fetches every file that doc
// claims a hash for, recomputes the hash, compares the file with what its own registry
// says, and asks each package who may publish it. A package without a claim is not
// downloaded.
func CheckClaims(ctx context.Context, client *fetch.Client, doc *serverjson.Document, bundleHosts []string) (evidence.Report, error) {
	claimed, report, err := subjects(doc, "server.json", false)
	if err != nil {
		return nil, err
	}
	more, err := observe(ctx, client, claimed, nil)
	if err != nil {
		return nil, err
	}
	report = append(report, more...)
	for _, p := range doc.Packages {
		ref, err := p.Ref()
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(report, func(e evidence.Evidence) bool { return sameRef(e.Subject, ref) }) {
			report = append(report, evidence.Compare(
				evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Publisher}, evidence.Observed{}))
		}
		owner, err := ownership(ctx, client, doc.Name, ref, bundleHosts)
		if err != nil {
			return nil, err
		}
		report = append(report, owner)
	}
	return report, nil
}

func sameRef(subject string, ref artifact.Ref) bool {
	other, err := artifact.Parse(subject)
	return err == nil && other.Normal() == ref.Normal()
}

// ownership asks the package itself which server it belongs to.
func ownership(ctx context.Context, client *fetch.Client, name string, ref artifact.Ref, bundleHosts []string) (evidence.Evidence, error) {
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.Ownership, Authority: evidence.Registry, Text: name}
	switch ref.Kind() {
	case artifact.NPM:
		claim.Where = "package.json, mcpName"
		version, err := client.NPM(ctx, ref)
		var outside *fetch.Error
		switch {
		case errors.As(err, &outside) && ctx.Err() == nil:
			return evidence.CannotVerify(claim, outside.Cause, reason(outside)), nil
		case err != nil:
			return evidence.Evidence{}, err
		}
		return evidence.Fact(claim, version.MCPName), nil
	case artifact.GitHub, artifact.HTTPS:
		// A bundle names no server; who controls its host is all there is to ask.
		claim.Where = "the hosts that bundles may come from"
		host := bundleHost(ref)
		claim.Text = host
		if slices.Contains(append(bundleHosts, hostOf(model.RegistryURLGitHub), hostOf(model.RegistryURLGitLab)), host) {
			return evidence.Fact(claim, host), nil
		}
		return evidence.Fact(claim, ""), nil
	}
	return evidence.CannotVerify(claim, evidence.Unsupported, "packages of type "+string(ref.Kind())+" cannot be checked yet"), nil
}

func bundleHost(ref artifact.Ref) string {
	if ref.Normal().Kind() == artifact.GitHub { // of which the normal form has no URL
		return hostOf(model.RegistryURLGitHub)
	}
	return hostOf(ref.Normal().URL())
}

func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
