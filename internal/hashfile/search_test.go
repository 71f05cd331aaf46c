//go:build unix

package hashfile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
)

// TestSearchGlobs: which files globs are about, in the forms in which models write them.
func TestSearchGlobs(t *testing.T) {
	d := dir(t)
	for _, name := range []string{"a.c", "b.h", "src/a.c", "src/deep/b.c", "lib/src/c.c", "doc/src.md", ".gitignore"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(d, name)), 0o700))
		write(t, d, name, "ignored/\n")
	}
	must(t, os.Mkdir(filepath.Join(d, "ignored"), 0o700))
	write(t, d, "ignored/a.c", "x\n")
	p := serve(t, d)
	for _, c := range []struct {
		glob any
		want string
	}{
		{"*.c,*.h", "a.c b.h lib/src/c.c src/a.c src/deep/b.c"},
		{`["*.md","*.h"]`, "b.h doc/src.md"},
		{[]string{"*.md", "*.h"}, "b.h doc/src.md"},
		{"*.{md,h}", "b.h doc/src.md"},
		{"src/", "lib/src/c.c src/a.c src/deep/b.c"},
		{"/src/", "src/a.c src/deep/b.c"},
		{"./src/, *.h", "b.h src/a.c src/deep/b.c"},
		{"{doc,lib/src}/", "doc/src.md lib/src/c.c"},
		{"/src/*.c", "src/a.c"},
		{"*.c,!src", "a.c"},
		{"*.c,!src/", "a.c"},
		{"*.c,!/src", "a.c lib/src/c.c"},
		{"!*.c, !ignored, !.*", "b.h doc/src.md"},
		{"src", ""},
		{`src\a.c`, ""},
	} {
		r := p.call("search_files", arguments{"pattern": "ignored", "glob": c.glob}).ok()
		if got := strings.Join(foundIn(r), " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.glob, got, c.want)
		}
		text := r.Text
		if skipped := strings.Contains(fmt.Sprint(c.glob), "!ignored"); strings.Contains(text, "ignored/]") == skipped {
			t.Errorf("%v: what is excluded is not to be told, and what is ignored is: %s", c.glob, text)
		}
		if c.want == "" && !regexp.MustCompile(`no file here matches .*; (if|names)`).MatchString(text) {
			t.Error(text)
		}
	}
}

// TestSearchNames: names that a glob or a pattern does not mean, though it looks so, and what is said of them.
func TestSearchNames(t *testing.T) {
	top := dir(t)
	for _, name := range []string{".git", "app/[id]", "app/made", "app/sub"} {
		must(t, os.MkdirAll(filepath.Join(top, name), 0o700))
	}
	for _, name := range []string{".git/HEAD", "app/[id]/page.ts", "app/made/a.log", "app/sub/b.log", "app/caf\u0065\u0301.md"} {
		write(t, top, name, "one\ntwo\n")
	}
	write(t, top, ".gitignore", "/app/made\n*.log\n")
	write(t, top, "app/.gitignore", "!b.log\n")
	p := serve(t, filepath.Join(top, "app"))
	for _, x := range []struct {
		args arguments
		want string
	}{
		{arguments{"glob": "[id]/**"}, `brackets are a set of characters, and a name that has some is written \[name]`},
		{arguments{"glob": `\[id]/**`}, "[id]/page.ts\n[1 file]"},
		{arguments{"glob": "*.ts,.git/**"}, "page.ts\n[1 file]"},
		{arguments{"glob": ".git/**"}, "of .git nothing is searched, unless it is the path"},
		{arguments{"glob": "caf\u00e9.*"}, "[1 file]"},
		{arguments{"glob": "*.log"}, "sub/b.log\n[1 file]\n[not searched: ignored by .gitignore: made/]\n"},
		{arguments{"pattern": `one\ntwo`}, "[the pattern holds a line end"},
		{arguments{"pattern": `one\\ntwo`}, "[0 hits in 0 files; 4 files searched]\n[not searched"},
	} {
		if r := p.call("search_files", x.args).ok(); !strings.Contains(r.Text, x.want) {
			t.Errorf("%v: %s, want %s", x.args, r.Text, x.want)
		}
	}
}

