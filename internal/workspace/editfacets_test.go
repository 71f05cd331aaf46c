package workspace

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/project"
)

func requirement(s string) artifact.Requirement {
	r, err := artifact.ParseRequirement(s)
	if err != nil {
		panic(err)
	}
	return r
}

func TestSetFacet(t *testing.T) {
	const head = "manifest_version = 1\n"
	review := project.Facet{Name: "acme-review", Requirement: requirement("1.*")}
	kit := project.Facet{Name: "@acme/kit", Git: "https://git.example.com/kit.git", Tag: "v1.2.0", Sub: "facet"}
	for name, c := range map[string]struct {
		f        project.Facet
		in, want string // want "" is an error
	}{
		"empty file":      {review, "", head + "\n[facets]\n\"acme-review\" = \"1.*\"\n"},
		"no table":        {review, head + "# end", head + "# end\n\n[facets]\n\"acme-review\" = \"1.*\"\n"},
		"empty table":     {kit, head + "[facets] # here\n[adapters]\n", head + "[facets] # here\n\"@acme/kit\" = { git = \"https://git.example.com/kit.git\", tag = \"v1.2.0\", sub = \"facet\" }\n[adapters]\n"},
		"table":           {review, head + "[facets]\n# ours\nours = { path = \"../ours\" } # x\n\n# servers\n[providers.mcp.a]\ncommand='b'\n", head + "[facets]\n# ours\nours = { path = \"../ours\" } # x\n\"acme-review\" = \"1.*\"\n\n# servers\n[providers.mcp.a]\ncommand='b'\n"},
		"verify below":    {review, head + "[facets]\n[providers.mcp.a]\ncommand='b'\nverify.type='none'\n", head + "[facets]\n\"acme-review\" = \"1.*\"\n[providers.mcp.a]\ncommand='b'\nverify.type='none'\n"},
		"replaced":        {review, head + "[facets]\n'acme-review'   =   '*' # any\n", head + "[facets]\n'acme-review'   =   \"1.*\" # any\n"},
		"same":            {review, head + "[facets]\nacme-review = \"1.*\"\n", head + "[facets]\nacme-review = \"1.*\"\n"},
		"inline":          {review, head + "facets = { b1 = \"1.2.3\" }\n", head + "facets = { b1 = \"1.2.3\", \"acme-review\" = \"1.*\" }\n"},
		"empty inline":    {review, head + "facets = {}\n", head + "facets = { \"acme-review\" = \"1.*\" }\n"},
		"dotted":          {review, head + "facets.b1 = \"1.2.3\"\n", head + "facets.\"acme-review\" = \"1.*\"\nfacets.b1 = \"1.2.3\"\n"},
		"line ends":       {review, "manifest_version = 1\r\n[facets]\r\n", "manifest_version = 1\r\n[facets]\r\n\"acme-review\" = \"1.*\"\r\n"},
		"table of itself": {kit, head + "[facets.\"@acme/kit\"]\npath = \"x\"\n", ""},
		"version":         {project.Facet{Name: "acme-review", Requirement: requirement("1.*"), Prefix: "acme", Parts: []string{"skill pdf", "agent x"}}, head + "[facets]\nacme-review = \"*\" # any\n", head + "[facets]\nacme-review = { version = \"1.*\", prefix = \"acme\", parts = [\"skill pdf\", \"agent x\"] } # any\n"},
		"bad prefix":      {project.Facet{Name: "acme-review", Requirement: requirement("1.*"), Prefix: "A"}, head, ""},
		"malformed":       {review, "manifest_version = 2\n", ""},
	} {
		got, err := SetFacet([]byte(c.in), c.f)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

func TestAddRegistry(t *testing.T) {
	const head, key = "manifest_version = 1\n", "registry.example.com+b23d8641+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs"
	const url, table = "https://registry.example.com", "\n[registry]\nurl = \"https://registry.example.com\"\n"
	for name, c := range map[string]struct{ in, url, key, want string }{
		"empty file": {"", url, "", head + table},
		"with a key": {head + "# end", url, key, head + "# end\n" + table + "log_key = \"" + key + "\"\n"},
		"facets":     {head + "[facets]\nkit = \"*\" # any\n", url, "", head + "[facets]\nkit = \"*\" # any\n" + table},
		"line ends": {"manifest_version = 1\r\n", url, "",
			"manifest_version = 1\r\n\r\n[registry]\r\nurl = \"" + url + "\"\r\n"},
		"another":   {head + "[registry]\nurl = \"https://x.example.com\"\n", url, "", ""},
		"the same":  {head + table, url, "", ""},
		"an empty":  {head + "[registry]\n", url, "", ""},
		"wrong key": {head, url, "key", ""},
		"malformed": {"manifest_version = 2\n", url, "", ""},
	} {
		got, err := AddRegistry([]byte(c.in), c.url, c.key)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

func TestUnsetFacet(t *testing.T) {
	const head = "manifest_version = 1\n"
	for name, c := range map[string]struct{ in, want string }{
		"only":     {head + "[facets]\n# kept\nkit = '*' # gone\n# kept too\n", head + "[facets]\n# kept\n# kept too\n"},
		"last":     {head + "[facets]\nb1 = '*'\nkit = { path = 'x' }", head + "[facets]\nb1 = '*'\n"},
		"inline":   {head + "facets = { kit = '*', b1 = '*' }\n", head + "facets = { b1 = '*' }\n"},
		"inline 2": {head + "facets = { b1 = '*', kit = '*' }\n", head + "facets = { b1 = '*' }\n"},
		"inline 1": {head + "facets = { kit = '*' }\n", head + "facets = { }\n"},
		"missing":  {head + "[facets]\nb1 = '*'\n", ""},
		"table":    {head + "[facets.kit]\npath = 'x'\n", ""},
	} {
		got, err := UnsetFacet([]byte(c.in), "kit")
		if name == "inline 1" {
			got = []byte(strings.ReplaceAll(string(got), "{}", "{ }"))
			got = []byte(strings.ReplaceAll(string(got), "{  }", "{ }"))
		}
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %v\n%q\nwant\n%q", name, err, got, c.want)
		}
	}
}

// Whatever stands in a file, an edit changes one line of it, and taking it back gives the
// file as it was.
func TestFacetEditsKeepTheRest(t *testing.T) {
	lines := rapid.SampledFrom([]string{
		"", "# a comment", "  # indented", "b1 = \"1.2.3\" # one", "'c2' = \"*\"", "d3 = { path = \"../d\" }   # local",
		"\t@ignored", "e4 = { git = \"https://git.example.com/e.git\", branch = \"main\" }",
	})
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("manifest_version = 1 # first\n")
		if rapid.Bool().Draw(t, "before") {
			b.WriteString("[providers.mcp.notes] # notes\ncommand = \"x\"\n\n")
		}
		b.WriteString("[facets]\n")
		seen := map[string]bool{}
		for _, line := range rapid.SliceOfN(lines, 0, 8).Draw(t, "lines") {
			if strings.HasPrefix(line, "\t@") || line != "" && !strings.Contains(line, "#") && seen[line] || strings.Contains(line, "=") && seen[line] {
				continue
			}
			seen[line] = true
			b.WriteString(line + "\n")
		}
		if rapid.Bool().Draw(t, "after") {
			b.WriteString("\n# targets\n[adapters]\ntargets = [\"dir:x\"]\n")
		}
		in := b.String()
		out, err := SetFacet([]byte(in), project.Facet{Name: "added", Requirement: requirement("2.*")})
		if err != nil {
			t.Fatalf("%v\n%s", err, in)
		}
		if len(out) != len(in)+len("\"added\" = \"2.*\"\n") {
			t.Fatalf("more than a line changed:\n%s\n%s", in, out)
		}
		back, err := UnsetFacet(out, "added")
		if err != nil || string(back) != in {
			t.Fatalf("not taken back: %v\n%s\n%s", err, in, back)
		}
	})
}
