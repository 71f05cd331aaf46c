package project

import (
	"slices"
	"strings"
	"testing"
)

// What of a facet is wanted, and how it is called, is read strictly: a word that means nothing is an error.
func TestFacetParts(t *testing.T) {
	parse := func(value string) (Facet, error) {
		c, err := ParseConfig([]byte("manifest_version = 1\n[facets]\nkit = " + value + "\n"))
		if err != nil {
			return Facet{}, err
		}
		return c.Facets["kit"], nil
	}
	f, err := parse(`{ version = "1.*", prefix = "acme", parts = ["skill pdf", "server notes"] }`)
	if err != nil || f.Requirement.String() != "1.*" || f.Prefix != "acme" || !slices.Equal(f.Parts, []string{"skill pdf", "server notes"}) ||
		!f.Kind().HasVersions() {
		t.Errorf("%+v, %v", f, err)
	}
	for value, want := range map[string]string{
		`{ version = "1.*", git = "https://git.example.com/kit" }`: "version belongs to a facet of the registry",
		`{ version = "^1" }`:                                           "^1",
		`{ prefix = "acme" }`:                                          "needs git or path",
		`{ path = "kit", prefix = "@acme/kit" }`:                       "prefix",
		`{ path = "kit", prefix = "` + strings.Repeat("a", 33) + `" }`: "prefix",
		`{ path = "kit", parts = [] }`:                                 "parts must be a list",
		`{ path = "kit", parts = "skill pdf" }`:                        "parts must be a list",
		`{ path = "kit", parts = [3] }`:                                "is none",
		`{ path = "kit", parts = ["pdf"] }`:                            "is none",
		`{ path = "kit", parts = ["hook x"] }`:                         "is none",
		`{ path = "kit", parts = ["skill a", "skill a"] }`:             "twice",
		`{ path = "kit", parts = ["skill a b"] }`:                      "is none",
	} {
		if f, err := parse(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", value, f, err)
		}
	}
}
