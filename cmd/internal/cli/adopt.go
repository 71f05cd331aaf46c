package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// adopter is one run of 'hallmark adopt'.
type adopter struct {
	a     *app.App
	f     facetFlags
	all   bool
	with  bool // private files
	undo  bool
	into  string
	git   project.Facet
	found *facets.Found
	free  []facets.FoundSkill // of no locked facet
	page  facets.Pasted       // of which git is
}

// privateUsage describes the flag that takes private files of a directory along.
const privateUsage = "include files that only you can read, or that are named like secrets (.env, *.pem, id_rsa)"

func adoptCommand(a *app.App) *cobra.Command {
	r := adopter{a: a}
	c := &cobra.Command{
		Use:   "adopt [PATH...]",
		Short: "Start managing skills that are already installed",
		Example: "\n.claude/skills/pdf\n--all --yes\n--all --dry-run\n" +
			".claude/skills/pdf --git https://git.example.com/skills.git@v2",
		Long: `Find skills in the directories of the project's clients that no lock manages. Choose some
at the prompt, by their directories, or with --all: Hallmark declares, locks and installs
them, all or none. Their files stay as they are. If a client would get other files, or a
skill can run something, you see that first and are asked.

Their source is a copy in skills/NAME of the project, or below --into. With --git it is a
repository that has the same skills; you see where it differs.

If you edited a locked skill in place and its source is a directory, name it again: you see
the difference, and it is copied into that directory and locked. --undo takes skills out of
the lock: their files stay, and the copies are deleted. Files that were replaced with your
consent are not brought back.`,
		Args: app.Args(cobra.ArbitraryArgs),
	}
	c.RunE = runInstallation(a, &r.f, r.run)
	r.f.register(a, c, true)
	r.f.addYesFlag(c)
	c.Flags().BoolVar(&r.all, "all", false, "adopt all skills that are found")
	c.Flags().BoolVar(&r.undo, "undo", false, "take skills, by name or directory, out of the lock again")
	c.Flags().BoolVar(&r.with, "private", false, privateUsage)
	c.Flags().StringVar(&r.into, "into", "", "`directory` of the project, below which the skills are copied (default "+
		"skills)")
	c.Flags().StringVar(&r.git.Git, "git", "", "`URL` of a git repository that has the skills, instead of a copy; "+
		"URL@TAG names a tag too")
	c.Flags().StringVar(&r.git.Sub, "sub", "", "`directory` of the skill in the repository")
	return c
}

// run finds the skills and adopts those that are chosen.
func (r *adopter) run(c *cobra.Command, h *host.Host, paths []string) (*facets.Installation, error) {
	if err := r.checkFlags(c, paths); err != nil {
		return nil, err
	}
	if r.undo {
		return r.undoAdoption(c, h, paths)
	}
	git, err := facets.Locate(c.Context(), h, r.f.dir, r.page, r.git, r.f.o)
	if err != nil {
		return nil, err
	}
	if r.git = git; r.page.IsPage() {
		if err := r.checkSub(c, paths); err != nil {
			return nil, err
		}
	}
	chosen, err := r.choose(c, h, paths)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	what := facets.Adopted{Skills: chosen, Into: r.into, Private: r.with}
	if r.git.Git != "" {
		if what.Git, err = r.findInGit(c, h, chosen); err != nil {
			return nil, err
		}
	}
	return facets.Adopt(c.Context(), h, r.f.dir, what, r.f.o)
}

// checkFlags checks the flags before anything is read.
func (r *adopter) checkFlags(c *cobra.Command, paths []string) error {
	switch into := filepath.ToSlash(r.into); {
	case into == "":
		r.into = "skills"
	case !filepath.IsLocal(r.into) || path.Clean(into) == ".":
		return app.Usage(c, errors.New("--into is a directory below the project's"))
	default:
		r.into = path.Clean(into)
	}
	switch {
	case r.undo && (len(paths) == 0 || r.all || r.with || r.git.Git != "" || c.Flags().Changed("into")):
		return app.Usage(c, errors.New("--undo takes names or directories of skills, and no source"))
	case r.all && len(paths) > 0:
		return app.Usage(c, errors.New("--all and PATH are two ways to choose"))
	case r.git.Git != "" && c.Flags().Changed("into"):
		return app.Usage(c, errors.New("--git and --into are two sources"))
	}
	var err error
	if r.page, err = readGit(&r.git); err != nil {
		return app.Usage(c, err)
	}
	return r.checkSub(c, paths)
}

