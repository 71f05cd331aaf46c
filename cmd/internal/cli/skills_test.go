package cli

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// What follows the last @ of the path of a URL is a tag; a user before the host is none.
func TestSplitTag(t *testing.T) {
	for given, want := range map[string]project.Facet{
		"https://git.example.com/kit.git":           {Git: "https://git.example.com/kit.git"},
		"https://git.example.com/kit.git@v1.2.0":    {Git: "https://git.example.com/kit.git", Tag: "v1.2.0"},
		"https://git.example.com/kit@release/1":     {Git: "https://git.example.com/kit", Tag: "release/1"},
		"ssh://git@git.example.com/acme/kit.git":    {Git: "ssh://git@git.example.com/acme/kit.git"},
		"ssh://git@git.example.com/acme/kit.git@v1": {Git: "ssh://git@git.example.com/acme/kit.git", Tag: "v1"},
		"": {}, "no URL@v1": {Git: "no URL@v1"},
	} {
		f := project.Facet{Git: given}
		if err := splitTag(&f); err != nil || f.Git != want.Git || f.Tag != want.Tag {
			t.Errorf("%q: %v, %q and %q", given, err, f.Git, f.Tag)
		}
	}
	if err := splitTag(&project.Facet{Git: "https://git.example.com/kit.git@v1", Branch: "main"}); err == nil {
		t.Error("a tag beside a branch")
	}
}
