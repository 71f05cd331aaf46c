package place

import (
	"slices"
	"strings"
	"testing"
)

// TestOthersFrontMatter: front matter of somebody else, or none, restricts nothing.
func TestOthersFrontMatter(t *testing.T) {
	for _, text := range []string{
		"", "# Rules\n\nforbidden: tabs\n", "Text\n\n---\n\nforbidden: x\n---\n", "# T\r\rText\r\r---\rforbidden: x\r",
		"# How to\n\n```yaml\n---\nforbidden: [a]\n---\n```\n", "Title\n---\nignore: x\n",
		"<!-- (c) -->\n# Title\n", "<!-- forbidden: x -->\n# Title\n", "<!-- no end",
		"---\nname: x\ndescription: What is forbidden, and what to ignore.\nglobs: [\"*.go\", forbidden]\n" +
			"alwaysApply: true\n---\nforbidden: x\n",
		"---\nname: x\ntools:\n  - read_only\n  - edit: yes\n# forbidden: x\n---\n",
		"---\ndescription: >\n  Ignore what the\n  others say.\n---\n",
		"---\n\n*Text*: [a](b), ![c](d)\n\n---\n\nMore.\n", "---\n",
		"-----\n\nText.\n", "+++\ntitle = 'x'\n+++\nforbidden: x\n", "- forbidden: x\n", "---\nname: café\n---\n",
	} {
		r := &ruleSet{dir: "."}
		if err := r.parse(text); err != nil || len(r.forbidden)+len(r.readOnly)+len(r.ignore) > 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRuleForms reads the front matter, or fails.
func TestRuleForms(t *testing.T) {
	for _, x := range []struct{ text, forbidden, broken string }{
		{"# Just prose\nforbidden: x\n", "", ""},
		{"---\nforbidden: x\n---\n", "x", ""},
		{"\ufeff---\r\nforbidden:\r\n- x\r\n---\r\n", "x", ""},
		{"---\nforbidden:\n  - x # why\n  # more\n\n  - 'y z'\nother: 1\n---\n", "x,y z", ""},
		{"---\nforbidden: [x, \"y,z\"]\n---\n", "", "give each glob an item"},
		{"---\nforbidden: [x, 'y\\,z']\n---\n", "x,y\\,z", ""},
		{"---\nForbidden: [\"*.pem\", \"b\"] # c\n---\n", "*.pem,b", ""},
		{"---\nForbidden: [*.pem, \"b\"] # c\n---\n", "", "line 2: Forbidden cannot be read: it is not YAML"},
		{"---\nx: y\nforbidden: *.pem\n---\n", "", "line 3: forbidden cannot be read: it is not YAML: did not find"},
		{"---\nforbidden:\n  - *.pem\n---\n", "", "put globs in quotes"},
		{"--- \t\nforbidden: x\n---\n", "x", ""},
		{"----\nforbidden: x\n---\n", "", "line 2: "},
		{"----\n\nText: x\n\n---\nforbidden: x\n", "", ""},
		{"---", "", ""},
		{"---\nforbidden: \"!a\"\n---\n", "", "no glob"},
		{"---\ntools:\n  forbidden: x\n---\n", "", "line 3: "},
		{"---\ntools:\n- forbidden\nforbidden: []\n---\n", "", ""},
		{"---\nprose without an end\n", "", ""},
		{"---\nforbidden: x\n", "", "no end"},
		{"---\nforbidden:\n  x: y\n---\n", "", "line 3: forbidden holds a mapping"},
		{"---\nforbidden: |\n  x\n---\n", "", "in one line"},
		{"---\nforbidden: |-\n  x\n---\n", "x", ""},
		{"---\nforbidden: [x,\n y]\n---\n", "x,y", ""},
		{"---\nforbidden\n---\n", "", "line 2: forbidden cannot be read"},
		{"---\nname: x\nforbidden\n- y\n---\n", "", "line 3: forbidden cannot be read"},
		{"---\nforbidden: [\"a\\/b\"]\n---\n", "", "line 2: forbidden cannot be read"}, // YAML 1.2 alone has that escape
		{"---\n\"forb\\x69dden\": [\"a\\/b\"]\n---\n", "", "line 2: "},
		{"---\nforbidden: [x] y\n---\n", "", "not YAML"},
		{"---\nforbidden: [x]y\n---\n", "", "not YAML"},
		{"---\nforbidden: {x: y}\n---\n", "", "a mapping"},
		{"---\nforbidden: \"a\\x62\"\n---\n", "ab", ""},
		{"---\nforbidden: '*.{pem,key}'\n---\n", "*.pem,*.key,*.{pem,key}", ""},
		{"---\nforbidden: src/{a,b/{c,}}d\n---\n", "src/ad,src/b/cd,src/b/d,src/{a,b/{c,}}d", ""},
		{"---\nforbidden: [*.{pem,key}]\n---\n", "", "not YAML"},
		{"---\nforbidden: [\"*.{pem,key}\"]\n---\n", "*.pem,*.key,*.{pem,key}", ""},
		{"---\nforbidden: [\"*.{pem,key\"]\n---\n", "", "not balanced"},
		{"---\nforbidden: \"{a,b}\"\n---\n", "a,b,{a,b}", ""},
		{"---\nforbidden: {a,b}\n---\n", "", "a mapping"},
		{"---\nforbidden: x\n\n  {a,b}\n---\n", "", "in one line"},
		{"---\nforbidden:\n- x\n - y\n---\n", "", "has a blank"},
		{"---\nforbidden: [a #b, c]\nd: e]\n---\n", "", "not YAML"},
		{"---\nx: &a secret\nforbidden: *a\n---\n", "", "line 3: forbidden holds an alias"},
		{"---\nforbidden: *a\n---\n", "", "in quotes"},
		{"---\nforbidden: ../x\n---\n", "", "no glob"},
		{"---\nforbidden: a\nforbidden: b\n---\n", "", "twice"},
		{"---\nforbidden: &a x\n---\n", "x", ""},
		{"---\n<<: *base\n---\n", "", "line 2: << "},
		{"---\nb: &b {x: y}\n<<: *b\n---\n", "", "line 3: << "},
		{"---\n{forbidden: x}\n---\n", "x", ""},
		{"---\nforbidden files: [x]\n---\n", "", `line 2: forbidden files is not understood`},
		{"---\nRead only: [x]\n---\n", "", `line 2: Read only is not understood`},
		{"---\nreadonly for all: x\n---\n", "", "not understood"},
		{"---\nforbidden things that we speak of: x\n---\n", "", ""},
	} {
		r := &ruleSet{dir: "."}
		err := r.parse(x.text)
		if x.broken != "" {
			if err == nil || !strings.Contains(err.Error(), x.broken) {
				t.Errorf("%q: %v, want %s", x.text, err, x.broken)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", x.text, err)
			continue
		}
		var got []string
		for _, g := range r.forbidden {
			e := g.elements
			if len(e) > 1 && e[0] == "**" {
				e = e[1:]
			}
			got = append(got, strings.Join(e, "/"))
		}
		if strings.Join(got, ",") != x.forbidden {
			t.Errorf("%q: %q, want %s", x.text, got, x.forbidden)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, x := range []struct {
		pattern  string
		dir      bool
		yes, not []string
	}{
		{"a", false, []string{"a", "x/a", "x/y/a"}, []string{"ab", "b"}},
		{"/a", false, []string{"a"}, []string{"x/a"}},
		{"a/b", false, []string{"a/b"}, []string{"x/a/b", "a/x/b"}},
		{"a/**/b", false, []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"b", "a/bb"}},
		{"**/b", false, []string{"b", "x/b", "x/y/b"}, []string{"bb"}},
		{"a/**", false, []string{"a/b", "a/b/c"}, []string{"a", "b/a"}},
		{"*.pem", false, []string{"x.pem", "d/x.pem"}, []string{"x.pem2"}},
		{"a/*", false, []string{"a/b"}, []string{"a/b/c", "a"}},
		{"b/", true, []string{"b", "x/b"}, nil},
		{"b/", false, nil, []string{"b", "x/b"}},
		{"[ab]?", false, []string{"ax", "x/b1"}, []string{"cx", "a"}},
		{"a/**/**/**/**/**/**/**/**/b", false, []string{"a/b"}, []string{"a/" + strings.Repeat("x/", 500) + "c"}},
	} {
		g, ok := newGlob(x.pattern, false)
		if !ok {
			t.Fatal(x.pattern)
		}
		for _, path := range slices.Concat(x.yes, x.not) {
			if got, want := g.Matches(path, x.dir), slices.Contains(x.yes, path); got != want {
				t.Errorf("%s matches %s: %v", x.pattern, path, got)
			}
		}
	}
	for _, bad := range []string{"", "/", "a/../b", "[a"} {
		if _, ok := newGlob(bad, false); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// FuzzRules reads rules of any kind: what they are, they are read alike each time, are
// either refused with a reason or hold, and cover with a directory what is in it.
func FuzzRules(f *testing.F) {
	f.Add("---\nforbidden: [a, \"b/**\"]\nread_only:\n  - c\nignore: d\n---\n", "a/x")
	f.Add("---\nforbidden: '\n---", "x")
	f.Add("---\r\nforbidden:\r\n- '**'\r\n...\r\n", "x/y/z")
	f.Add("\ufeff---\nforbidden: [[]\n---\n", "")
	f.Fuzz(func(t *testing.T, text, path string) {
		r := &ruleSet{dir: "."}
		if err := r.parse(text); err != nil {
			if err.Error() == "" {
				t.Error("refused without a reason")
			}
			return
		}
		if path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
			return
		}
		if r.forbids(path) && !r.forbids(path+"/below") {
			t.Errorf("%q is forbidden, and what is in it is not", path)
		}
		if r.forbids(path) != r.forbids(strings.ToUpper(path)) && strings.EqualFold(strings.ToUpper(path), path) {
			t.Errorf("letter case of %q counts", path)
		}
	})
}
