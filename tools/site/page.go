package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is one document.
type page struct {
	title, section string
	source         []byte
	tree           ast.Node
	headings       map[string]bool // their anchors
	links          []string        // to files of the repository, and to headings
}

// Documents are the repository's own: comments in them, which the renderer keeps, are no danger.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// notInSlug are the characters that an anchor to a heading does not have, as GitHub makes it.
var notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors makes the anchors of one page.
type anchors map[string]bool

func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(string(value)), ""), " ", "-")
	for name, n := slug, 1; ; n++ {
		if !a[name] {
			a[name] = true
			return []byte(name)
		}
		name = slug + "-" + string(rune('0'+n))
	}
}

func (a anchors) Put(value []byte) { a[string(value)] = true }

// parse reads a document, and makes its links lead to pages and to the source.
func parse(name string, source []byte) *page {
	p := &page{title: name, source: source, headings: anchors{}}
	context := parser.NewContext(parser.WithIDs(anchors(p.headings)))
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 {
				p.title = plain(n, source)
			}
		case *ast.Link:
			n.Destination = []byte(p.follow(name, string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	return p
}

// follow is where a link of document name leads on the site, and notes those that can be dead.
func (p *page) follow(name, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link
	}
	p.links = append(p.links, link)
	target, anchor, hasAnchor := strings.Cut(link, "#")
	switch {
	case target == "":
		return link
	case !strings.HasSuffix(target, ".md"):
		return source + path.Join(path.Dir(name), target)
	}
	to := path.Join(path.Dir(target), path.Base(pageOf(path.Join(path.Dir(name), target))))
	if hasAnchor {
		to += "#" + anchor
	}
	return to
}

// plain is the text of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

//go:embed page.html
var frame string

var pageTemplate = template.Must(template.New("page").Parse(frame))

// entry is a line of the navigation.
type entry struct {
	Title, Section, Link string
	Here, First          bool
}

// render is the page of a document.
func render(pages map[string]*page, order []string, name string) ([]byte, error) {
	p := pages[name]
	var body, out bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, err
	}
	var entries []entry
	for i, other := range order {
		link, err := filepath.Rel(filepath.Dir(pageOf(name)), pageOf(other))
		if err != nil {
			return nil, err
		}
		o := pages[other]
		entries = append(entries, entry{
			Title: o.title, Section: o.section, Link: filepath.ToSlash(link), Here: other == name,
			First: i == 0 || pages[order[i-1]].section != o.section,
		})
	}
	err := pageTemplate.Execute(&out, map[string]any{
		"Title": p.title, "Body": template.HTML(body.String()), "Entries": entries,
	})
	return out.Bytes(), err
}
