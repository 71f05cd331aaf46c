// Package operate is the operator's side: serving, importing, reverifying and backing up a
// registry, its tokens, and witnesses.
package operate

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/kinds"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry/server"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ShutdownTime is how long requests may take to finish when a registry stops.
const ShutdownTime = 30 * time.Second

// ServeOptions describe a registry.
type ServeOptions struct {
	Addr           string // host:port
	Data           string // directory of what is not kept elsewhere; created if it is missing
	Database       string // postgres://…; "" is a file below Data
	Blobs          string // s3://…; "" is a directory below Data
	DebugAddr      string // host:port of /debug/pprof/, which is for the operator alone; "" is none
	AllowAnonymous bool
	RequireHashes  bool
	Validation     registry.Validation
	AllowHosts     []string // hosts that may resolve to private addresses
	BundleHosts    []string // hosts of downloadable bundles, besides the two that are always allowed
	Fetch          fetch.Config
	Login          LoginMethods
	TokenKeyFile   string        // seed of the key that signs tokens; "" is one in Data, created if it is missing
	LogKeyFile     string        // key that signs the log; "" is one in Data, created if it is missing
	LogOrigin      string        // name of the log, if its key is created; "" is a random one
	FirstLog       bool          // the key of LogKeyFile is new, and has signed nothing anywhere
	ReplaceLog     string        // name of a log that cannot go on, in whose place the one of the key comes
	Witnesses      []log.Witness // who cosign the log's checkpoints
	PolicyFile     string        // read at the start and whenever Reload says so; "" is none
	Reload         <-chan os.Signal
	Limits         api.Limits
	ArchiveLimit   int64         // bytes of an uploaded archive; 0 is api.MaxArchive
	Presign        time.Duration // downloads of archives are sent to the blobs' own URLs, valid so long; 0 serves them
	Version        string
	Commit, Built  string // of the program; may be empty
	Logger         *slog.Logger
	Listening      func(net.Addr) // told once, when connections are taken; may be nil

	// Credentials reads those of Fetch again, whenever Reload says so; may be nil.
	Credentials func() ([]fetch.HostCredential, error)
}

// LoginMethods say who may log in to a registry, and how that is found out.
type LoginMethods struct {
	Offered        []auth.Method
	GitHubAPI      string // base URL; "" is the public one's
	GitHubClient   string // id of an OAuth application, for people who log in with GitHub
	GitHubAudience string // of the tokens of workflows; "" refuses them
	GitHubIssuer   string // of the tokens of workflows; "" is the public one
	OIDC           *auth.Provider
	ProofPort      string // of https servers with proofs; "" is 443
}