// checkSub is an error if a directory of one skill is named, and several are adopted.
func (r *adopter) checkSub(c *cobra.Command, paths []string) error {
	if r.git.Sub != "" && (r.git.Git == "" || len(paths) != 1) {
		return app.Usage(c, errors.New("--sub, and a URL with a directory, is that of one skill, PATH, in the "+
			"repository of --git"))
	}
	return nil
}

// choose finds the skills and returns those that are meant; none if there is nothing to adopt.
func (r *adopter) choose(c *cobra.Command, h *host.Host, paths []string) (chosen []facets.FoundSkill, err error) {
	if r.found, err = facets.FindUnmanaged(c.Context(), h, r.f.dir, r.with); err != nil {
		return nil, err
	}
	for _, at := range r.found.Linked {
		fmt.Fprintf(r.a.Stderr, "note: %s is a link, or lies behind one, and is passed over\n", surface.Escape(at))
	}
	for _, variable := range r.found.Outside {
		fmt.Fprintf(r.a.Stderr, "note: %s names a directory outside of the home directory; what lies there is "+
			"passed over\n", variable)
	}
	for _, s := range r.found.Skills {
		if s.Edited && len(paths) == 0 {
			next := "'" + host.QuoteArguments([]string{"hallmark", "adopt", s.Dirs[0]}) + "' shows the difference " +
				"and takes it into the lock"
			if !s.InPlace {
				next = "'hallmark install --force' puts back what is locked" // where its source cannot take it
			}
			fmt.Fprintf(r.a.Stderr, "note: %s was edited since it was locked; %s\n", surface.Escape(s.Dirs[0]), next)
		}
		if s.Facet == "" {
			r.free = append(r.free, s)
			r.f.unmanaged = append(r.f.unmanaged, newUnmanagedJSON(s))
		}
	}
	for _, at := range paths {
		s, err := r.atPath(at)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(o facets.FoundSkill) bool { return o.Dirs[0] == s.Dirs[0] }) {
			chosen = append(chosen, s)
		}
	}
	switch {
	case len(paths) > 0:
		return chosen, nil
	case len(r.free) == 0:
		where := "no directory of a client was found"
		if len(r.found.Where) > 0 {
			where = "no skill lies in " + surface.Escape(strings.Join(r.found.Where, ", ")) +
				" that is of no locked facet"
		}
		fmt.Fprintf(r.a.Stderr, "nothing to adopt: %s\n", where)
		return nil, nil
	case r.all:
		return r.free, r.othersError()
	}
	return r.ask(c)
}

// undoAdoption undoes the adoption of skills, by their names or directories.
func (r *adopter) undoAdoption(c *cobra.Command, h *host.Host, words []string) (out *facets.Installation, err error) {
	if r.found, err = facets.FindUnmanaged(c.Context(), h, r.f.dir, false); err != nil {
		return nil, err
	}
	var names []string
	for _, word := range words {
		name := word
		if !facet.CheckName(word) {
			s, err := r.atPath(word)
			if err != nil {
				return nil, err
			}
			name = s.Name
		}
		names = append(names, name)
	}
	return facets.UndoAdoption(c.Context(), h, r.f.dir, names, r.f.o)
}

// atPath is the skill in a directory.
func (r *adopter) atPath(name string) (facets.FoundSkill, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return facets.FoundSkill{}, err
	}
	for _, full := range []string{full, filepath.Join(r.found.Dir, name)} { // as it is, and as we name it
		real := host.RealPath(full)
		for _, s := range r.found.Skills {
			for _, at := range s.Dirs {
				if real == host.RealPath(filepath.Join(r.found.Dir, filepath.FromSlash(at))) {
					return s, nil
				}
			}
		}
	}
	named := func(s facets.FoundSkill) bool { return s.Name == name }
	if i := slices.IndexFunc(r.found.Skills, named); i >= 0 && !slices.ContainsFunc(r.found.Skills[i+1:], named) {
		return r.found.Skills[i], nil
	}
	return facets.FoundSkill{}, evidence.Errorf(evidence.Validation, name,
		"'hallmark adopt' lists what there is; 'hallmark add --path DIR' adds a skill from another directory",
		fmt.Errorf("is not the directory of a skill in %s",
			nameOr(strings.Join(r.found.Where, ", "), "a directory of a client, as none was found")))
}

