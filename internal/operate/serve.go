// Package operate holds the commands of an operator: serve a registry, import, export and back up
// its records, reverify them, and manage its tokens.
//
// A registry keeps its files in one directory: registry.db, blobs/, token.key, log.key. A database,
// a bucket and key files elsewhere take their place ([Place], [ServeOptions]). Keys are created if
// they are missing, readable by this user alone.
package operate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

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
	FirstLog       bool          // the key of LogKeyFile is new, and has never signed a log
	ReplaceLog     string        // name of a log that cannot continue, which the log of the key replaces
	Witnesses      []log.Witness // that cosign the log's checkpoints
	PolicyFile     string        // read at the start and whenever Reload says so; "" is none
	Reload         <-chan os.Signal
	Limits         api.Limits
	ArchiveLimit   int64         // bytes of an uploaded archive; 0 is api.MaxArchive
	Presign        time.Duration // downloads of archives are sent to the blobs' own URLs, valid so long; 0 serves them
	Version        string
	Commit, Built  string // of the program; may be empty
	Logger         *slog.Logger
	Listening      func(net.Addr) // called once, when connections are accepted; may be nil

	// Credentials reads the credentials of Fetch again when Reload receives a signal; may be nil.
	Credentials func() ([]fetch.HostCredential, error)
}

// LoginMethods say which logins a registry offers, and whom it asks to verify them.
type LoginMethods struct {
	Offered        []registry.LoginMethod
	GitHubAPI      string // base URL; "" is the public one's
	GitHubClient   string // id of an OAuth application, for people who log in with GitHub
	GitHubAudience string // of the tokens of workflows; "" refuses them
	GitHubIssuer   string // of the tokens of workflows; "" is the public one
	OIDC           *api.Provider
	ProofPort      string // of https servers with proofs; "" is 443
}

// Serve runs a registry until ctx ends, then lets requests finish.
func Serve(ctx context.Context, o ServeOptions) error {
	if o.Database == "" || o.Blobs == "" || o.TokenKeyFile == "" || o.LogKeyFile == "" {
		if err := os.MkdirAll(o.Data, 0o700); err != nil {
			return evidence.Errorf(evidence.Operation, "registry", dataHint, err)
		}
	}
	records, err := openDatabase(ctx, Place{Data: o.Data, Database: o.Database}, true)
	if err != nil {
		return err
	}
	defer records.Close()
	blobs, err := openBlobs(ctx, o.Data, o.Blobs)
	if err != nil {
		return err
	}
	client := newClient(&o.Fetch, o.AllowHosts, o.Logger, o.Limits.Checks)
	issuer, err := openIssuer(ctx, o)
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
	config := o.siteConfig(client)
	config.Records, config.ArchiveRecords, config.Statuses, config.Tokens = records, records, records, records.Tokens()
	config.Blobs, config.Log, config.Issuer, config.CurrentPolicy = blobs, log, issuer, current.get
	handler, err := pages.NewSite(config)
	if err != nil {
		return evidence.Errorf(evidence.Validation, "registry", "", err)
	}
	return serveSite(ctx, o, handler, func() {
		current.reload(o)
		reloadCredentials(o, client)
	})
}

// newClient completes the options of fetching for packages that anyone may name, and returns their client. With checks
// that many are made at once, and none whose hosts are slow blocks another one.
func newClient(c *fetch.Config, allowHosts []string, logger *slog.Logger, checks int) *fetch.Client {
	c.AllowAddr, c.AnyHost, c.Logger = transfer.RefusePrivate(allowHosts...), true, logger
	if checks > 0 {
		c.Limits.Parallel = checks * cmp.Or(c.Limits.DocumentAtOnce, fetch.DefaultLimits().DocumentAtOnce)
	}
	return fetch.New(*c)
}

// siteConfig returns the configuration of a site, without what it keeps and who signs for it. The client fetches what
// is published.
func (o ServeOptions) siteConfig(client *fetch.Client) api.Config {
	return api.Config{
		Check: func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			return checkClaims(ctx, client, doc, o.BundleHosts)
		},
		IsAsked: client.AsksAt, NoneIsAnonymous: true,
		Archives:  registry.ArchiveKinds(archive.Limits{Packed: o.ArchiveLimit}),
		Transport: api.Archives{Limit: o.ArchiveLimit, Presign: o.Presign},
		Logins:    o.Login.Offered, Outside: newOutside(o), GitHubClient: o.Login.GitHubClient,
		Limits: o.Limits,
		Logger: o.Logger, Version: o.Version, Commit: o.Commit, Built: o.Built,
	}
}

// serveSite serves a site, and the profiles of the program if they have an address, until ctx ends, and calls reload
// for each signal. Then it lets requests finish.
func serveSite(ctx context.Context, o ServeOptions, handler http.Handler, reload func()) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", listenHint(err, "--addr"), err)
	}
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
	return registry.ServeHTTP(ctx, listener, handler, o.Reload, reload)
}

// listenHint returns a hint for an address that could not be listened on.
func listenHint(err error, flag string) string {
	if errors.As(err, new(*net.AddrError)) || errors.As(err, new(*net.DNSError)) {
		return flag + " is an address of this machine and a port, such as 127.0.0.1:8080"
	}
	return "is another program listening there? choose a port that is free and permitted with " + flag
}

// profileHandler serves profiles of the running program.
func profileHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