// TestSearchAnswer: whatever the files hold, an answer has at most 64,000 bytes, and all hits are counted.
func TestSearchAnswer(t *testing.T) {
	d := dir(t)
	long := strings.Repeat("a long name\x01 ", 15)
	must(t, os.Mkdir(filepath.Join(d, long), 0o700))
	for i := range 400 {
		writeAll(t, d, fmt.Sprintf("%s/%s%d", long, long, i), strings.Repeat(strings.Repeat("{}", 199)+"\n", 9),
			fmt.Sprintf("%s/%d latin", long, i), "\xfc\n", fmt.Sprintf("%s/%d binary", long, i), "\x00\n")
	}
	p := serve(t, d)
	for _, args := range []arguments{{"context": 10, "max_results": 1000}, {"max_results": 1000}, {"max_results": 1},
		{"pattern": "}$", "max_results": 1000, "context": 10, "ignore_case": true}} {
		if args["pattern"] == nil {
			args["pattern"] = "^"
		}
		text := p.call("search_files", args).ok().Text
		if len(text) > 64_000 || args["max_results"] == 1 && len(text) > 16_000 {
			t.Errorf("%v: %d bytes", args, len(text))
		}
		for _, want := range []string{"[3600 hits in 400 files; 400 files searched; ", " other files]\n",
			"\n[not searched: not UTF-8: ", " more]\n[not searched: ", "\n[not searched: binary: ", " more]\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in %.300s", args, want, text[strings.Index(text, "[3"):])
			}
		}
	}
}

// TestSearchEncodings: a byte order mark is not a character of its line, and a picture is told from text that is not
// UTF-8.
func TestSearchEncodings(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "bom", "\ufeffone\ntwo\n", "latin", "gr\xfc\xdf\n", "picture", "\x89PNG\r\n\x1a\n\x00",
		"utf16", "\xff\xfeo\x00n\x00e\x00")
	serve(t, d).search("^one$").ok().says("==> bom <==\n", "|\ufeffone\n[1 hit in 1 file; 1 file searched]\n",
		"[not searched: not UTF-8: latin, utf16]\n", "[not searched: binary: picture]\n")
}

// TestSearchWords: a pattern of words of ASCII, where words of other letters are meant.
func TestSearchWords(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "a.txt", "un caf\u00e9 noir\ncaf\u00e9x\n", "b.txt", "gr\u00f6\u00dfe = 1\n", "c.txt", "plain words\n")
	p := serve(t, d)
	const words = `\pL\pM\pN_`
	for _, x := range []struct{ pattern, hits, give string }{
		{"\\bcaf\u00e9\\b", "1 hit in 1 file", "(?:^|$|[^" + words + "])caf\u00e9(?:^|$|[^" + words + "])"},
		{`gr\w+ =`, "0 hits", "gr[" + words + "]+ ="},
		{`gr[\w-]{3} =`, "0 hits", "gr[" + words + "-]{3} ="},
		{`\bno such\b`, "0 hits", ""},
		{`\bplain\b`, "1 hit in 1 file", ""},
		{"caf\u00e9\\w?", "2 hits in 1 file", ""},
		{`\\bplain`, "0 hits", ""},
		{"\\bun\\b \\bcaf\u00e9\\b", "0 hits", "(?:^|$|[^" + words + "])un caf\u00e9(?:^|$|[^" + words + "])"},
		// What is optional between words must be there: "caf\u00e9 ?noir" would match "caf\u00e9noir", too.
		{"caf\u00e9\\b ?\\bnoir", "0 hits", "caf\u00e9 noir"},
		{"caf\u00e9\\b\\s*?noir", "0 hits", "caf\u00e9\\s+noir"},
		{"un ?caf\u00e9\\b {0,2}noir", "0 hits", "un ?caf\u00e9 noir"},
		{"\\bun\\b\\s+\\bcaf\u00e9\\b", "0 hits", "(?:^|$|[^" + words + "])un\\s+caf\u00e9(?:^|$|[^" + words + "])"},
	} {
		text := p.search(x.pattern).ok().Text
		if !strings.Contains(text, "["+x.hits) || strings.Contains(text, "letters of ASCII") != (x.give != "") ||
			x.give != "" && !strings.Contains(text, "with those of all languages give "+x.give+"]\n") {
			t.Errorf("%s: %s", x.pattern, text)
		}
		if x.give != "" {
			p.search(x.give).ok().says("[1 hit in 1 file; 3 files searched]")
		}
	}
}

// TestSearchCut: of a search that ended early nothing is said to be missing, nor is it looked for again.
func TestSearchCut(t *testing.T) {
	ask := engine.SearchRequest{Only: func(string) bool { return true }}
	for _, in := range []searchArguments{{Glob: []string{"*.go"}}, {Pattern: `\bx\.y\b`, Glob: []string{"*.go"}}} {
		got := (&Server{}).explainHits(t.Context(), nil, in, ask, &engine.Found{Cut: "it ended"})
		if len(got) != 1 || got[0] != "it ended; there may be more" {
			t.Errorf("%+v: %q", in, got)
		}
	}
}