// Serve runs a registry until ctx ends, then lets requests finish.
func Serve(ctx context.Context, o ServeOptions) error {
	if o.Database == "" || o.Blobs == "" || o.TokenKeyFile == "" || o.LogKeyFile == "" {
		if err := os.MkdirAll(o.Data, 0o700); err != nil {
			return evidence.Errorf(evidence.Operation, "registry", "", err)
		}
	}
	records, err := openRecords(ctx, o.Data, o.Database)
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", "", err)
	}
	defer records.Close()
	blobs, err := OpenBlobs(ctx, o.Data, o.Blobs)
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", "", err)
	}
	o.Fetch.AllowAddr, o.Fetch.AnyHost = transfer.RefusePrivate(o.AllowHosts...), true
	o.Fetch.Logger = o.Logger
	if n := o.Limits.Checks; n > 0 {
		// So that a publish whose hosts are slow does not keep another waiting.
		o.Fetch.Limits.Parallel = n * cmp.Or(o.Fetch.Limits.DocumentAtOnce, fetch.DefaultLimits().DocumentAtOnce)
	}
	client := fetch.New(o.Fetch)
	issuer, err := tokenIssuer(ctx, o)
	if err != nil {
		return err
	}
	current, err := newCurrentPolicy(o)
	if err != nil {
		return err
	}
	log, err := openLog(ctx, o, records, blobs)
	if err != nil {
		return err
	}
	defer log.Close()
	feeding, stopFeeding := context.WithCancel(ctx)
	var fed sync.WaitGroup
	fed.Go(func() { log.Feed(feeding, o.Witnesses) })
	defer fed.Wait()
	defer stopFeeding()
	handler, err := server.New(api.Config{
		Records: records, Blobs: blobs, Log: log,
		Check: func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			return CheckClaims(ctx, client, doc, o.BundleHosts)
		},
		CurrentPolicy: current.get,
		Archives:      kinds.All(archive.Limits{Packed: o.ArchiveLimit}), ArchiveRecords: records,
		Transport: api.Archives{Limit: o.ArchiveLimit, Presign: o.Presign},
		Statuses:  records, Tokens: records.Tokens(),
		Issuer: issuer, Logins: o.Login.Offered, Outside: loginOutside(o), GitHubClient: o.Login.GitHubClient,
		Limits: o.Limits,
		Logger: o.Logger, Version: o.Version, Commit: o.Commit, Built: o.Built,
	})
	if err != nil {
		return evidence.Errorf(evidence.Validation, "registry", "", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", listenHint(err, "--addr"), err)
	}
	server := server.NewHTTP(o.Addr, handler)
	if o.DebugAddr != "" {
		debug, err := new(net.ListenConfig).Listen(ctx, "tcp", o.DebugAddr)
		if err != nil {
			return evidence.Errorf(evidence.Operation, "registry", listenHint(err, "--debug-addr"), err)
		}
		defer debug.Close()
		go http.Serve(debug, profileHandler()) // until debug closes
	}
	if o.Listening != nil {
		o.Listening(listener.Addr())
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	for {
		select {
		case <-o.Reload:
			current.reload(o)
			reloadCredentials(o, client)
			continue
		case err = <-done:
		case <-ctx.Done():
			err = shutDown(ctx, server)
		}
		break
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// listenHint says what to do about an address that could not be listened on.
func listenHint(err error, flag string) string {
	if errors.As(err, new(*net.AddrError)) || errors.As(err, new(*net.DNSError)) {
		return flag + " is an address of this machine and a port, such as 127.0.0.1:8080"
	}
	return "is another program listening there? choose a port that is free and permitted with " + flag
}

// shutDown takes no more requests and lets those under way finish.
func shutDown(ctx context.Context, server *http.Server) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTime)
	defer cancel()
	return server.Shutdown(wait)
}

// profileHandler serves profiles of the running program.
func profileHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// recordStore is what a registry keeps records in, and closes when it ends.
type recordStore interface {
	registry.Records
	registry.Statuses
	registry.ArchiveRecords
	registry.Entries
	Tokens() registry.Tokens
	io.Closer
}

// openRecords opens the PostgreSQL database with a URL or, if that is empty, the file in
// the directory data.
func openRecords(ctx context.Context, data, database string) (recordStore, error) {
	if database != "" {
		return postgres.Open(ctx, database)
	}
	return sqlite.Open(ctx, filepath.Join(data, "registry.db"))
}

// OpenBlobs opens the bucket with a URL or, if that is empty, the directory below data.
func OpenBlobs(ctx context.Context, data, bucket string) (registry.Blobs, error) {
	if bucket != "" {
		return blobs.OpenS3(ctx, bucket)
	}
	return blobs.OpenFiles(filepath.Join(data, "blobs"))
}

// CheckClaims is the registry's half of a publish: it fetches every file that doc
// claims a hash for, recomputes the hash, compares the file with what its own registry
// says, and asks each package who may publish it. A package without a claim is not
// downloaded.
func CheckClaims(ctx context.Context, client *fetch.Client, doc *serverjson.Document, bundleHosts []string) (evidence.Report, error) {
	client = client.For(doc.Name)
	claimed, report, err := document.Subjects(client, doc, "server.json", false)
	if err != nil {
		return nil, err
	}
	claimed = slices.DeleteFunc(claimed, func(s *document.Subject) bool {
		if !isBundle(s.Ref) || allowedBundle(s.Ref, bundleHosts) {
			return false
		}
		// What would be refused for its host anyway is not asked for: a publisher must
		// not choose what the registry requests, nor learn what an allowed host answers.
		for _, c := range s.Claims {
			report = append(report, evidence.CannotVerify(c, evidence.Unsupported, "bundles may not come from "+bundleHost(s.Ref)))
		}
		return true
	})
	more, err := document.ObserveAll(ctx, client, claimed, nil)
	if err != nil {
		return nil, err
	}
	report = append(report, more...)
	for _, p := range doc.Packages {
		ref, err := p.Ref()
		if err != nil {
			return nil, err
		}
		unclaimed, err := unclaimedFiles(ctx, client, ref, report)
		if err != nil {
			return nil, err
		}
		report = append(report, unclaimed...)
		owner, err := ownershipEvidence(ctx, client, doc.Name, ref, bundleHosts)
		if err != nil {
			return nil, err
		}
		report = append(report, owner)
	}
	return report, nil
}

// unclaimedFiles is evidence of what ref gives that report says nothing of.
func unclaimedFiles(ctx context.Context, client *fetch.Client, ref artifact.Ref, report evidence.Report) (evidence.Report, error) {
	known := func(ref artifact.Ref) bool {
		return slices.ContainsFunc(report, func(e evidence.Evidence) bool { return document.SameRef(e.Subject, ref) })
	}
	if known(ref) {
		return nil, nil
	}
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Publisher}
	files, err := client.Files(ctx, ref)
	var outside *wire.Error
	switch {
	case errors.As(err, &outside) && ctx.Err() == nil:
		return evidence.Report{evidence.CannotVerify(claim, outside.Cause, document.Reason(outside))}, nil
	case err != nil:
		return nil, err
	}
	var unclaimed evidence.Report
	for _, file := range files {
		if !known(file) {
			claim.Subject = file.String()
			unclaimed = append(unclaimed, evidence.Compare(claim, evidence.Observed{}))
		}
	}
	return unclaimed, nil
}

