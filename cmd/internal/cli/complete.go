package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/project"
)

// completeServers and completeDeclared complete servers, or servers and facets, of hallmark.toml
// that are not on the line yet. If the file cannot be read they complete nothing, because no
// message may appear while somebody types.
func completeServers(c *cobra.Command, names []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete(listDeclared(c, false), names, begun)
}

func completeDeclared(c *cobra.Command, names []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete(listDeclared(c, true), names, begun)
}

// completeProtected completes servers of the user's own clients.
func completeProtected(_ *cobra.Command, names []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	where, err := durable.FindPlaces(os.Getenv)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete(listNames(where.Config, false), names, begun)
}

// completeClient completes the clients that --client takes.
func completeClient(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete(clients.Names(), nil, begun)
}

// listDeclared lists the names in the project's hallmark.toml.
func listDeclared(c *cobra.Command, facets bool) []string {
	dir := "."
	if f := c.Flags().Lookup("project"); f != nil {
		dir = f.Value.String()
	}
	return listNames(dir, facets)
}

// listNames lists the names in the hallmark.toml of a directory.
func listNames(dir string, facets bool) []string {
	data, err := durable.ReadFile(filepath.Join(dir, project.ConfigFile), project.MaxConfig)
	if err != nil {
		return nil
	}
	config, err := project.ParseConfig(data)
	if err != nil {
		return nil
	}
	found := slices.Sorted(maps.Keys(config.Servers))
	if facets {
		found = append(slices.Sorted(maps.Keys(config.Facets)), found...)
	}
	return found
}

// complete returns the names of found that begin with begun and are not in names.
func complete(found, names []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found = slices.DeleteFunc(found, func(name string) bool {
		return !strings.HasPrefix(name, begun) || slices.Contains(names, name)
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}
