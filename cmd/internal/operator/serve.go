package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
)

const serveHelp = `Serve an MCP registry that fetches the files of every published server itself and
recomputes their hashes. A publish needs a token that permits its name: of a login, or
one made with 'registry token create'. With --allow-anonymous it needs none. Either way
a package must name the server that it is published as.

The registry signs a log of what it publishes. A key that has signed signs only what
extends what it signed last, which is kept beside the key (FILE.head) and in the bucket.
A key of which nothing is found there signs nothing: bring that along, say --first-log if
the key is new, or replace the log with --replace-log. A key that the registry creates
itself is new.

SIGHUP reads the files of --policy and --credentials again.`

// serveCommand is hallmark-registry serve.
func serveCommand(a *app.App) *cobra.Command {
	s := &server{a: a, o: operate.ServeOptions{Fetch: fetch.ServerConfig()}}
	c := &cobra.Command{
		Use:         "serve",
		Short:       "Serve a registry",
		Annotations: map[string]string{program.Hangup: "its files are read again"},
		Example:     "--allow-anonymous\n--addr 0.0.0.0:8080 --data registry --policy policy.toml",
		Long:        serveHelp,
		Args:        app.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			reload := make(chan os.Signal, 1)
			signal.Notify(reload, syscall.SIGHUP) // which ends the program before that
			defer signal.Stop(reload)
			s.o.Reload = reload
			if err := s.setOptions(c); err != nil {
				return err
			}
			return s.serve(c.Context())
		},
	}
	s.register(c.Flags())
	return c
}

// server is one call of serve.
type server struct {
	a          *app.App
	o          operate.ServeOptions
	validation string
	logFormat  string
	logLevel   slog.Level
	witnesses  []string
	network    app.NetworkFlags
	sources    sourceFlags
	login      loginFlags
	limits     limitFlags
	archiveMiB int64
}

