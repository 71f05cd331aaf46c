package place

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestStrictValues: a value that is no list of strings, and no string that names one thing, forbids, with the line
// and what to write instead.
func TestStrictValues(t *testing.T) {
	for _, name := range []string{"forbidden", "read_only", "ignore", "Read-Only", "READONLY"} {
		for value, says := range map[string]string{
			".env, secrets/**": "give each glob an item", ".env,secrets": "give each glob an item", "'a,b'": "give each glob an item",
			".env; secrets": "give each glob an item", "['a;b']": "give each glob an item", ".env secrets/**": "give each glob an item",
			"'my file'": "in quotes", "\n  - .env secrets/**": "in quotes", "[a b]": "in quotes",
			"true": `["**"] for all`, "[true]": "in quotes", "False": "in quotes", "yes": "in quotes", "[Off]": "in quotes",
			"1": "in quotes", "[0x1f]": "in quotes", "1.5": "in quotes", "null": "in quotes", "~": "in quotes", "[~]": "in quotes",
			"[a, ]": "", "[a, , b]": "YAML", "2026-11-28": "in quotes", "[2026-11-28]": "in quotes", "!!binary YQ==": "in quotes",
			"!local a": "in quotes", "!local [a]": "a list", "<<": "in quotes",
			"{a: b}": "a mapping", "[{a: b}]": "a mapping", "[a: b]": "a mapping", "\n  a: b": "a mapping", "[[a]]": "a list",
			"\n  - - a": "a list", "[a, &x b, *x]": "an alias", "*x": "YAML", "[*.pem]": "put globs in quotes", "''": "is empty", "['']": "is empty",
			"['secrets/ .env']": "a name that begins or ends with a blank", "['a|b']": "give each glob an item", "['@(a|b)']": "give each glob",
			"$HOME/.ssh": "[$]", "[$HOME]": "[$]", "['a /b']": "blank",
			"[' a']": "blank", "['a ']": "blank", "[\"a\\n\"]": "not seen", "[\"a\\tb\"]": "not seen", "[\"a\u00a0b\"]": "not seen",
			"[\"a\\0\"]": "not seen", "[\"\\u202ea\"]": "not seen", "|\n  a\n  b": "not seen", "['!a']": "begins with !",
			`secrets\keys`: "write /", `[C:\x]`: "relative", "C:/x": "relative", "'{C:,D:}/x'": "relative", "file:///x": "relative",
			"~/x": "relative", "['~']": "relative", `'\\server\x'`: "write /", `'a\'`: "write /", "../x": "relative", "a/../b": "relative", "/": "relative",
		} {
			text := fmt.Sprintf("---\nx: y\n%s: %s\n---\n", name, value)
			s := &ruleSet{dir: "."}
			err := s.parse(text)
			if says == "" {
				if err != nil {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), "line ") || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v, want %s", text, err, says)
			}
		}
	}
}

// TestPlainValues: what YAML plainly understands holds, in whatever form.
func TestPlainValues(t *testing.T) {
	for value, path := range map[string]string{
		"a/b": "a/b", "'a/b'": "a/b", "\"a\\x2fb\"": "a/b", ">-\n  a/b": "a/b", "[x, # c\n  a/b ]": "a/b", "&v a/b": "a/b",
		"!!str 1": "1", "'true'": "true", "['2026-11-28']": "2026-11-28", "['null']": "null", "[\"~x\"]": "", "['yes']": "yes",
		"['a b/c']": "a b/c", "\n  - \"a b\" # c": "a b", `['a\,b']`: "a,b", `['a\;b']`: "a;b", `['\!a']`: "!a", `['a\*']`: "a*",
		"['[~]a']": "~a", "['a[:]b']": "a:b", "/a": "a", "'*.{pem,key}'": "x.key", "['*.{pem,key}']": "x.pem", "a/": "a/x",
		`['secrets\*']`: "secrets/x", `['secrets\\*']`: "secrets/x", `['a\\b']`: "a/b", "['.env # keys']": ".env", "['Track #1.md']": "Track #1.md",
		"[Read(./secrets/**)]": "secrets/x", "['(a)/b']": "(a)/b", "[copy(1)]": "copy(1)", "[/home/me/p/secrets]": "secrets",
		"['app/[id]/**']": "app/[id]/x", "['app/[...all]']": "app/[...all]", "['[ab]']": "b",
		"[$id.tsx]": "$id.tsx", `['a\|b']`: "a|b", "/home/me/p/a": "home/me/p/a",
		"!!seq [a]": "a", "[a/*/b]": "a/x/b", "'**'": "x",
	} {
		text := fmt.Sprintf("---\nforbidden: %s\nother: 1\n---\n", value)
		s := &ruleSet{dir: ".", real: "/home/me/p"}
		if err := s.parse(text); path == "" != (err != nil) || err == nil && !s.forbids(path) {
			t.Errorf("%q: %v, %s", text, err, path)
		}
	}
}

