package cli

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/facet"
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

// The command that a list proposes chooses something: a name that several have does not, nor a plugin of nothing.
func TestProposedChoice(t *testing.T) {
	twice := []facet.Item{{Name: "a", Path: ".agents/skills/a"}, {Name: "a", Path: ".claude/skills/a"}}
	for want, items := range map[string][]facet.Item{ // copies are no other choice
		"'hallmark add --path x --skill b'":         append(twice, facet.Item{Name: "b", Path: "b"}),
		"'hallmark add NAME --path x --skill PATH'": append(twice, facet.Item{Name: "c", Path: "c", Empty: true}),
		"'hallmark add --path x --skill a'":         {{Path: "y"}, {Name: "a", Path: "a"}, {Name: "a", Copy: true}},
	} {
		err := chooseError("x", project.Facet{Path: "x"}, items, items)
		if !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q, not %s", err, want)
		}
	}
	one := []facet.Item{{Name: "a", Path: "a"}}
	if err := chooseError("x", project.Facet{Path: "x"}, one, one); !strings.Contains(err.Error(), "holds one skill") {
		t.Error(err)
	}
}

// What people type for a source, and is no name of a facet, is answered with the commands for sources.
func TestNameErrorLeadsOn(t *testing.T) {
	for arg, want := range map[string]string{
		"acme/kit":            "'hallmark add --git acme/kit', the directory",
		"acme/kit@pdf":        "'hallmark add --git acme/kit --skill NAME'",
		"acme/kit/skills/pdf": "'hallmark add --git URL'",
		"github:acme/kit":     "'hallmark add --git URL'",
		"./kit":               "'hallmark add --path DIR'",
		"../my kit":           "'hallmark add --path DIR'",
	} {
		if err := nameError(arg, arg); !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", arg, err)
		}
	}
}
