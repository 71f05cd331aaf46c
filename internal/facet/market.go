package facet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// marketFiles are the lists of plugins that clients read in a repository, of which the first that is there counts.
var marketFiles = []string{
	".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json",
	".github/plugin/marketplace.json",
}

// ErrMarket is wrapped by the error for a directory that is a list of plugins, whatever it is besides.
var ErrMarket = errors.New("is a list of plugins")

// Origin is where a plugin is that a marketplace lists from elsewhere.
type Origin struct {
	URL    string `json:"url"`              // of a git repository, or OWNER/REPO
	Ref    string `json:"ref,omitempty"`    // a branch or a tag, whichever there is
	Commit string `json:"commit,omitempty"` // which counts, if there is one
	Sub    string `json:"sub,omitempty"`
}

// entry is a plugin of a marketplace.
type entry struct {
	name, description string
	dir               string   // below the directory of the marketplace; "" for one from elsewhere
	skills            []string // directories of skills, as the entry names them
	origin            *Origin
	elsewhere         string   // what the list takes it from that no facet is from, such as a package
	others            []string // its members that a facet cannot say
}

// CheckMarket is an error, which wraps [ErrMarket], if d lists plugins other than itself.
func CheckMarket(d Dir) error {
	w := newListing(d)
	if slices.ContainsFunc(w.readMarket(), func(e entry) bool {
		return e.elsewhere == "" && (e.dir != "." || len(e.skills) > 0)
	}) {
		return invalid("%w", ErrMarket)
	}
	return nil
}

// readMarket reads the list of plugins that a directory has; one that cannot be read lists nothing.
func (w *wrapping) readMarket() (entries []entry) {
	i := slices.IndexFunc(marketFiles, func(p string) bool { _, ok := w.files[p]; return ok })
	if i < 0 {
		return nil
	}
	doc, err := w.readDocument(marketFiles[i])
	if err != nil {
		return nil
	}
	metadata, _ := doc["metadata"].(map[string]any)
	base, _ := metadata["pluginRoot"].(string)
	plugins, _ := doc["plugins"].([]any)
	hasDir := func(dir string) bool {
		for p := range w.files {
			if _, ok := below(p, dir); ok {
				return true
			}
		}
		return false
	}
	for _, one := range plugins {
		of, _ := one.(map[string]any)
		if e, ok := readEntry(of, base, hasDir); ok && len(entries) < maxItems {
			entries = append(entries, e)
		}
	}
	return entries
}

// readEntry reads a plugin of a marketplace. Base is the directory below which its relative paths are, if they are
// there: lists name them from their own directory too.
func readEntry(of map[string]any, base string, hasDir func(string) bool) (e entry, ok bool) {
	text := func(of map[string]any, name string) string { s, _ := of[name].(string); return s }
	e.name, e.description = facetName(text(of, "name")), text(of, "description")
	if strict, ok := of["strict"].(bool); ok && !strict { // the entry is all that says what the plugin has
		named, _ := of["skills"].([]any)
		for _, one := range named[:min(len(named), maxPaths)] {
			if p, ok := one.(string); ok {
				e.skills = append(e.skills, p)
			}
		}
	}
	for _, member := range sortedKeys(of) {
		if !slices.Contains(descriptive, member) && !slices.Contains([]string{"skills", "source", "strict"}, member) {
			e.others = append(e.others, member)
		}
	}
	local := text(of, "source")
	source, _ := of["source"].(map[string]any)
	switch from := text(source, "source"); from {
	case "": // which is no object, or says nothing
	case "local":
		local = text(source, "path")
	case "github":
		e.origin = &Origin{URL: text(source, "repo")}
	case "url", "git-subdir":
		e.origin = &Origin{URL: text(source, "url")}
	default:
		e.elsewhere = strings.TrimSpace(fmt.Sprintf("%.50s %.100s", from, text(source, "package")))
		return e, e.name != ""
	}
	if e.origin != nil {
		e.origin.Ref, e.origin.Commit, e.origin.Sub = text(source, "ref"), text(source,
			"sha"), cleanPath(text(source, "path"))
		return e, e.name != "" && e.origin.URL != "" && e.origin.Sub != "-"
	}
	if local == "" || strings.Contains(local, ":") {
		return e, false
	}
	e.dir = cleanPath(local)
	if in := cleanPath(path.Join(base, local)); base != "" && e.dir != "." && in != "-" && hasDir(in) {
		e.dir = in
	}
	return e, e.name != "" && e.dir != "-"
}