// TestOthersRealFrontMatter: the forms that front matter of other programs has, YAML or not, lock nobody out.
func TestOthersRealFrontMatter(t *testing.T) {
	for _, head := range []string{
		"globs: *.ts\nalwaysApply: true", "globs: *.ts,*.tsx, src/**/*.d.ts\nalwaysApply: false", "globs: \nalwaysApply: true",
		"description: Use this: that, and never the other\nglobs:", "name: x\ndescription: What to ignore: nothing; what is forbidden: all",
		"name: a\ntools: Read, Grep, mcp__x__*\nmodel: inherit\ncolor: blue", "allowed-tools: Bash(git:*), Read", "argument-hint: [file] [line]",
		"description: \"a\nb\"\nmodel: opus", "inclusion: fileMatch\nfileMatchPattern: '*.md'", "trigger: glob\nglobs: *.tsx,*.ts",
		"description: |\n  forbidden: nothing\n  ignore: this", "applyTo: '**/*.py'\nmode: agent", "imports_forbidden: [a]\nkeyword_stuffing_ignore:\n  - types",
		"name: x\nmetadata:\n  openclaw: {\"emoji\": \"x\", \"requires\": {\"bins\": [\"a\"]}}", "title: {{ title }}\ndate: 2026-11-28",
		"name: x\nexamples:\n  - <example>Context: a user asks. user: \"do: it\"</example>", "paths-ignore:\n  - docs/**", "x: &a [1, *a]",
		"permissions:\n  edit: deny\n  bash: {\"*\": ask, \"git *\": allow}", "? [a, b]\n: c", "a: b\na: c", "key: @value", "key: `value`", "\\alpha = 1\n\\beta: 2",
		"globs: *.ts\ntags:\n  - readonly\n- forbidden",
	} {
		s := &ruleSet{dir: "."}
		if err := s.parse("---\n" + head + "\n---\n\n# Text\n\nforbidden: x\n"); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
}

// TestLargeFrontMatter: no front matter takes long, and one that is beyond the limits forbids if it has a key of ours.
func TestLargeFrontMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	bomb := "a0: &a0 [x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%[1]d [*a%[2]d, *a%[2]d]\n", i+1, i)
	}
	const size = MaxRules - 100
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, x := range map[string]struct {
		text  string
		holds bool
	}{
		"10,000 items":         {"forbidden:\n" + strings.Repeat("- b\n", 10_000) + "- a\n", true},
		"1 MiB of items":       {"forbidden: [a]\nother:\n" + fill("- b\n"), false},
		"1 MiB of keys":        {"forbidden: [a]\n" + fill("kkk: v\n"), false},
		"1 MiB of text":        {"forbidden: [a]\nother: " + fill("xxxxxxxxx ") + "\n", true},
		"1 MiB of a key":       {"forbidden: [a]\n" + fill("x") + ": y\n", false},
		"1 MiB of comments":    {"forbidden: [a]\n" + fill("# c\n"), true},
		"1 MiB of brackets":    {"forbidden: [a]\nx: " + fill("[") + "\n", false},
		"1 MiB of dashes":      {"forbidden: [a]\nx:\n " + fill("- ") + "\n", false},
		"1 MiB of anchors":     {"forbidden: [a]\nx: [" + fill("&a a,") + "]\n", false},
		"1 MiB of one glob":    {"forbidden: [a, " + fill("b") + "]\n", true},
		"1 MiB of stars":       {"forbidden: [a, '" + fill("*b") + "']\n", true},
		"1 MiB of braces in a": {"forbidden: [a, '" + fill("{a,b}") + "']\n", false},
		"deep lists":           {"forbidden: [a]\nx: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", false},
		"deep globs":           {"forbidden: " + strings.Repeat("[", 200) + "a" + strings.Repeat("]", 200) + "\n", false},
		"bomb of aliases":      {bomb + "forbidden: [a]\n", false},
		"bomb in a rule":       {bomb + "forbidden: *a30\n", false},
		"alias of itself":      {"x: &x [*x]\nforbidden: [a]\n", false},
		"many fences":          {fill("---\n") + "forbidden: [a]\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			s := &ruleSet{dir: "."}
			err := s.parse("---\n" + x.text + "---\n")
			t.Logf("%v %.200v", time.Since(start), err)
			if err == nil != x.holds || err == nil && !s.forbids("a") {
				t.Errorf("%.200v", err)
			}
		})
	}
}
