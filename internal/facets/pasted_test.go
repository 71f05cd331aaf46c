package facets

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/project"
)

const aCommit = "0123456789abcdef0123456789abcdef01234567"

// TestParsePasted: what is understood of a text, as "URL|commit|refs|path|directory"; "error", or "refused" if it stays as it
// is and is refused as a repository's URL.
func TestParsePasted(t *testing.T) {
	const page = "https://git.example.com/acme/kit"
	for text, want := range map[string]string{
		// repositories
		"acme/kit":                             model.RegistryURLGitHub + "/acme/kit||||",
		"acme/.kit.x_y-z":                      model.RegistryURLGitHub + "/acme/.kit.x_y-z||||",
		"acme/kit@v1":                          model.RegistryURLGitHub + "/acme/kit@v1||||", // the tag is taken from any URL
		"git@git.example.com:acme/kit.git":     "ssh://git@git.example.com/acme/kit.git||||",
		"git@git.example.com:/acme/kit.git@v1": "ssh://git@git.example.com/acme/kit.git@v1||||",
		"git@git.example.com:~a/kit":           "ssh://git@git.example.com/~a/kit||||",
		page:                                   page + "||||",
		page + ".git":                          page + ".git||||",
		page + "/":                             page + "/||||",
		"https://git.example.com/acme/tree/main/kit.git": "https://git.example.com/acme/tree/main/kit.git||||",
		"ssh://git@git.example.com/acme/kit/tree/main":   "ssh://git@git.example.com/acme/kit/tree/main||||",
		"": "||||",

		// pages
		page + "/tree/main":                                    page + "|||main|",
		page + "/tree/main/":                                   page + "|||main|",
		page + "/tree/main/skills/pdf":                         page + "|||main/skills/pdf|",
		page + "/tree/feature%2Fx/my%20skill":                  page + "|||feature/x/my skill|",
		page + "/tree/main/packages/@acme/x":                   page + "|||main/packages/@acme/x|",
		page + "/tree/main/x?tab=readme-ov-file#use":           page + "|||main/x|",
		page + "/tree/refs/heads/main/x":                       page + "||heads|main/x|",
		page + "/tree/refs/tags/v1/x":                          page + "||tags|v1/x|",
		page + "/tree/" + aCommit + "/skills/pdf":              page + "|" + aCommit + "|||skills/pdf",
		page + "/blob/main/skills/pdf/SKILL.md?plain=1#L3":     page + "|||main/skills/pdf|",
		page + "/blob/main/SKILL.md":                           page + "|||main|",
		page + "/blob/main/kit/facet.json":                     page + "|||main/kit|",
		page + "/blob/main/kit/.claude-plugin/plugin.json":     page + "|||main/kit|",
		page + "/blob/" + aCommit + "/SKILL.md":                page + "|" + aCommit + "|||",
		page + "/src/branch/main/skills/pdf":                   page + "||heads|main/skills/pdf|",
		page + "/src/tag/v1/skills/pdf/SKILL.md":               page + "||tags|v1/skills/pdf|",
		page + "/src/commit/" + aCommit + "/x":                 page + "|" + aCommit + "|||x",
		"https://git.example.com/a/b/c/-/tree/main/x":          "https://git.example.com/a/b/c|||main/x|",
		"https://git.example.com/a/b/-/tree/v1?ref_type=tags":  "https://git.example.com/a/b||tags|v1|",
		"https://git.example.com/a/b/-/blob/main/x/SKILL.md":   "https://git.example.com/a/b|||main/x|",
		"https://git.example.com:8443/acme/kit/tree/main/sk/é": "https://git.example.com:8443/acme/kit|||main/sk/é|",

		// pages that show nothing to add
		page + "/blob/main/README.md":          "error",
		page + "/src/commit/0123abc/x":         "error",
		page + "/tree/main/../../x":            "error",
		page + "/tree/main/%2e%2e/x":           "error",
		page + "/tree/main//x":                 "error",
		page + "/tree/main/x?token=abc":        "error",
		page + "/-/tree/":                      "error",
		page + "/tree/main/x?ref_type=a":       "error",
		page + "/tree/main/x%zz":               "refused",
		"https://-oX.example.com/a/b/tree/m":   "refused",
		"https://a:b@git.example.com/a/b/tree": "refused",

		// nothing of this becomes a repository
		"-oProxyCommand=touch x":                        "refused",
		"-oProxyCommand=x@git.example.com:a/b":          "refused",
		"git@-oProxyCommand=x:a/b":                      "refused",
		"git@-oProxyCommand:a/b":                        "refused",
		"git@git.example.com:-x":                        "refused",
		"git@git.example.com:../x":                      "refused",
		"git@git.example.com:a/../../x":                 "refused",
		"git@git.example.com:a b":                       "refused",
		"git@git.example.com:a%2e%2e":                   "refused",
		"git@git.example.com:a\n/b":                     "refused",
		"gïtt@git.example.com:a/b":                      "refused",
		"git:secret@git.example.com:a/b":                "refused",
		"https://user:secret@git.example.com/a/b":       "refused",
		"https://user@git.example.com/a/b/tree/main":    "refused",
		"ssh://git:secret@git.example.com/a/b":          "refused",
		"ssh://-oProxyCommand=x/a/b":                    "refused",
		"http://git.example.com/acme/kit/tree/main":     "refused",
		"file:///srv/kit":                               "refused",
		"file:///a/b/tree/main":                         "refused",
		"ext::sh -c x":                                  "refused",
		"ext::git@git.example.com:a/b":                  "refused",
		"/srv/kit":                                      "refused",
		"./kit":                                         "refused",
		"../kit":                                        "refused",
		"acme/..":                                       "refused",
		"acme/.":                                        "refused",
		"a.b/kit":                                       "refused",
		"acme/kit/x":                                    "refused",
		"acme/kit x":                                    "refused",
		"acmé/kit":                                      "refused",
		"acme/k\u202eit":                                "refused",
		"acme/kit\x00":                                  "refused",
		"-acme/kit":                                     "refused",
		"https://git.example.com/acme/kit?x=y":          "refused",
		"https://git.example.com/a/b\n/tree/main":       "refused",
		"https://git.example.com/acme/kit#readme":       "refused",
		"https://git.example.com\\@b.example.com/a/b/c": "refused",
	} {
		p, err := ParsePasted(text)
		got := strings.Join([]string{p.URL, p.Commit, p.Refs, strings.Join(p.Path, "/"), p.Sub}, "|")
		switch refused := (project.Facet{Git: p.URL}).Check(); {
		case err != nil:
			got = "error"
		case refused != nil:
			got = "refused"
			if p.URL != text && !strings.Contains(text, "/tree/") {
				t.Errorf("%q became %q, which is refused", text, p.URL)
			}
		}
		if got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestPastedWith: what flags say beside the URL of a page agrees with it, or is refused.
func TestPastedWith(t *testing.T) {
	const page = "https://git.example.com/acme/kit"
	type facet = project.Facet
	for _, c := range []struct {
		url   string
		given facet
		want  string // "branch|tag|commit|directory"
	}{
		{"/tree/main/x", facet{Branch: "main"}, "main|||x"},
		{"/tree/main/x/y", facet{Tag: "main/x"}, "|main/x||y"},
		{"/tree/main", facet{Branch: "main", Sub: "x"}, "main|||x"},
		{"/tree/main/x", facet{Branch: "main", Sub: "x"}, "main|||x"},
		{"/tree/main/x", facet{Branch: "main", Sub: "y"}, "error"},
		{"/tree/main/x", facet{Branch: "mai"}, "error"},
		{"/tree/main/x", facet{Branch: "v1"}, "error"},
		{"/tree/main/x", facet{Commit: aCommit}, "error"},
		{"/tree/main/x", facet{Branch: "main", Tag: "main"}, "error"},
		{"/src/branch/main/x", facet{Tag: "main"}, "error"},
		{"/src/tag/v1/x", facet{Branch: "v1"}, "error"},
		{"/tree/" + aCommit + "/x", facet{}, "||" + aCommit + "|x"},
		{"/tree/" + aCommit + "/x", facet{Commit: aCommit}, "||" + aCommit + "|x"},
		{"/tree/" + aCommit, facet{Sub: "x"}, "||" + aCommit + "|x"},
		{"/tree/" + aCommit + "/x", facet{Tag: "v1"}, "error"},
		{"/tree/" + aCommit + "/x", facet{Sub: "y"}, "error"},
	} {
		p, err := ParsePasted(page + c.url)
		if err != nil {
			t.Fatal(err)
		}
		_, f, err := p.With(c.given)
		got := strings.Join([]string{f.Branch, f.Tag, f.Commit, f.Sub}, "|")
		if err != nil {
			got = "error"
		}
		if got != c.want || f.Git != page {
			t.Errorf("%s beside %+v: %s, %v; want %s", c.url, c.given, got, err, c.want)
		}
	}
}

// TestPastedChoose: the longest name that the repository has is the branch or tag, the rest is the directory.
func TestPastedChoose(t *testing.T) {
	for _, c := range []struct {
		url, refs, sub string // refs are what the repository has
		want           string // "branch|tag|directory"
	}{
		{"/tree/main/skills/pdf", "heads/main", "", "main||skills/pdf"},
		{"/tree/a/b/c", "heads/a tags/a/b", "", "|a/b|c"},
		{"/tree/a/b/c", "heads/a/b/c", "", "a/b/c||"},
		{"/tree/a/b/c", "heads/a/b/c/d heads/ab", "", "error"},
		{"/tree/v1/x", "tags/v1", "x", "|v1|x"},
		{"/tree/v1", "tags/v1", "x", "|v1|x"},
		{"/tree/v1/x", "tags/v1", "y", "error"},
		{"/tree/v1/x", "tags/v1 heads/v1", "", "error"},
		{"/src/tag/v1/x", "tags/v1", "", "|v1|x"},
		{"/tree/-x/y", "heads/-x", "", "error"},
		{"/tree/x%20y/y", "heads/x", "", "error"},
	} {
		p, err := ParsePasted("https://git.example.com/acme/kit" + c.url)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for ref := range strings.FieldsSeq(c.refs) {
			found["refs/"+ref] = aCommit
		}
		f, err := p.choose(project.Facet{Git: p.URL, Sub: c.sub}, found)
		got := f.Branch + "|" + f.Tag + "|" + f.Sub
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s of %q: %s, %v", c.url, c.refs, got, err)
		}
	}
	// what may be an option, or a pattern of git, is not asked for
	p := Pasted{URL: "https://git.example.com/acme/kit", Path: []string{"--upload-pack=x", "*", "a"}}
	if names := p.refNames(); len(names) > 0 {
		t.Errorf("asks for %q", names)
	}
}
