package author

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/surface"
)

// InitCommand returns the command init.
func InitCommand(a *app.App) *cobra.Command {
	var offline bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Begin a server.json for the project in this directory",
		Long: `Write server.json with what package.json, pyproject.toml, Cargo.toml, a .csproj, the manifest.json
of an MCPB bundle, a Dockerfile and git say. It writes packages; a file of a GitHub release or at a URL
is one of type mcpb, or the older package_location: see 'hash-gen --help'. What they do not say is left
empty, and named; if they say nothing at all, nothing is written. Each package has to name the server:
if it does not, you see the line to add. GitHub is asked for the number of the repository, by which it is
found after it was renamed; that may fail.`,
		Args: app.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return initDocument(c.Context(), a, offline)
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "do not ask GitHub for the repository's number")
	return c
}

// initDocument writes a server.json, and says what is left to do.
func initDocument(ctx context.Context, a *app.App, offline bool) error {
	api := registry.GitHub{HTTP: &http.Client{Timeout: 5 * time.Second}, URL: registry.GitHubURL()}
	id := func(ctx context.Context, owner, name string) (string, error) {
		number, err := api.RepositoryID(ctx, owner, name, os.Getenv("GITHUB_TOKEN"))
		if err != nil {
			a.Note("repository.id is left out: %v", err)
		}
		return number, err
	}
	if offline {
		id = nil
	}
	file, err := document.Init(ctx, os.Environ(), ".", id)
	if err != nil {
		return err
	}
	return reportInit(a, file)
}

// reportInit says what of the file that init wrote does not suffice yet.
func reportInit(a *app.App, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	issues, err := document.IssuesOf(data, func(artifact.Kind, string, string) bool { return false })
	if err != nil {
		return err
	}
	var name struct {
		Name string `json:"name"`
	}
	if err := surface.DecodeKnown(data, &name); err != nil {
		return err
	}
	notes, err := document.InitNotes(".", name.Name)
	if err != nil {
		return err
	}
	for _, note := range notes { // packages are published first
		a.Note("%s", surface.Escape(note))
	}
	a.Note("wrote %s; edit name, description and packages, then\n  %s login github\n  %s publish", file, a.Name,
		a.Name)
	for _, issue := range issues.Errors() {
		a.Note("%s is not valid yet: %s", file, issue)
	}
	return nil
}
