package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// runWords say what a kind of what runs is.
var runWords = map[facet.RunKind]string{
	facet.RunAllowed: "permits", facet.RunCommand: "runs", facet.RunFile: "reads",
	facet.RunScript: "is a program", facet.RunUnread: "is not understood",
}

// showParts prints what a facet delivers, if that is several things: of a repository that is a plugin one may want
// less.
func showParts(w io.Writer, c facets.Change) {
	if len(c.Parts) < 2 {
		return
	}
	names := map[string][]string{}
	for _, part := range c.Parts {
		kind, name, _ := strings.Cut(part, " ")
		names[kind] = append(names[kind], name)
	}
	fmt.Fprintf(w, "\n%s (%s) delivers, in %s of %s bytes:\n", c.After.Subject(c.Name),
		surface.Escape(c.After.Source.String()), evidence.Count(len(c.After.Assets), "file"), evidence.Group(c.Size))
	for _, kind := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(w, "  %s: %s\n", evidence.Count(len(names[kind]), kind),
			surface.Escape(strings.Join(names[kind], ", ")))
	}
	if len(names["skill"]) > 1 {
		fmt.Fprintln(w, "  one of the skills alone: the same command with --skill NAME")
	}
}

// Limits of what is shown of one facet unless all is asked for: what it permits must not be drowned by its programs.
const (
	programsShown = 40
	runLinesShown = 200
)

// showRuns prints what runs of a facet, once it is installed: its programs last, and whole or no more than the first.
func showRuns(w io.Writer, c facets.Change, whole bool) {
	if len(c.Runs) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s (%s) brings along, for models and clients to run:\n", c.After.Subject(c.Name),
		surface.Escape(c.After.Source.String()))
	var lines, programs []string
	for _, r := range c.Runs {
		if r.Kind == facet.RunScript {
			programs = append(programs, runLines(r)...)
		} else {
			lines = append(lines, runLines(r)...)
		}
	}
	show := func(all []string, limit int, what string) {
		shown := all
		if !whole {
			shown = all[:min(len(all), limit)]
		}
		for _, line := range shown {
			fmt.Fprintf(w, "  %s\n", line)
		}
		if n := len(all) - len(shown); n > 0 {
			fmt.Fprintf(w, "  … and %s; --whole shows all\n", evidence.Count(n, "more "+what))
		}
	}
	show(lines, runLinesShown, "line")
	show(programs, programsShown, "program")
}

// runLines are the lines that say what runs: of a text of several lines each below the first.
func runLines(r facet.Run) []string {
	first := surface.Escape(r.Path) + "  " + runWords[r.Kind]
	of := ""
	if len(r.Clients) > 0 {
		of = "  (" + strings.Join(r.Clients, ", ") + ")"
	}
	text := strings.Split(r.Text, "\n")
	if len(text) == 1 {
		if r.Text != "" {
			first += "  " + surface.Escape(r.Text)
		}
		return []string{first + of}
	}
	lines := []string{first + of}
	for _, line := range text {
		lines = append(lines, "    "+surface.Escape(strings.TrimSuffix(line, "\r")))
	}
	return lines
}

// splitTag takes the tag from URL@TAG: what follows the last @ of the URL's path.
func splitTag(f *project.Facet) error {
	u, err := url.Parse(f.Git)
	if err != nil || u.Host == "" {
		return nil // which is no URL of a repository, and is refused as such
	}
	at := strings.LastIndexByte(f.Git, '@')
	if at < len(f.Git)-len(u.EscapedPath()) || !strings.HasSuffix(f.Git, u.EscapedPath()) {
		return nil
	}
	if f.Tag != "" || f.Branch != "" || f.Commit != "" {
		return errors.New("URL@TAG names a tag; leave out --tag, --branch and --commit")
	}
	f.Git, f.Tag = f.Git[:at], f.Git[at+1:]
	return nil
}

// addOrChoose adds what a directory is or, where skills are named, it is a list of plugins or brings nothing itself,
// what is chosen of it.
func addOrChoose(a *app.App, c *cobra.Command, h *host.Host, f *facetFlags, add project.Facet,
	skills []string) (*facets.Installation, error) {
	var own error // why it is not what is added
	if len(skills) == 0 {
		out, err := facets.Add(c.Context(), h, f.dir, add, f.o)
		if !errors.Is(err, facet.ErrNoForm) && !errors.Is(err, facet.ErrMarket) && !errors.Is(err, facet.ErrNothing) ||
			add.Name != "" || f.o.Offline && add.Git != "" {
			return out, err
		}
		own = err
	}
	items, err := facets.Find(c.Context(), h, f.dir, add, f.o)
	if err != nil {
		return nil, err
	}
	a.Bars.Stop()
	var chosen []facet.Item
	if len(skills) == 0 {
		if errors.Is(own, facet.ErrNothing) {
			items = slices.DeleteFunc(items, func(x facet.Item) bool { return x.Path == "." && x.Origin == nil })
		}
		if len(items) == 0 {
			return nil, own
		}
		if chosen, err = askForSkills(a, c, add, items); err != nil {
			f.choices = withoutPasswords(items)
			return nil, err
		}
	}
	for _, name := range skills {
		item, err := chooseItem(items, add.Git+add.Path, name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, item)
	}
	var found []project.Facet
	f.o.Named = add.URL()
	for _, item := range chosen {
		of, err := itemFacets(c, h, f, add, item, items)
		if err != nil {
			return nil, err
		}
		found = append(found, of...)
	}
	return facets.AddFound(c.Context(), h, f.dir, found, f.o)
}

