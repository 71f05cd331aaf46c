package workspace_test

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// A facet is declared without touching anything else in the file, comments included.
func ExampleSetFacet() {
	out, err := workspace.SetFacet([]byte("manifest_version = 1 # of ours\n[facets]\nkit = \"1.*\"\n"), project.Facet{
		Name: "review", Git: "https://git.example.com/review.git", Tag: "v1.2.0",
	})
	fmt.Print(string(out), err)
	// Output:
	// manifest_version = 1 # of ours
	// [facets]
	// kit = "1.*"
	// "review" = { git = "https://git.example.com/review.git", tag = "v1.2.0" }
	// <nil>
}
