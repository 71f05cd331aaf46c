package hallmark

import (
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
)

func TestBundleHost(t *testing.T) {
	for text, want := range map[string]string{
		model.RegistryURLGitHub + "/o/r/releases/download/v1/a.mcpb": hostOf(model.RegistryURLGitHub),
		"github:o/r/v1/a.mcpb":                  hostOf(model.RegistryURLGitHub),
		"https://files.example.com:8443/a.mcpb": "files.example.com",
	} {
		ref, err := artifact.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := bundleHost(ref); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