// withoutPasswords are items as they may be shown.
func withoutPasswords(items []facet.Item) []facet.Item {
	shown := slices.Clone(items)
	for i, item := range items {
		if item.Origin != nil {
			origin := *item.Origin
			origin.URL = artifact.RedactURLs(origin.URL)
			shown[i].Origin = &origin
		}
	}
	return shown
}

// chooseItem is the item at a path, or the only one that is called name, whose copies do not count; what a marketplace
// lists comes before what is part of that.
func chooseItem(items []facet.Item, where, name string) (facet.Item, error) {
	var found []facet.Item
	var paths []string
	for _, item := range items {
		if item.Path == name && name != "" && len(item.Skills) == 0 && item.Origin == nil {
			return item, nil
		}
		if item.Name == name && item.Listed && !item.Empty {
			return item, nil
		}
		// what a marketplace takes from elsewhere comes last, and hides no skill
		if item.Name == name && !item.Copy && (item.Path != "" || len(found) == 0) {
			found, paths = append(found, item), append(paths, item.Path)
		}
	}
	outer := func(of facet.Item) bool { // a plugin is often called as a skill of it
		return !slices.ContainsFunc(found, func(x facet.Item) bool {
			return of.Path != "." && x.Path != of.Path && !strings.HasPrefix(x.Path, of.Path+"/")
		})
	}
	if i := slices.IndexFunc(found, outer); i >= 0 {
		return found[i], nil
	}
	if len(found) == 0 {
		return facet.Item{}, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
			"'hallmark add --git URL', or --path, lists what there is; --sub names a directory of it",
			fmt.Errorf("no such skill in %s", surface.Escape(where)))
	}
	return facet.Item{}, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
		"give --skill one of their paths",
		fmt.Errorf("there are several that are called so: %s", surface.Escape(strings.Join(paths, ", "))))
}

// itemFacet is the declaration of an item of a directory or a repository.
func itemFacet(in project.Facet, item facet.Item) project.Facet {
	f := in
	f.Name = cmp.Or(f.Name, item.Name)
	if f.Path != "" {
		f.Path = path.Join(filepath.ToSlash(f.Path), item.Path)
	} else if f.Sub = path.Join(f.Sub, item.Path); f.Sub == "." {
		f.Sub = ""
	}
	return f
}

// itemFacets are the declarations of an item: one, or one for each skill of a plugin that has no manifest. Which branch
// or tag a plugin from elsewhere is at its repository says, whose host nobody has named.
func itemFacets(c *cobra.Command, h *host.Host, f *facetFlags, in project.Facet, item facet.Item,
	items []facet.Item) (found []project.Facet, err error) {
	switch {
	case item.Empty:
		return nil, evidence.Errorf(evidence.Validation, cmp.Or(item.Name, item.Path), facet.NothingHint,
			nothingError(item))
	case item.Origin != nil && item.Origin.Ref+item.Origin.Commit == "" && sameRepository(item.Origin.URL, in.Git):
		of := in // as it was asked for, at the directory that the list names from the root
		of.Name, of.Sub = cmp.Or(in.Name, item.Name), strings.TrimPrefix(item.Origin.Sub, ".")
		return []project.Facet{of}, nil
	case item.Origin != nil:
		of, err := facets.LocateOrigin(c.Context(), h, f.dir, *item.Origin, item.Name, f.o)
		if in.Name != "" {
			of.Name = in.Name
		}
		return []project.Facet{of}, err
	case len(item.Skills) == 0:
		return []project.Facet{itemFacet(in, item)}, nil
	}
	for _, at := range item.Skills {
		i := slices.IndexFunc(items, func(x facet.Item) bool { return x.Path == at && len(x.Skills) == 0 })
		if i < 0 {
			continue // which is in another skill
		}
		found = append(found, itemFacet(in, items[i]))
	}
	return found, nil
}