func (s *server) register(f *pflag.FlagSet) {
	f.StringVar(&s.o.Addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	f.StringVar(&s.o.Data, "data", "", "`directory` of the database (default: below the user's data directory)")
	f.StringVar(&s.o.Database, "db", "",
		"`URL` of a PostgreSQL database, postgres://… (default: a file in the data directory)")
	f.StringVar(&s.o.Blobs, "blobs", "",
		"`URL` of the bucket of archives, s3://bucket/prefix?endpoint=…&region=…&path-style=true (default: a "+
			"directory in the data directory)")
	f.StringVar(&s.o.DebugAddr, "debug-addr", "", "`host:port` to serve profiles of the program on (default: nowhere)")
	f.StringVar(&s.logFormat, "log-format", "text", "form of what is logged: text or json")
	f.TextVar(&s.logLevel, "log-level", slog.LevelInfo,
		"least `level` of what is logged: debug, with a line for every request, info, warn or error")
	f.BoolVar(&s.o.AllowAnonymous, "allow-anonymous", false, "take publishes without a token")
	f.BoolVar(&s.o.RequireHashes, "require-hashes", false, "refuse servers with a package without hash")
	f.StringVar(&s.validation, "validation", string(registry.Enforce), "what to do about hashes: off, observe or "+
		"enforce")
	s.sources.register(f)
	f.StringSliceVar(&s.o.AllowHosts, "allow-host", nil, "`host` that may resolve to a private address")
	f.StringSliceVar(&s.o.BundleHosts, "bundle-host", nil,
		"`host` that bundles may come from, besides github.com and gitlab.com; own: the domain of the server's name")
	s.registerKeys(f)
	f.StringVar(&s.o.PolicyFile, "policy", "",
		"TOML `file` with validation, require_hashes, allow_anonymous and blocked; it goes before the flags")
	s.network.Register(f)
	s.login.register(f)
	s.limits.register(f)
	f.Int64Var(&s.archiveMiB, "max-archive", api.MaxArchive>>20, "`MiB` of an uploaded archive")
	f.DurationVar(&s.o.Presign, "presign", 0,
		"send downloads of archives to the bucket itself, with URLs that are valid so `long` (default: serve them)")
}

// registerKeys adds the flags of the keys that sign tokens and the log, and of the log.
func (s *server) registerKeys(f *pflag.FlagSet) {
	f.StringVar(&s.o.TokenKeyFile, "token-key-file", "",
		"`file` with the 32-byte seed of the key that signs tokens, in hexadecimal; the same for all replicas "+
			"(default: token.key in --data, created)")
	f.StringVar(&s.o.LogKeyFile, "log-key-file", "",
		"`file` with the key that signs the log, or, with --log-origin, its 32-byte seed in hexadecimal; the same "+
			"for all replicas (default: log.key in --data, created)")
	f.StringVar(&s.o.LogOrigin, "log-origin", "",
		"`name` of the log, such as the registry's host (default: the key's, or a random one with a new key)")
	f.BoolVar(&s.o.FirstLog, "first-log", false,
		"the key of --log-key-file is new and never signed a log: begin its first one; refused once it has begun")
	f.StringVar(&s.o.ReplaceLog, "replace-log", "",
		"`name` of a log that cannot go on, as its database lost entries: the log of a new key with another name "+
			"takes its place")
	f.StringArrayVar(&s.witnesses, "witness", nil, "witness that cosigns the log, `key=URL`; may be repeated")
}

// setOptions completes the options by what the flags say.
func (s *server) setOptions(c *cobra.Command) error {
	switch registry.Validation(s.validation) {
	case registry.Off, registry.Observe, registry.Enforce:
	default:
		return app.Usage(c, fmt.Errorf("--validation is off, observe or enforce, not %+q", s.validation))
	}
	if s.logFormat != "text" && s.logFormat != "json" {
		return app.Usage(c, fmt.Errorf("--log-format is text or json, not %+q", s.logFormat))
	}
	if s.o.FirstLog && s.o.ReplaceLog != "" {
		return app.Usage(c,
			errors.New("--first-log is for a log that takes no other's place, which --replace-log is for"))
	}
	err := setDefaultDir(&s.o.Data)
	if err != nil {
		return err
	}
	if s.o.Login, err = s.login.methods(); err != nil {
		return app.Usage(c, err)
	}
	if s.o.Limits, err = s.limits.limits(); err != nil {
		return app.Usage(c, err)
	}
	if s.o.ArchiveLimit = s.archiveMiB << 20; s.archiveMiB < 1 || s.o.ArchiveLimit > registry.MaxBlob {
		return app.Usage(c, fmt.Errorf("--max-archive is 1 to %d", registry.MaxBlob>>20))
	}
	for _, w := range s.witnesses {
		witness, err := log.ParseWitness(w)
		if err != nil {
			return app.Usage(c, err)
		}
		s.o.Witnesses = append(s.o.Witnesses, witness)
	}
	if s.o.Fetch.RootCAs, err = s.network.Set(); err != nil {
		return err
	}
	s.o.Validation = registry.Validation(s.validation)
	if err := s.sources.set(&s.o.Fetch); err != nil {
		return err
	}
	if s.sources.credentials != "" {
		s.o.Credentials = s.sources.readCredentials
	}
	s.o.Fetch.GitHub.API = s.o.Login.GitHubAPI
	if s.o.AllowAnonymous && !slices.Contains(s.o.Login.Offered, registry.MethodNone) {
		// clients that always send a token log in so
		s.o.Login.Offered = append(s.o.Login.Offered, registry.MethodNone)
	}
	return nil
}

func (s *server) serve(ctx context.Context) error {
	s.o.Commit, s.o.Built = app.FindRevision()
	s.o.Version = program.Release()
	options := &slog.HandlerOptions{Level: s.logLevel}
	s.o.Logger = slog.New(slog.NewTextHandler(s.a.Stderr, options))
	say := s.a.Note
	if s.logFormat == "json" {
		s.o.Logger = slog.New(slog.NewJSONHandler(s.a.Stderr, options))
		say = func(format string, args ...any) { s.o.Logger.Info(fmt.Sprintf(format, args...)) }
	}
	s.o.Listening = func(addr net.Addr) { say("registry at http://%s, data in %s", addr, s.o.Data) }
	return operate.Serve(ctx, s.o)
}

// setDefaultDir sets dir to the default of --data if it is empty.
func setDefaultDir(dir *string) error {
	if *dir != "" {
		return nil
	}
	data, err := dataDir()
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry",
			"name the registry's directory with --data, or set HALLMARK_HOME", err)
	}
	*dir = filepath.Join(data, "registry")
	return nil
}

// dataDir is the user's data directory, by the platform's convention.
func dataDir() (string, error) {
	if home := os.Getenv("HALLMARK_HOME"); home != "" {
		return filepath.Abs(home)
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hallmark"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "hallmark"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "hallmark"), err
}