// cleanPath is a relative path without what it does not need, "." for the directory itself, and "-" if it is none.
func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	if clean := path.Clean(p); fs.ValidPath(clean) && !strings.Contains(p, `\`) {
		return clean
	}
	return "-"
}

// listMarket puts the plugins of a marketplace before what was found in its directory, and says of the latter which is
// part of one of them, or of another plugin that comes before. What no facet is from comes last, as it cannot be had.
func (w *wrapping) listMarket(all layout, items []Item) []Item {
	var listed, elsewhere []Item
	looked := 0
	for _, e := range w.readMarket() {
		item := e.item()
		if e.elsewhere != "" {
			elsewhere = append(elsewhere, item)
			continue
		}
		if e.origin == nil {
			form, _, _ := all.in(e.dir).form(NewestWrapRule)
			named := e.skills
			if len(named) == 0 && form == "" {
				named = []string{"skills"}
			}
			item.Skills = w.namedSkills(e.dir, named, &looked)
			if item.Empty = form == "" && len(item.Skills) == 0; item.Empty {
				item.Why = e.nothing()
				if !all.hasDir(e.dir) {
					continue
				}
			}
			i := slices.IndexFunc(items, func(x Item) bool { return x.Path == e.dir })
			if form != "" && len(item.Skills) == 0 && i >= 0 {
				item.Form, item.Empty, item.Why = form, items[i].Empty, items[i].Why
				item.Description = cmp.Or(item.Description, items[i].Description)
			}
		}
		listed = append(listed, item)
	}
	if len(listed) == 0 || len(listed) == 1 && listed[0].Path == "." && len(listed[0].Skills) == 0 {
		return append(items, elsewhere...)
	}
	for _, item := range items {
		i := slices.IndexFunc(listed, func(of Item) bool { return of.has(item.Path) })
		switch {
		case i < 0:
		case len(listed[i].Skills) == 0 && listed[i].Path == item.Path: // which is the plugin itself
			continue
		default:
			item.Within = listed[i].Name
		}
		listed = append(listed, item)
	}
	return append(listed, elsewhere...)
}

// namedSkills are the skills at paths below dir. looked counts them, all files being looked through for each.
func (w *wrapping) namedSkills(dir string, paths []string, looked *int) (found []string) {
	for _, p := range paths {
		if p = cleanPath(p); p == "-" || p == "" || *looked >= maxItems {
			continue
		}
		*looked++
		for _, at := range w.findSkills(path.Join(dir, p)) {
			if !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	return found
}

// item is a plugin as its list says of it.
func (e entry) item() Item {
	x := Item{Form: FormPlugin, Name: e.name, Path: e.dir, Description: e.description, Origin: e.origin, Listed: true}
	if e.elsewhere != "" {
		x.Empty = true
		x.Why = "its list takes it from " + e.elsewhere + ", and not from a directory or a git repository"
	}
	return x
}

// nothing says why a plugin without a manifest and without skills is not installed.
func (e entry) nothing() string {
	if len(e.others) == 0 {
		return "it has no manifest and no skills"
	}
	return "it has no manifest and no skills, and " + strings.Join(e.others, ", ") + " of its list is not installed"
}

// has reports whether a directory is part of what a marketplace lists.
func (x Item) has(dir string) bool {
	switch _, below := below(dir, x.Path); {
	case x.Origin != nil:
		return false
	case x.Empty: // of which nothing below it is a part that could be had
		return dir == x.Path
	case len(x.Skills) > 0:
		return slices.Contains(x.Skills, dir)
	case x.Path == ".": // of what else is in the repository only the usual place is surely its own
		return dir == "." || strings.HasPrefix(dir, "skills/")
	default:
		return dir == x.Path || below
	}
}
