package cli

import (
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// sourceFlags say where a registry fetches packages from; empty is the public place.
type sourceFlags struct{ npm, pypi, nuget, cargo, github string }

func (s *sourceFlags) register(f *pflag.FlagSet) {
	f.StringVar(&s.npm, "npm-registry", "", "base `URL` of the npm registry to check packages against (default: the public one)")
	f.StringVar(&s.pypi, "pypi-index", "", "base `URL` below which /pypi and /simple of a Python package index are (default: the public one)")
	f.StringVar(&s.nuget, "nuget-index", "", "`URL` of a NuGet service index, version 3 (default: the public one)")
	f.StringVar(&s.cargo, "cargo-index", "", "`URL` of a sparse index of crates (default: the public one)")
	f.StringVar(&s.github, "github-url", "", "base `URL` of the GitHub that releases come from (default: the public one)")
}

// set makes c fetch from there.
func (s *sourceFlags) set(c *fetch.Config) {
	if s.npm != "" {
		c.NPM.Setting = func(key string) string {
			if key == "registry" {
				return s.npm
			}
			return ""
		}
	}
	c.PyPI.Base, c.NuGet.Index, c.Cargo.Index, c.GitHub.Base = s.pypi, s.nuget, s.cargo, s.github
}
