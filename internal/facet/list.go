package facet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Limits of a list.
const (
	maxListDepth = 8    // directories above the file by which one is known
	maxItems     = 2000 // directories that are something
)

// Item is a directory that can be added: a facet, a plugin or a skill.
type Item struct {
	Form        Form   `json:"form"`
	Name        string `json:"name"`                  // of its facet; "" if it says none
	Path        string `json:"path"`                  // "." for the directory that was listed
	Description string `json:"description,omitempty"` // as its publisher wrote it

	Empty bool   `json:"empty,omitempty"` // a plugin that delivers nothing that can be installed here
	Why   string `json:"why,omitempty"`   // it is empty
	Copy  bool   `json:"copy,omitempty"`  // a skill of the name and contents of one before it

	// Of what a marketplace lists:
	Listed bool     `json:"listed,omitempty"`
	Origin *Origin  `json:"origin,omitempty"` // where it is, if elsewhere: it has no path then
	Skills []string `json:"skills,omitempty"` // paths of skills, which are what is meant, as there is no manifest
	Within string   `json:"within,omitempty"` // the name of the listed plugin that this one is part of
}

// List is what is in d: first what a marketplace lists, in its order, then all else, sorted by path. The skills of a
// plugin are there beside it, as one may want only them; what lies in the folder of a skill is not, unless that folder
// is d. What does not say its name has that of its directory.
func List(d Dir) ([]Item, error) { return ListContext(context.Background(), d) }

// ListContext is [List] that ends when ctx is done.
func ListContext(ctx context.Context, d Dir) ([]Item, error) {
	w := newListing(d)
	all, dirs := d.layout(), map[string]bool{}
	known := []string{ManifestFile, SkillFile}
	for _, f := range pluginFormats {
		known = append(known, f.file)
	}
	for p := range w.files {
		for _, file := range known {
			if at, ok := strings.CutSuffix("/"+p, "/"+file); ok && strings.Count(at, "/") <= maxListDepth {
				dirs[path.Clean(strings.TrimPrefix(at, "/"))] = true
			}
		}
	}
	var items []Item
	for _, dir := range sortedKeys(dirs) {
		form, file, _ := all.in(dir).form(NewestWrapRule)
		if form == "" || inSkill(items, dir) {
			continue
		}
		if len(items) == maxItems {
			return nil, tooManyItems(len(dirs))
		}
		item, err := w.describe(dir, form, file)
		if err != nil {
			return nil, err
		}
		if form == FormPlugin {
			if of := d.in(dir); of.isEmpty() {
				_, err := Wrap(of, "none")
				item.Empty, item.Why = true, whyNothing(err)
			}
		}
		if item.Name == "" {
			item.Name = facetName(path.Base(dir))
		}
		items = append(items, item)
	}
	if err := markCopies(ctx, d, items); err != nil {
		return nil, err
	}
	return w.listMarket(all, append(items, w.looseAssets(all, items)...)), nil
}

// looseAssets says of the agents and commands of a repository, and of its directories for clients such as .claude, that
// nothing among items has them. Where there are no items, the error for that says it.
func (w *wrapping) looseAssets(all layout, items []Item) (loose []Item) {
	if len(items) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range sortedKeys(w.files) {
		for _, kind := range []string{"agents", "commands"} {
			dir, _, found := strings.Cut("/"+p, "/"+kind+"/")
			dir = path.Clean(strings.TrimPrefix(dir, "/"))
			if !found || path.Ext(p) != ".md" || dir[0] != '.' || strings.Contains(dir, "/") || seen[dir] {
				continue
			}
			seen[dir] = true
			if form, _, _ := all.in(dir).form(NewestWrapRule); form == "" {
				loose = append(loose, Item{Form: FormPlugin, Path: dir, Empty: true,
					Why: "its agents and commands belong to no plugin; " + makePlugin})
			}
		}
	}
	return loose
}

// markCopies marks the skills that have the name and the contents of one before them: people commit one skill for
// each of their clients. One that cannot be read is no copy of anything.
func markCopies(ctx context.Context, d Dir, items []Item) error {
	named := map[string][]int{}
	for i, item := range items {
		if item.Form == FormSkill && item.Name != "" {
			named[item.Name] = append(named[item.Name], i)
		}
	}
	for name, all := range named {
		if len(all) == 1 {
			continue
		}
		seen := map[string]bool{} // contents
		for _, i := range all {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if contents, err := d.in(items[i].Path).contents(ctx, name); err == nil {
				items[i].Copy, seen[contents] = seen[contents], true
			}
		}
	}
	return nil
}

