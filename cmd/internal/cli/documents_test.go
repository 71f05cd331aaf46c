package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
)

const top = "../../../" // of the repository

// documents are the pages for users, with their text.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/start/*.md", "spec/*.md", "deploy/*.md", "examples/*.md",
		"examples/*/*.md"} {
		names, err := filepath.Glob(top + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages[strings.TrimPrefix(filepath.ToSlash(name), top)] = string(text)
		}
	}
	if len(pages) < 15 {
		t.Fatalf("%d documents", len(pages))
	}
	return pages
}

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	codeBlock = regexp.MustCompile("(?ms)^ *```[a-z]*$(.*?)^ *```$|((?:^    .*\n)+)")
	// spelled is a command line in code or in an error's hint, up to where the shell or a
	// sentence ends it.
	spelled = regexp.MustCompile(
		`(?:^|[ '"(/=])((?:hallmark-registry|hallmark|mcp-publisher|hashfile-mcp)(?: +(?:'[^']*'|[^ ` +
			`\n'"|;&<>#(){},…]+))+)`)
	anyFlag = regexp.MustCompile("^--[a-z][a-z0-9-]*")
)

// code is what a page sets as code, line by line.
func code(text string) (lines []string) {
	for _, m := range codeBlock.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(strings.ReplaceAll(m[1]+m[2], "\\\n", " "), "\n")...)
	}
	for _, m := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		lines = append(lines, strings.Join(strings.Fields(m[1]), " "))
	}
	return lines
}

// Every command and flag that the documents name is there.
func TestDocumentedCommands(t *testing.T) {
	found := 0
	for page, text := range documents(t) {
		for _, line := range code(text) {
			for _, m := range spelled.FindAllStringSubmatch(line, -1) {
				found++
				namesCommand(t, page, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d command lines were found", found)
	}
}

// quoted is a command line as hints and comments name it.
var quoted = regexp.MustCompile(
	"'((?:hallmark-registry|hallmark|mcp-publisher|hashfile-mcp)(?: +[^ '\"`\n|;&<>#(){},…]+)+)")

// So is every one that the program's own texts name.
func TestHintedCommands(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		switch filepath.Ext(name) {
		case ".go", ".html", ".yml", ".yaml", ".toml", ".sh", ".service":
		default:
			return nil
		}
		text, err := os.ReadFile(top + name)
		if err != nil {
			return err
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			found++
			namesCommand(t, name, m[1])
		}
		return nil
	})
	if err != nil || found < 50 {
		t.Errorf("%d command lines were found: %v", found, err)
	}
}

// namesCommand requires that a program has a command and the flags that are named with it.
// Its arguments may be left out.
func namesCommand(t *testing.T, page, line string) {
	t.Helper()
	words := handOver(shellWords(line))
	for _, define := range programs {
		root := define()
		root.InitDefaultCompletionCmd()
		if root.Name() != words[0] {
			continue
		}
		args := words[1:]
		if root.Name() == author.PublisherName {
			args = author.DoubleDashes(root, args)
		}
		c, rest, err := root.Find(args)
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		if err == nil && c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") &&
			strings.ToUpper(rest[0]) != rest[0] {
			err = app.Usage(c, cobra.NoArgs(c, rest))
		}
		if err != nil {
			t.Errorf("%s: %s: %v", page, line, err)
			return
		}
		for _, word := range rest {
			if word == "--" {
				break
			}
			if m := anyFlag.FindString(word); m != "" && c.Flags().Lookup(m[2:]) == nil &&
				c.InheritedFlags().Lookup(m[2:]) == nil {
				t.Errorf("%s: %s: no flag %s", page, line, m)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// slug leaves out what an anchor to a heading does not have.
	slug = regexp.MustCompile("[^a-z0-9 _-]")
)

// Every link between the documents leads to a file, and to a heading in it.
func TestDocumentLinks(t *testing.T) {
	pages := documents(t)
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(m[1], "#")
			name := page
			if to != "" {
				name = filepath.ToSlash(filepath.Join(filepath.Dir(page), to))
			}
			if _, err := os.Stat(top + name); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			if anchor == "" {
				continue
			}
			headed := slices.ContainsFunc(heading.FindAllStringSubmatch(pages[name], -1), func(h []string) bool {
				return strings.ReplaceAll(slug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor
			})
			if !headed {
				t.Errorf("%s: %s: no such heading", page, m[1])
			}
		}
	}
}

// Every flag that stands alone in a document is one of some command. The
// changelog is a history: what it names may be gone since, or with that entry.
func TestDocumentedFlags(t *testing.T) {
	known := map[string]bool{}
	for _, define := range programs {
		each(define(), func(c *cobra.Command) {
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			c.LocalFlags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
		})
	}
	for page, text := range documents(t) {
		if page == "CHANGELOG.md" || page == "spec/launcher.md" {
			continue // the latter is about the flags of other programs
		}
		for _, line := range code(text) {
			if name := anyFlag.FindString(line); name != "" && !known[name] {
				t.Errorf("%s: %s: no command has %s", page, line, name)
			}
		}
	}
}