// listItems prints what there is, and returns what has a number: what is part of what a marketplace lists, and copies,
// are only counted.
func listItems(w io.Writer, items []facet.Item) (shown []facet.Item) {
	parts, copies := 0, 0
	for _, item := range items {
		switch {
		case item.Copy:
			copies++
		case item.Within != "":
			parts++
		default:
			shown = append(shown, item)
		}
	}
	for i, item := range shown {
		fmt.Fprintf(w, "%4d  %-6s  %s  (%s)%s\n", i+1, item.Form, nameOr(item.Name, "without a name"),
			surface.Escape(placeOf(item)), describe(item))
	}
	if parts > 0 {
		fmt.Fprintf(w, "      and %s of these, each of which --skill NAME adds alone\n", evidence.Count(parts, "part"))
	}
	if copies > 0 {
		fmt.Fprintf(w, "      and in other directories %s with the same name and files\n",
			evidence.Count(copies, "skill"))
	}
	return shown
}

// askForSkills lists what there is and asks which of it is meant, by number or name. Without a terminal it says which
// command adds one, and is refused.
func askForSkills(a *app.App, c *cobra.Command, in project.Facet, items []facet.Item) (chosen []facet.Item, err error) {
	where := surface.Escape(in.Git + in.Path)
	shown := listItems(a.Stderr, items)
	if !slices.ContainsFunc(shown, func(x facet.Item) bool { return !x.Empty }) {
		return nil, evidence.Errorf(evidence.Validation, where, facet.NothingHint,
			errors.New("holds nothing that can be installed here"))
	}
	if !term.IsTerminal(int(a.Stdin.Fd())) {
		return nil, chooseError(where, in, shown, items)
	}
	answer, err := a.ReadAnswer(c.Context(), "\nWhich of them? (numbers or names, 'all', or nothing) ")
	if err != nil {
		return nil, err
	}
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		if n, err := strconv.Atoi(word); err == nil && 1 <= n && n <= len(shown) {
			chosen = append(chosen, shown[n-1])
			continue
		}
		if word == "all" { // of what can be had
			for _, item := range shown {
				if !item.Empty {
					chosen = append(chosen, item)
				}
			}
			continue
		}
		item, err := chooseItem(items, in.Git+in.Path, word)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, item)
	}
	if len(chosen) == 0 {
		return nil, chooseError(where, in, shown, items)
	}
	return chosen, nil
}

// sameRepository reports whether a marketplace names its own repository.
func sameRepository(listed, own string) bool {
	p, err := facets.ParsePasted(listed)
	return err == nil && own != "" && strings.TrimSuffix(p.URL, ".git") == strings.TrimSuffix(own, ".git")
}

// placeOf is where an item is, for people.
func placeOf(item facet.Item) string {
	switch {
	case item.Origin != nil:
		return strings.Join(slices.DeleteFunc([]string{artifact.RedactURLs(item.Origin.URL), item.Origin.Sub},
			func(s string) bool { return s == "" }), " ")
	case item.Path == "":
		return "elsewhere"
	case len(item.Skills) > 0:
		return item.Path + ", " + evidence.Count(len(item.Skills), "skill")
	}
	return item.Path
}

// chooseError is the refusal to choose for the person, with the command that adds the first of the items shown that its
// name alone chooses.
func chooseError(where string, in project.Facet, shown, items []facet.Item) error {
	from := "--path " + in.Path
	if in.Git != "" {
		from = "--git " + in.Git
		for _, flag := range [][2]string{
			{"tag", in.Tag}, {"branch", in.Branch}, {"commit", in.Commit}, {"sub", in.Sub},
		} {
			if flag[1] != "" {
				from += " --" + flag[0] + " " + flag[1]
			}
		}
	}
	skill := ""
	for _, x := range shown {
		if _, err := chooseItem(items, "", x.Name); err == nil && !x.Empty && x.Name != "" {
			skill = x.Name
			break
		}
	}
	holds := fmt.Sprintf("%d skills, plugins or facets", len(shown))
	if len(shown) == 1 {
		holds = "one skill, plugin or facet"
	}
	if skill == "" { // no path is put into a command line that somebody may paste
		from, skill = "NAME "+from, "PATH"
	}
	return evidence.Errorf(evidence.Refused, where,
		surface.Escape(fmt.Sprintf("say which, --skill again for each: 'hallmark add %s --skill %s'", from, skill)),
		fmt.Errorf("is none itself, and holds %s", holds))
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

// nothingError is why nothing of an item can be installed.
func nothingError(item facet.Item) error {
	if item.Why == "" {
		return facet.ErrNothing
	}
	return fmt.Errorf("%w: %s", facet.ErrNothing, surface.Escape(item.Why))
}

// describe is the beginning of what a publisher says of an item.
func describe(item facet.Item) string {
	if item.Empty {
		return "  " + nothingError(item).Error()
	}
	const most = 100
	text := []rune(item.Description)
	if len(text) == 0 {
		return ""
	}
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return "  " + surface.Escape(string(text))
}
