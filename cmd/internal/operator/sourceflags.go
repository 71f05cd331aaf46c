package operator

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// sourceFlags say where a registry fetches packages from, empty for the public place,
// with which credentials, and how much.
type sourceFlags struct {
	npm, pypi, nuget, cargo, github string
	credentials                     string
	limits                          app.FetchFlags
	together, held                  app.Mebibytes
}

func (s *sourceFlags) register(f *pflag.FlagSet) {
	f.StringVar(&s.npm, "npm-registry", "",
		"base `URL` of the npm registry to check packages against (default: the public one)")
	f.StringVar(&s.pypi, "pypi-index", "",
		"base `URL` below which /pypi and /simple of a Python package index are (default: the public one)")
	f.StringVar(&s.nuget, "nuget-index", "", "`URL` of a NuGet service index, version 3 (default: the public one)")
	f.StringVar(&s.cargo, "cargo-index", "", "`URL` of a sparse index of crates (default: the public one)")
	f.StringVar(&s.github, "github-url", "",
		"base `URL` of the GitHub that releases come from (default: the public one)")
	f.StringVar(&s.credentials, "credentials", "",
		"TOML `file` with the credentials of package hosts, each for the namespaces that may use it")
	s.limits.Register(f)
	app.MebibytesVar(f, &s.together, "max-fetch-bytes", app.Bounds[app.Mebibytes]{Default: 4096},
		"`MiB` that the packages of one document may have together; 0 is no limit")
	app.MebibytesVar(f, &s.held, "max-held-bytes", app.Bounds[app.Mebibytes]{Default: 16384},
		"`MiB` of packages in temporary files at once; 0 is no limit")
}

// set makes c fetch from there.
func (s *sourceFlags) set(c *fetch.Config) (err error) {
	for flag, text := range map[string]string{"--npm-registry": s.npm, "--pypi-index": s.pypi, "--nuget-index": s.nuget,
		"--cargo-index": s.cargo, "--github-url": s.github} {
		if err := fetch.CheckBase(text); text != "" && err != nil {
			return evidence.Errorf(evidence.Validation, flag, "give a URL of https; http is for this machine alone",
				err)
		}
	}
	if s.npm != "" {
		c.NPM.Setting = func(key string) string {
			if key == "registry" {
				return s.npm
			}
			return ""
		}
	}
	c.PyPI.Base, c.NuGet.Index, c.Cargo.Index, c.GitHub.Base = s.pypi, s.nuget, s.cargo, s.github
	s.limits.Set(&c.Limits)
	c.Limits.Together, c.Limits.Held = s.together.Bytes(), s.held.Bytes()
	c.Credentials, err = s.readCredentials()
	return err
}

// readCredentials reads the file of --credentials, if there is one.
func (s *sourceFlags) readCredentials() ([]fetch.HostCredential, error) {
	if s.credentials == "" {
		return nil, nil
	}
	all, err := fetch.ReadCredentials(s.credentials, os.Getenv)
	switch {
	case errors.As(err, new(*fs.PathError)):
		return nil, evidence.Errorf(evidence.Operation, "credentials",
			"--credentials names a file that you may read", err)
	case err != nil:
		return nil, evidence.Errorf(evidence.Validation, s.credentials, "", err)
	}
	return all, nil
}