// contents says which files the skill of a name has with which bytes: by what names these, or else by its fingerprint.
func (d Dir) contents(ctx context.Context, name string) (string, error) {
	if d.ID == nil {
		wrapped, err := Wrap(d, name)
		if err != nil {
			return "", err
		}
		sum, _, err := tree.FacetTar(ctx, wrapped.Files, wrapped.Open, 1)
		return sum.String(), err
	}
	w := begin(WrapRule, d, name)
	if err := w.resolve(d); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range w.sorted() {
		fmt.Fprintf(&b, "%s %q\n", d.ID(w.files[p].path), p)
	}
	return b.String(), nil
}

// in is a directory of d.
func (d Dir) in(dir string) Dir {
	sub := Dir{Links: map[string]string{}, Others: map[string]string{},
		Open: func(p string) (io.ReadCloser, error) { return d.Open(path.Join(dir, p)) }}
	if d.ID != nil {
		sub.ID = func(p string) string { return d.ID(path.Join(dir, p)) }
	}
	for _, f := range d.Files {
		if rest, ok := below(f.Path, dir); ok {
			sub.Files = append(sub.Files, tree.File{Path: rest, Size: f.Size})
		}
	}
	for at, text := range d.Links {
		if rest, ok := below(at, dir); ok {
			sub.Links[rest] = text
		}
	}
	return sub
}

// isEmpty reports whether d is a plugin that delivers nothing that can be installed here. One of which this cannot be
// told is not: adding it says what is wrong.
func (d Dir) isEmpty() bool {
	w := begin(NewestWrapRule, d, "none")
	_, _, w.format = d.layout().form(NewestWrapRule)
	if w.resolve(d) != nil {
		return false
	}
	doc, err := w.readManifest()
	if err != nil {
		return false
	}
	for _, dir := range w.skillPaths(doc) {
		if len(w.findSkills(dir)) > 0 {
			return false
		}
	}
	for _, at := range slices.Concat(w.pathsOf(doc, "agents"), w.pathsOf(doc, "commands")) {
		for p := range w.files {
			if _, ok := below(p, at); (ok || p == at) && strings.HasSuffix(p, ".md") {
				return false
			}
		}
	}
	w.takeServers(doc)
	return w.manifest["servers"] == nil
}

// whyNothing is what an error says of a plugin of which a facet can have nothing.
func whyNothing(err error) string {
	var e *evidence.Error
	if !errors.Is(err, ErrNothing) || !errors.As(err, &e) {
		return ""
	}
	_, why, _ := strings.Cut(e.Err.Error(), ErrNothing.Error()+": ")
	return why
}

// newListing is d as it is looked at to list what is in it.
func newListing(d Dir) *wrapping {
	w := &wrapping{open: d.Open, files: map[string]sourceFile{}}
	for _, f := range d.Files {
		if !isLeftOut(f.Path) {
			w.files[f.Path] = sourceFile{f.Path, f.Size}
		}
	}
	return w
}

// tooManyItems is the error for a directory with more to list than anybody would look through.
func tooManyItems(count int) error {
	return evidence.Errorf(evidence.Validation, "", "name a directory further down: --sub DIR with --git, or "+
		"--path DIR",
		fmt.Errorf("holds about %s skills, plugins and facets; the limit of one list is %s",
			evidence.Group(int64(count)), evidence.Group(maxItems)))
}

// inSkill reports whether a directory lies in the folder of a skill that is listed.
func inSkill(items []Item, dir string) bool {
	for _, item := range items {
		if _, ok := below(dir, item.Path); ok && item.Form == FormSkill && item.Path != "." {
			return true
		}
	}
	return false
}

// describe is what a directory says of itself.
func (w *wrapping) describe(dir string, form Form, file string) (Item, error) {
	item := Item{Form: form, Path: dir}
	switch form {
	case FormSkill:
		h, err := w.readHead(path.Join(dir, file))
		item.Name, item.Description = facetName(h.Members["name"]), h.description("")
		return item, err
	case FormPlugin:
		doc, err := w.readDocument(path.Join(dir, file))
		if err == nil {
			name, _ := doc["name"].(string)
			item.Name = facetName(name)
			item.Description, _ = doc["description"].(string)
		}
		return item, nil // adding it says what is wrong with it
	}
	data, err := w.read(path.Join(dir, file), MaxManifest)
	if err != nil {
		return item, nil
	}
	if m, err := ParseManifest(data); err == nil {
		item.Name, item.Description = m.Name, m.Description
	}
	return item, nil
}
