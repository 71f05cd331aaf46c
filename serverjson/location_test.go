package serverjson

import (
	"strings"
	"testing"
)

// The older package_location in every form in which source 000 and its readers write it.
func TestLocation(t *testing.T) {
	sum := `"sha256:` + hexA + `"`
	for name, c := range map[string]struct {
		location, hashes string
		want             string // the Refs that it gives
		problem          string // else what is wrong
	}{
		"npm":                   {`{"type":"npm","package_name":"@acme/notes","version":"1.0.0"}`, "", "npm:@acme/notes@1.0.0", ""},
		"npm by the document":   {`{"type":"npm","package_name":"notes"}`, "", "npm:notes@1.4.0", ""},
		"npm in one":            {`{"type":"npm","package_name":"@acme/notes@1.0.0"}`, "", "npm:@acme/notes@1.0.0", ""},
		"npm as an identifier":  {`{"type":"npm","package_name":"npm:notes@1.0.0"}`, "", "npm:notes@1.0.0", ""},
		"npm, both the same":    {`{"type":"npm","package_name":"notes@1.0.0","version":"1.0.0"}`, "", "npm:notes@1.0.0", ""},
		"npm, both":             {`{"type":"npm","package_name":"notes@1.0.0","version":"2.0.0"}`, "", "", "/package_location/package_name invalid-identifier"},
		"pypi in one":           {`{"type":"pypi","package_name":"mcp-notes==1.0"}`, "", "pypi:mcp-notes==1.0", ""},
		"pypi":                  {`{"type":"pypi","package_name":"mcp-notes","version":"1.0"}`, `"pypi:mcp-notes==1.0":` + sum, "pypi:mcp-notes==1.0", ""},
		"github by URL":         {`{"type":"github","url":"https://github.com/acme/notes/releases/download/v1.0.0/notes.tar.gz"}`, `"github:acme/notes/v1.0.0/notes.tar.gz":` + sum, "https://github.com/acme/notes/releases/download/v1.0.0/notes.tar.gz", ""},
		"github by name":        {`{"type":"github","package_name":"acme/notes/v1.0.0/notes.tar.gz"}`, `"github:acme/notes/v1.0.0/notes.tar.gz":` + sum, "github:acme/notes/v1.0.0/notes.tar.gz", ""},
		"github as identifier":  {`{"type":"github","package_name":"github:acme/notes/v1.0.0/notes.tar.gz"}`, "", "github:acme/notes/v1.0.0/notes.tar.gz", ""},
		"github, several":       {`{"type":"github","package_name":"acme/notes","version":"v1.0.0"}`, `"github:acme/notes/v1.0.0/linux.tar.gz":` + sum + `,"github:acme/notes/v1.0.0/mac.tar.gz":` + sum, "github:acme/notes/v1.0.0/linux.tar.gz github:acme/notes/v1.0.0/mac.tar.gz", ""},
		"github, of another":    {`{"type":"github","package_name":"acme/notes","version":"v1.0.0"}`, `"github:acme/notes/v1.0.1/mac.tar.gz":` + sum, "", "/package_location/package_name invalid-identifier"},
		"github, nothing named": {`{"type":"github","package_name":"acme/notes","version":"v1.0.0"}`, "", "", "/package_location/package_name invalid-identifier"},
		"url":                   {`{"type":"url","url":"https://example.com/notes-1.0.0.tar.gz"}`, `"https://example.com/notes-1.0.0.tar.gz":` + sum, "https://example.com/notes-1.0.0.tar.gz", ""},
		"nothing":               {`{"type":"github"}`, "", "", "/package_location/url required"},
	} {
		text := doc("packages", "", "package_location", c.location, "file_hashes", "{"+c.hashes+"}")
		d, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.problem != "" {
			if got := problems(t, text); !strings.Contains(strings.Join(got, "\n"), c.problem) {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		var refs []string
		for _, p := range d.Packages {
			ref, err := p.Ref()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			refs = append(refs, ref.String())
		}
		if got := strings.Join(refs, " "); got != c.want || d.Validate().Err() != nil {
			t.Errorf("%s: %s, %v", name, got, d.Validate().Err())
		}
	}
}

// The second release of a repository has the files of the first, with the version in their names.
func TestLocationOfNextRelease(t *testing.T) {
	d, err := ParseUnhashed([]byte(doc("packages", "", "package_location", `{"type":"github","package_name":"acme/notes","version":"v1.0.1"}`,
		"file_hashes", `{"github:Acme/notes/v1.0.0/notes-1.0.0-linux.tar.gz":"sha256:x","github:acme/notes/v1.0.0/LICENSE":"","github:acme/other/v1/a":"","x":1}`)))
	if err != nil || d.Validate().Err() != nil || len(d.Packages) != 2 || d.Packages[0].Identifier != "github:Acme/notes/v1.0.1/notes-1.0.1-linux.tar.gz" ||
		d.Packages[1].Identifier != "github:acme/notes/v1.0.1/LICENSE" {
		t.Errorf("%v: %+v", err, d)
	}
}