// ask lists what there is and asks which of it is meant. Without a terminal it says which commands adopt them, and
// refuses.
func (r *adopter) ask(c *cobra.Command) ([]facets.FoundSkill, error) {
	if err := showUnmanaged(r.a.Stderr, r.free); err != nil {
		return nil, err
	}
	refused := evidence.Errorf(evidence.Refused, evidence.Count(len(r.free), "skill"),
		"say which: 'hallmark adopt PATH', or 'hallmark adopt --all'; --dry-run shows what would change",
		errors.New("no locked facet has them: Hallmark does not check what clients read there"))
	if r.f.asJSON || !term.IsTerminal(int(r.a.Stdin.Fd())) {
		return nil, refused
	}
	answer, err := r.a.ReadAnswer(c.Context(), "\nWhich of them? (numbers or names, 'all', or nothing) ")
	if err != nil {
		return nil, err
	}
	var chosen []facets.FoundSkill
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		if word == "all" {
			return r.free, r.othersError()
		}
		n, err := strconv.Atoi(word)
		before := len(chosen)
		for i, s := range r.free {
			if err == nil && n == i+1 || err != nil && strings.EqualFold(word, s.Name) {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == before {
			return nil, evidence.Errorf(evidence.Validation, word, "answer with numbers or names of the list",
				errors.New("is none of the skills"))
		}
	}
	if len(chosen) == 0 {
		return nil, refused
	}
	return chosen, nil
}

// othersError is the error for the first skill that cannot be adopted, with the command that adopts those that can.
func (r *adopter) othersError() error {
	args := []string{"hallmark", "adopt"}
	var first error
	for _, s := range r.free {
		if s.Err == nil {
			args = append(args, s.Dirs[0])
		} else if first == nil {
			first = s.Err
		}
	}
	if first == nil || len(args) == 2 {
		return nil // which adopting it says
	}
	hint := "'" + host.QuoteArguments(args) + "' adopts the others"
	if problem, ok := errors.AsType[*evidence.Error](first); ok {
		explained := *problem
		if explained.Hint != "" {
			hint = explained.Hint + "; or " + hint
		}
		explained.Hint = hint
		return &explained
	}
	return evidence.Errorf(evidence.ClassOf(first), "", hint, first)
}

// showUnmanaged lists skills, and why some cannot be adopted.
func showUnmanaged(w io.Writer, all []facets.FoundSkill) error {
	var b bytes.Buffer
	for i, s := range all {
		fmt.Fprintf(&b, "%4d  %s  (%s)%s\n", i+1, surface.Escape(s.Name), surface.Escape(strings.Join(s.Dirs, ", ")),
			describe(facet.Item{Description: s.Description}))
		if s.Called != "" {
			fmt.Fprintf(&b, "      calls itself %s; it is adopted as %s\n", surface.Escape(s.Called),
				surface.Escape(s.Name))
		}
		if s.From != "" {
			fmt.Fprintf(&b, "      was got from %s; '%s' keeps that as its source\n", surface.Escape(s.From),
				host.QuoteArguments([]string{"hallmark", "adopt", s.Dirs[0], "--git", s.From}))
		}
		if s.Err != nil {
			why, _, _ := strings.Cut(s.Err.Error(), "\n") // without the hint, which choosing it shows
			fmt.Fprintf(&b, "      cannot be adopted: %s\n", surface.Escape(why))
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// findInGit is the declaration of each skill in the repository.
func (r *adopter) findInGit(c *cobra.Command, h *host.Host,
	chosen []facets.FoundSkill) (out []project.Facet, err error) {
	if r.git.Sub != "" {
		f := r.git
		f.Name = chosen[0].Name
		return []project.Facet{f}, nil
	}
	items, err := facets.Find(c.Context(), h, r.f.dir, r.git, r.f.o)
	if err != nil {
		return nil, err
	}
	for _, s := range chosen {
		named := slices.DeleteFunc(slices.Clone(items), func(x facet.Item) bool {
			return x.Form != facet.FormSkill || x.Listed
		})
		for i := range named { // a directory is what a skill is called here
			if path.Base(named[i].Path) == s.Name {
				named[i].Name = s.Name
			}
		}
		item, err := chooseItem(named, r.git.Git, s.Name)
		if err != nil {
			return nil, err
		}
		f := itemFacet(r.git, item)
		f.Name = s.Name
		out = append(out, f)
	}
	return out, nil
}

// unmanagedJSON is a skill in clients' directories that belongs to no locked facet. Error is why it cannot be adopted.
type unmanagedJSON struct {
	Name        string   `json:"name"`
	Directories []string `json:"directories"`
	Called      string   `json:"called,omitempty"`
	From        string   `json:"from,omitempty"` // the repository that another program got it from
	Error       string   `json:"error,omitempty"`
}

func newUnmanagedJSON(s facets.FoundSkill) unmanagedJSON {
	j := unmanagedJSON{Name: s.Name, Directories: s.Dirs, Called: s.Called, From: s.From}
	if s.Err != nil {
		j.Error = s.Err.Error()
	}
	return j
}
