package cli

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

func (a *app) registry() *cobra.Command {
	c := &cobra.Command{
		Use:   "registry",
		Short: "Run a registry that recomputes every hash",
		Args:  args(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.serve())
	return c
}

func (a *app) serve() *cobra.Command {
	o := hallmark.ServeOptions{Fetch: fetch.ServerConfig()}
	var validation, npm string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a registry",
		Long: `Serve an MCP registry that fetches the files of every published server itself and
recomputes their hashes. Without login methods a publish needs --allow-anonymous; a
package must still name the server that it is published as.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			o.Validation = registry.Validation(validation)
			switch o.Validation {
			case registry.Off, registry.Observe, registry.Enforce:
			default:
				return usage(c, fmt.Errorf("--validation is off, observe or enforce, not %+q", validation))
			}
			if o.Data == "" {
				data, err := dataDir()
				if err != nil {
					return err
				}
				o.Data = filepath.Join(data, "registry")
			}
			if npm != "" {
				o.Fetch.NPM.Setting = func(key string) string {
					if key == "registry" {
						return npm
					}
					return ""
				}
			}
			o.Version = version()
			o.Logger = slog.New(slog.NewTextHandler(a.stderr, nil))
			o.Listening = func(addr net.Addr) {
				fmt.Fprintf(a.stderr, "%s: registry at http://%s, data in %s\n", a.name, addr, o.Data)
			}
			return hallmark.Serve(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	f.StringVar(&o.Data, "data", "", "`directory` of the database (default: below the user's data directory)")
	f.BoolVar(&o.AllowAnonymous, "allow-anonymous", false, "take publishes without a token")
	f.BoolVar(&o.RequireHashes, "require-hashes", false, "refuse servers with a package without hash")
	f.StringVar(&validation, "validation", string(registry.Enforce), "what to do about hashes: off, observe or enforce")
	f.StringVar(&npm, "npm-registry", "", "base `URL` of the npm registry to check packages against (default: the public one)")
	f.StringSliceVar(&o.AllowHosts, "allow-host", nil, "`host` that may resolve to a private address")
	f.StringSliceVar(&o.BundleHosts, "bundle-host", nil, "`host` that downloadable bundles may come from, besides the well-known ones")
	return c
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