// ownershipEvidence asks the package itself which server it belongs to.
func ownershipEvidence(ctx context.Context, client *fetch.Client, name string, ref artifact.Ref, bundleHosts []string) (evidence.Evidence, error) {
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.Ownership, Authority: evidence.Registry, Text: name}
	switch ref.Kind() {
	case artifact.NPM:
		claim.Where = "package.json, mcpName"
		version, err := client.NPM(ctx, ref)
		if err != nil {
			return answerEvidence(ctx, claim, "", err)
		}
		return answerEvidence(ctx, claim, version.MCPName, nil)
	case artifact.PyPI, artifact.NuGet, artifact.Cargo:
		claim.Where = "the package's description, mcp-name"
		text, err := client.Description(ctx, ref)
		if err == nil && fetch.OwnerToken(text, name) {
			return evidence.Fact(claim, name), nil
		}
		return answerEvidence(ctx, claim, "", err)
	case artifact.OCI:
		claim.Where = "the image's label " + ownerLabel
		text, err := client.OCILabel(ctx, ref, ownerLabel)
		return answerEvidence(ctx, claim, text, err)
	}
	if isBundle(ref) {
		// A bundle names no server; who controls its host is all there is to ask.
		claim.Where = "the hosts that bundles may come from"
		claim.Text = bundleHost(ref)
		if allowedBundle(ref, bundleHosts) {
			return evidence.Fact(claim, claim.Text), nil
		}
		return evidence.Fact(claim, ""), nil
	}
	return evidence.CannotVerify(claim, evidence.Unsupported, "packages of type "+string(ref.Kind())+" cannot be checked yet"), nil
}

// ownerLabel is the label by which an image names its server.
const ownerLabel = "io.modelcontextprotocol.server.name"

// answerEvidence is evidence of what a package says, or of why that could not be had.
func answerEvidence(ctx context.Context, claim evidence.Claim, text string, err error) (evidence.Evidence, error) {
	var outside *wire.Error
	switch {
	case errors.As(err, &outside) && ctx.Err() == nil:
		return evidence.CannotVerify(claim, outside.Cause, document.Reason(outside)), nil
	case err != nil:
		return evidence.Evidence{}, err
	}
	return evidence.Fact(claim, document.Clip(text, document.MaxReason)), nil // a name is shorter than what is cut
}

// isBundle reports whether ref is a file to download, which belongs to no registry.
func isBundle(ref artifact.Ref) bool {
	return ref.Kind() == artifact.GitHub || ref.Kind() == artifact.HTTPS
}

// allowedBundle reports whether ref is at one of the two well-known hosts of bundles, or
// at one of the operator's.
func allowedBundle(ref artifact.Ref, hosts []string) bool {
	host := bundleHost(ref)
	return host == document.HostOf(model.RegistryURLGitHub) || host == document.HostOf(model.RegistryURLGitLab) || slices.Contains(hosts, host)
}

func bundleHost(ref artifact.Ref) string {
	if ref.Normal().Kind() == artifact.GitHub { // of which the normal form has no URL
		return document.HostOf(model.RegistryURLGitHub)
	}
	return document.HostOf(ref.Normal().URL())
}
