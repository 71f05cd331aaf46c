// Site writes the documents of this repository as a static site, without scripts and without anything from elsewhere:
//
//	go run -C tools ./site [-out bin/site]
//
// Links between documents become links between pages; those to other files of the repository lead to its source. A link
// to a page, heading or file that is not there is an error, and then nothing is kept.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// source is where files of the repository that are no documents can be read.
const source = "https://github.com/hallmark-mcp/hallmark/blob/main/"

func main() {
	out := flag.String("out", filepath.Join("bin", "site"), "directory to write to, below the checkout; emptied first")
	flag.Parse()
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err == nil {
		err = write(strings.TrimSpace(string(root)), *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// section is pages that the navigation shows together.
type section struct {
	title string
	files []string // patterns, in the order of their pages
}

// sections are all pages, each in the first section that one of whose patterns is its name.
var sections = []section{
	{"Start", []string{"README.md", "docs/install.md", "docs/start/*.md", "docs/protect.md"}},
	{"Guides", []string{"docs/servers.md", "docs/facets.md", "docs/plugin-host.md", "docs/hashfile.md", "docs/ci.md",
		"docs/registry.md", "docs/operating.md", "docs/ledger.md"}},
	{"Look up", []string{"docs/commands.md", "docs/troubleshooting.md", "docs/faq.md", "docs/policy.md",
		"docs/clients.md", "docs/scan.md", "docs/*.md"}},
	{"Formats", []string{"spec/*.md"}},
	{"The project", []string{"SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs/decisions/*.md",
		"npm/*/README.md"}},
}

// write makes the site in the directory out of root.
func write(root, out string) error {
	pages, order, err := read(root)
	if err != nil {
		return err
	}
	files := os.DirFS(root)
	var dead []error
	for _, name := range order {
		for _, link := range pages[name].links {
			if err := checkLink(files, pages, name, link); err != nil {
				dead = append(dead, err)
			}
		}
	}
	if len(dead) > 0 {
		return errors.Join(dead...)
	}
	to := filepath.Join(root, out)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for _, name := range order {
		file := filepath.Join(to, filepath.FromSlash(pageOf(name)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		html, err := render(pages, order, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(file, html, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%d pages in %s\n", len(order), out)
	return nil
}

// read reads all documents, in the order of the navigation.
func read(root string) (pages map[string]*page, order []string, err error) {
	files := os.DirFS(root)
	pages = map[string]*page{}
	for _, s := range sections {
		for _, pattern := range s.files {
			names, err := fs.Glob(files, pattern)
			if err != nil {
				return nil, nil, err
			}
			// What leads to the others of its directory comes first.
			slices.SortStableFunc(names, func(a, b string) int { return isIndex(b) - isIndex(a) })
			for _, name := range names {
				if pages[name] != nil {
					continue
				}
				text, err := fs.ReadFile(files, name)
				if err != nil {
					return nil, nil, err
				}
				pages[name] = parse(name, text)
				pages[name].section = s.title
				order = append(order, name)
			}
		}
	}
	return pages, order, nil
}

func isIndex(name string) int {
	if path.Base(name) == "README.md" {
		return 1
	}
	return 0
}

// pageOf is the file of the site for a document.
func pageOf(name string) string {
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// checkLink says what is wrong with a link of a document, whose target is relative to it.
func checkLink(files fs.FS, pages map[string]*page, from, link string) error {
	target, anchor, _ := strings.Cut(link, "#")
	name := from
	if target != "" {
		name = path.Join(path.Dir(from), target)
	}
	to := pages[name]
	if to == nil {
		if _, err := fs.Stat(files, name); err != nil {
			return fmt.Errorf("%s: %s: no such file", from, link)
		}
		return nil
	}
	if anchor != "" && !to.headings[anchor] {
		return fmt.Errorf("%s: %s: no such heading", from, link)
	}
	return nil
}
