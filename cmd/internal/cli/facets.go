package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// facetFlags are the flags of all commands that install facets.
type facetFlags struct {
	dir       string
	asJSON    bool
	yes       bool            // upgrade has a flag of its own
	whole     bool            // all lines of what changes are shown
	noted     map[string]bool // facets of which it was shown, with the question, what is not installed
	unmanaged []unmanagedJSON // skills that adopt found
	choices   []facet.Item    // what add found, and nobody chose
	o         facets.Options
}

// register adds the flags. With begin, --global makes the directory if there is none.
func (f *facetFlags) register(a *app.App, c *cobra.Command, begin bool) {
	addProjectFlags(a, c, &f.dir, begin)
	a.AllowFlags(c)
	f.addReviewFlags(c)
	app.LogKeyFlag(c, &f.o.Log)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print what changed and the evidence as one JSON document")
	c.Flags().BoolVar(&f.o.Offline, "offline", false, "fetch nothing; use what is locked and in the store")
	c.Flags().BoolVar(&f.o.Servers.Skip, "no-servers", false,
		"neither pin servers that facets declare nor write them into clients' files")
	c.Flags().BoolVar(&f.o.Force, "force", false,
		"replace and delete files that were edited since, or that are in the way")
	c.Flags().Int64Var(&f.o.Limits.Packed, "max-packed", 0, "largest archive, in `bytes` (default 64 MiB)")
	c.Flags().Int64Var(&f.o.Limits.Unpacked, "max-unpacked", 0,
		"largest contents of an archive, in `bytes` (default 512 MiB)")
}

// addYesFlag adds --yes, which lets servers that facets declare be started and locked without a
// question.
func (f *facetFlags) addYesFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.yes, "yes", false,
		"consent without being asked to start servers that facets declare, and to what they show, and to what runs "+
			"of skills; of 'add' also to what changes of a facet that is locked; not to ask hosts that files of the "+
			"checkout name (--allow-host)")
}

// askAboutServers makes the flow ask about servers that facets declare.
func askAboutServers(a *app.App, c *cobra.Command, h *host.Host, f *facetFlags) {
	f.o.Servers.Begin = func(facet string, s project.Server) (bool, error) {
		a.Bars.Stop()
		fmt.Fprintf(a.Stderr, "%s declares the server %s: %s\n", surface.Escape(facet), surface.Escape(s.Name),
			surface.Escape(strings.Join(append([]string{s.Command + s.Source}, s.Arguments...), " ")))
		showPreview(a.Stderr, kind.PreviewOf(h, s))
		for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
			fmt.Fprintf(a.Stderr, "  environment %s=%s\n", surface.Escape(name), surface.Escape(s.Environment[name]))
		}
		if f.yes {
			return true, nil
		}
		answer, err := a.Ask(c.Context(), "Start it, to see what it shows?")
		return answer == host.InformedConsent, err
	}
	f.o.Servers.Pin.Confirm = func(p *pin.Pinned) (host.Consent, error) {
		a.Bars.Stop()
		showPin(a, a.Stderr, p)
		if f.yes {
			return host.StandingConsent, nil
		}
		return a.Ask(c.Context(), "Lock this?")
	}
}

// runInstallation runs a flow that installs facets, and prints its result.
func runInstallation(a *app.App, f *facetFlags,
	flow func(c *cobra.Command, h *host.Host, args []string) (*facets.Installation, error),
) func(*cobra.Command, []string) error {
	return a.Reporting(&f.asJSON, func(c *cobra.Command, args []string) error {
		collectRarely()
		h, err := a.Host(f.dir)
		if err != nil {
			return err
		}
		if err := a.LogOptions(c, &f.o.Log); err != nil {
			return err
		}
		f.o.Progress, f.o.Repositories = a.Bars.Fetching, &git.Shared{}
		defer f.o.Repositories.Close()
		askAboutServers(a, c, h, f)
		f.askAboutChanges(c.Context(), a)
		out, err := flow(c, h, args)
		a.Bars.Stop()
		if f.asJSON {
			result := installResult(out, err)
			result.Unmanaged, result.Choices = f.unmanaged, f.choices
			return a.WriteJSON(result, err)
		}
		if out != nil && err == nil {
			a.WriteWarnings(out.Verdict, slices.DeleteFunc(out.Verdict.Warnings(), func(f policy.Finding) bool {
				return !slices.Contains([]evidence.Scheme{evidence.Status, evidence.Finding, evidence.Tag},
					f.Evidence.Scheme)
			}))
			err = errors.Join(app.WriteNotes(a.Stderr, out.Verdict), showInstallation(a.Stdout, a.Stderr, out, f))
		}
		return err
	})
}

func installCommand(a *app.App) *cobra.Command {
	var f facetFlags
	c := &cobra.Command{
		Use:     "install",
		Short:   "Install the facets of hallmark.toml as they are locked",
		Example: "\n--frozen",
		Long: `Bring the project to what hallmark.toml and hallmark.lock say: the contents of each facet
are hashed again, wherever they come from, compared with the lock, the registry and the
archive itself, and only then written where the clients look for them. Files that were
edited since are kept and named.

With --frozen the lock is the only authority and is not written: a facet that it does not
cover, or that does not reproduce its integrity, is refused.`,
		Args: app.Args(cobra.NoArgs),
	}
	c.RunE = runInstallation(a, &f, func(c *cobra.Command, h *host.Host, _ []string) (*facets.Installation, error) {
		return facets.Install(c.Context(), h, f.dir, f.o)
	})
	f.register(a, c, false)
	f.addYesFlag(c)
	c.Flags().BoolVar(&f.o.Frozen, "frozen", false, "take the lock as the only authority, and do not write it")
	return c
}

const addHelp = `Add a facet of the registry, of a git repository or of a directory. The requirement is
1.2.3, 1.2.*, 1.*, * or latest; without one it is the newest major version. A facet of the
registry is locked only if the registry confirms it, and its log proves it, now. If the
facet is locked already, you see what changes and are asked, also if only its tag was
moved.

The URL may be that of a page of a code host: a directory on a branch or tag, or a SKILL.md.
The repository is asked which branch or tag it shows; hallmark.toml has the repository's URL,
and the branch, tag or commit and the directory. --git also takes git@HOST:OWNER/REPO, and
OWNER/REPO for a repository at GitHub.

A directory may also be a skill (SKILL.md) or a client's plugin: it is made a facet by the
rules of spec/facet.md, called NAME, or as it calls itself. Where there are several, or a
marketplace.json lists plugins, --skill chooses by name or by path; without it they are
listed. If something in them can run, you see it and are asked.

--existing takes skills that are installed already: it is 'hallmark adopt', with its flags.`

func addCommand(a *app.App) *cobra.Command {
	r := &addition{}
	f := &r.facetFlags
	c := &cobra.Command{
		Use:   "add NAME[@REQUIREMENT] | URL | --git URL[@TAG] [NAME] | --path DIR [NAME]",
		Short: "Add a facet to hallmark.toml, lock and install it",
		Example: "@acme/reviewer@1.*\n@acme/reviewer --registry https://registry.example.com --log-key KEY\n" +
			"--git https://git.example.com/facets.git --sub reviewer --tag v1.2.0\n--path facets/reviewer\n" +
			"--git https://git.example.com/skills.git@v2 --skill pdf --skill docx\n" +
			"https://git.example.com/acme/skills/tree/main/skills/pdf\n--git acme/skills --skill pdf",
		Long: addHelp,
		Args: app.Args(cobra.MaximumNArgs(1)),
	}
	c.RunE = runInstallation(a, f, func(c *cobra.Command, h *host.Host, names []string) (*facets.Installation, error) {
		add, page, err := r.read(c, names)
		if err != nil {
			return nil, app.Usage(c, err)
		}
		h.Sending.AllowURL(f.o.Registry)
		if add, err = facets.Locate(c.Context(), h, f.dir, page, add, f.o); err != nil {
			return nil, err
		}
		added, err := addOrChoose(a, c, h, f, add, r.skills)
		if err != nil && f.o.Registry != "" { // which hallmark.toml does not name yet
			flag := "--registry " + host.QuoteArguments([]string{f.o.Registry})
			err = namingError{err, flagNamer(c.Root(), []string{flag})}
		}
		return added, err
	})
	f.register(a, c, true)
	f.addYesFlag(c)
	c.Flags().StringVar(&f.o.Registry, "registry", "",
		"base `URL` of a registry, which is declared in hallmark.toml, with --log-key, if none is")
	c.Flags().StringArrayVar(&r.skills, "skill", nil,
		"`name` or path of a skill, plugin or facet in the repository or directory; may be given again")
	c.Flags().StringArrayVar(&r.source.Parts, "part", nil,
		"`part` of the facet that is wanted, such as 'skill pdf' or 'command review'; may be given again")
	c.Flags().BoolVar(&f.o.Prefixed, "prefix", false,
		"call its skills, agents and commands NAME-PART, as the facet is called, so that they take the place of "+
			"no others")
	r.addSourceFlags(c)
	// see addExisting
	c.Flags().Bool("existing", false, "take skills that are installed already, as 'hallmark adopt' does")
	return c
}

// addition is one call of add.
type addition struct {
	facetFlags
	source project.Facet
	skills []string
}

func (r *addition) addSourceFlags(c *cobra.Command) {
	c.Flags().StringVar(&r.source.Git, "git", "",
		"`URL` of a git repository, https or ssh, or of a directory in one as a browser shows it; URL@TAG names a "+
			"tag too")
	c.Flags().StringVar(&r.source.Tag, "tag", "", "`tag` of the repository")
	c.Flags().StringVar(&r.source.Branch, "branch", "", "`branch` of the repository")
	c.Flags().StringVar(&r.source.Commit, "commit", "", "`commit` of the repository, 40 hex digits")
	c.Flags().StringVar(&r.source.Sub, "sub", "", "`directory` of the facet in the repository")
	c.Flags().BoolVar(&r.source.Private, "private", false, "with --path: "+privateUsage)
	c.Flags().StringVar(&r.source.Path, "path", "", "`directory` of the facet, relative to the project")
}

// read returns the facet that is wanted, and the page of a code host that was given for its repository, if any.
func (r *addition) read(c *cobra.Command, names []string) (add project.Facet, page facets.Pasted, err error) {
	add = r.source
	names, err = takeAddress(&add, names)
	if err != nil {
		return add, page, err
	}
	if page, err = readGit(&add); err != nil {
		return add, page, err
	}
	if len(r.skills) > 0 && (add.Kind().HasVersions() || len(names) > 0 && len(r.skills) > 1) {
		return add, page, errors.New("--skill chooses of --git or --path, and several have names of " +
			"their own")
	}
	if len(names) > 0 {
		add.Name = names[0]
		if at := strings.LastIndexByte(names[0], '@'); at > 0 {
			if !add.Kind().HasVersions() {
				return add, page, errors.New("a facet of git or of a directory has no requirement")
			}
			add.Name = names[0][:at]
			want, err := artifact.ParseRequirement(names[0][at+1:])
			if err != nil && facet.CheckName(add.Name) {
				return add, page, err
			}
			add.Requirement = want
		}
	} else if add.Kind().HasVersions() {
		return add, page, errors.New("name a facet, or give --git or --path")
	}
	if r.source.Path != "" && c.Flags().Changed("global") {
		return add, page, errors.New("--path is a directory beside a project, and --global is for no " +
			"project: put the facet into a git repository, and give --git")
	}
	if r.o.Registry != "" && !add.Kind().HasVersions() {
		return add, page, errors.New("--registry names where a facet without --git and --path comes from")
	}
	if add.Name != "" && !facet.CheckName(add.Name) {
		return add, page, nameError(names[0], add.Name)
	}
	return add, page, nil
}

func removeCommand(a *app.App) *cobra.Command {
	var f facetFlags
	c := &cobra.Command{
		Use:     "remove NAME...",
		Short:   "Take facets out of hallmark.toml, the lock and the project",
		Example: "@acme/reviewer",
		Args:    app.Args(cobra.MinimumNArgs(1)),
	}
	c.Long = `Take facets out of hallmark.toml and hallmark.lock, and delete the files that Hallmark wrote
for clients. What was there before it stays where it lies, and so does what was edited since,
without --force, and the directory that is a facet's source.`
	c.Flags().BoolVar(&f.o.Keep, "keep", false, "delete no files; Hallmark does not check those that stay")
	c.RunE = runInstallation(a, &f, func(c *cobra.Command, h *host.Host, names []string) (*facets.Installation, error) {
		return facets.Remove(c.Context(), h, f.dir, names, f.o)
	})
	f.register(a, c, false)
	f.addYesFlag(c)
	return c
}

// showSourceNotes says what of the directories of facets is not installed.
func showSourceNotes(w io.Writer, all []facets.Change) {
	for _, f := range all {
		for _, n := range f.Notes {
			fmt.Fprintf(w, "note: %s: %s %s\n", f.Name, surface.Escape(n.What), surface.Escape(n.Why))
		}
	}
}

// showLeft names the directories of files that stay, which Hallmark no longer checks.
func showLeft(w io.Writer, left []string) {
	files := map[string]int{}
	for _, at := range left {
		files[path.Dir(at)]++
	}
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(w, "left: %s in %s: of no facet any more, and Hallmark does not check it; delete what you do "+
			"not need\n",
			evidence.Count(files[dir], "file"), surface.Escape(dir))
	}
}

// showKept names the files that stay because a user edited them.
func showKept(notes io.Writer, out *facets.Installation) {
	for _, path := range out.Kept {
		next := "--force replaces it"
		if slices.Contains(out.Unwanted, path) {
			next = "it is not installed any more: delete it if you do not need it"
		}
		fmt.Fprintf(notes, "kept: %s was edited; %s\n", surface.Escape(path), next)
	}
}

// showInstallation prints one line for each facet, and what a person must review.
func showInstallation(w, notes io.Writer, out *facets.Installation, flags *facetFlags) error {
	var lines bytes.Buffer
	for _, f := range out.Facets {
		version, source := "", ""
		if f.After != nil {
			version, source = "@"+f.After.Version, f.After.Source.String()
		} else if f.Before != nil {
			version, source = "@"+f.Before.Version, f.Before.Source.String()
		}
		fmt.Fprintf(&lines, "%-9s  %s%s  (%s)\n", f.Outcome, f.Name, version, surface.Escape(source))
	}
	if _, err := w.Write(lines.Bytes()); err != nil {
		return err
	}
	showSourceNotes(notes, slices.DeleteFunc(slices.Clone(out.Facets),
		func(c facets.Change) bool { return flags.noted[c.Name] }))
	showKept(notes, out)
	showLeft(notes, out.Left)
	for _, path := range out.Extra {
		fmt.Fprintf(notes,
			"kept: %s lies in the directory of a locked skill, and is of no facet; 'hallmark check' refuses it; move "+
				"it away\n", surface.Escape(path))
	}
	showSkippedServers(notes, out)
	showNotes(notes, out.Notes)
	for _, p := range out.Pinned {
		fmt.Fprintf(notes, "%s is pinned\n", surface.Escape(p.Name))
	}
	for _, path := range out.Clients {
		fmt.Fprintf(notes, "%s starts servers of facets by 'hallmark run'\n", surface.Escape(path))
	}
	for _, path := range out.Stopped {
		fmt.Fprintf(notes, "%s no longer starts servers of facets\n", surface.Escape(path))
	}
	if len(out.Targets) == 0 && len(out.Facets) > 0 {
		fmt.Fprintf(notes,
			"note: no client was found in the project, so that nothing was written into it; name targets under "+
				"[adapters] in %s\n", project.ConfigFile)
	}
	written, deleted := "written", "deleted"
	if flags.o.Dry {
		written, deleted = "to write", "to delete"
	}
	fmt.Fprintf(notes, "%s %s, %d %s\n", evidence.Count(len(out.Files), "file"), written, len(out.Deleted), deleted)
	return nil
}

type (
	facetJSON struct {
		Name    string             `json:"name"`
		Outcome string             `json:"outcome"`
		By      []string           `json:"brought_by,omitempty"`
		Before  *project.FacetLock `json:"before,omitempty"`
		After   *project.FacetLock `json:"after,omitempty"`
		Assets  []assetJSON        `json:"assets"`
		Unknown bool               `json:"before_unknown,omitempty"`
		// of a skill that is adopted: files in its directory that change
		Placed []assetJSON  `json:"placed,omitempty"`
		Runs   []facet.Run  `json:"runs,omitempty"`
		Parts  []string     `json:"parts,omitempty"` // as "skill NAME", of what was wrapped and was not locked
		Notes  []facet.Note `json:"notes,omitempty"`
	}
	assetJSON struct {
		Path   string        `json:"path"`
		Before digest.Digest `json:"before,omitzero"`
		After  digest.Digest `json:"after,omitzero"`
		Diff   string        `json:"diff,omitempty"`
		Unread string        `json:"unread,omitempty"` // why the text is not compared
	}
)

// installJSON is the JSON answer about installed facets. Servers are those that they declare, or did,
// Clients the changed files in which their servers are started by hallmark run, Stopped those that start none
// of them any more.
type installJSON struct {
	app.Outcome
	Written   bool               `json:"written"`
	Facets    []facetJSON        `json:"facets"`
	Targets   []string           `json:"targets"`
	Files     []string           `json:"files"`
	Deleted   []string           `json:"deleted"`
	Kept      []string           `json:"kept"`
	Left      []string           `json:"left"`
	Extra     []string           `json:"extra"`
	Servers   []serverChangeJSON `json:"servers"`
	Pinned    []string           `json:"pinned"`
	Clients   []string           `json:"clients"`
	Stopped   []string           `json:"stopped"`
	Notes     []noteJSON         `json:"notes"`
	Unmanaged []unmanagedJSON    `json:"unmanaged,omitempty"`
	Choices   []facet.Item       `json:"choices,omitempty"` // what there is to add, where nothing was chosen
}

func installResult(out *facets.Installation, err error) installJSON {
	result := installJSON{Facets: []facetJSON{}}
	if out == nil {
		out = &facets.Installation{}
	}
	result.Outcome = app.OutcomeOf(out.Verdict, err)
	result.Written = out.Written
	for _, f := range out.Facets {
		j := facetJSON{f.Name, f.Outcome, f.By, f.Before, f.After, []assetJSON{}, f.BeforeUnknown, nil, f.Runs, f.Parts,
			f.Notes}
		for _, x := range f.Assets {
			j.Assets = append(j.Assets, assetJSON(x))
		}
		for _, x := range f.Placed {
			j.Placed = append(j.Placed, assetJSON(x))
		}
		result.Facets = append(result.Facets, j)
	}
	result.Pinned, result.Clients = []string{}, append([]string{}, out.Clients...)
	for _, p := range out.Pinned {
		result.Pinned = append(result.Pinned, p.Name)
	}
	result.Notes = notesResult(out.Notes)
	list := func(s []string) []string { return append([]string{}, s...) }
	result.Targets, result.Files, result.Deleted, result.Kept, result.Extra = list(out.Targets), list(out.Files),
		list(out.Deleted), list(out.Kept), list(out.Extra)
	result.Left, result.Stopped = list(out.Left), list(out.Stopped)
	result.Servers = serverChanges(out.ServerChanges)
	return result
}

// statusJSON is a facet of list and outdated.
type statusJSON struct {
	Name     string             `json:"name"`
	Declared string             `json:"declared,omitempty"`
	Locked   *project.FacetLock `json:"locked,omitempty"`
	Wanted   string             `json:"wanted,omitempty"`
	Newest   string             `json:"newest,omitempty"`
	Outdated *bool              `json:"outdated,omitempty"`
	Rollback bool               `json:"rollback,omitempty"`
	Files    *int               `json:"files,omitempty"`
	Present  *int               `json:"present,omitempty"`
	Edited   int                `json:"edited,omitempty"`
	Servers  []listedServerJSON `json:"servers,omitempty"`
}

// listedServerJSON is a locked server of a facet that list shows.
type listedServerJSON struct {
	Name     string             `json:"name"`
	Declared string             `json:"declared"`
	Current  string             `json:"current,omitempty"`
	Locked   project.ServerLock `json:"locked"`
}

func listedServers(all []facets.ServerStatus) (out []listedServerJSON) {
	for _, s := range all {
		out = append(out, listedServerJSON{s.Name, s.Declared, s.Current, *s.Locked})
	}
	return out
}

type statusResult struct {
	app.Outcome
	Facets  []statusJSON       `json:"facets"`
	Servers []serverStatusJSON `json:"servers,omitempty"`
	Waived  []string           `json:"waived,omitempty"`
	Notes   []noteJSON         `json:"notes,omitempty"`
}

const listHelp = `List the facets that hallmark.toml declares or hallmark.lock has, how many of their
files are installed and were edited since, and the servers of theirs that are locked; then
what hallmark.toml opts out of, and what clients do not get of the facets. Nothing is
fetched, and nothing is compared with the lock: 'hallmark check' does that.`

func listCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:               "list",
		Short:             "List the facets of the project",
		Long:              listHelp,
		Args:              app.Args(cobra.NoArgs),
		ValidArgsFunction: completeDeclared,
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, _ []string) error {
			found, err := facets.List(c.Context(), h, dir)
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(listResult(found), nil)
			}
			if err := showListed(a.Stdout, found); err != nil {
				return err
			}
			showNotes(a.Stderr, found.Notes)
			return nil
		})),
	}
	addProjectFlags(a, c, &dir, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as one JSON document")
	return c
}

func listResult(found facets.Listing) statusResult {
	r := statusResult{Outcome: app.OutcomeOf(policy.Verdict{}, nil), Facets: []statusJSON{},
		Waived: found.Waived, Notes: notesResult(found.Notes)}
	for _, s := range found.Facets {
		r.Facets = append(r.Facets,
			statusJSON{Name: s.Name, Declared: s.Declared, Locked: s.Locked, Files: &s.Files,
				Present: &s.Present, Edited: s.Edited, Servers: listedServers(s.Servers)})
	}
	return r
}

// showListed prints a line for each facet and for each of its servers, and what hallmark.toml opts out of.
func showListed(w io.Writer, found facets.Listing) error {
	for _, s := range found.Facets {
		version := "(not locked)"
		if s.Locked != nil {
			version = s.Locked.Version
		}
		declared := s.Declared
		declared = cmp.Or(declared, "brought along")
		edited := ""
		if s.Edited > 0 {
			edited = fmt.Sprintf(", %d edited", s.Edited)
		}
		if _, err := fmt.Fprintf(w, "%s  %s  %s  %d of %s%s\n", s.Name, version,
			surface.Escape(declared), s.Present, evidence.Count(s.Files, "file"), edited); err != nil {
			return err
		}
		for _, server := range s.Servers {
			if _, err := fmt.Fprintf(w, "  server %s  %s  %s\n", server.Name,
				surface.Escape(server.Declared), surface.Escape(shownVersion(server.Current))); err != nil {
				return err
			}
		}
	}
	return printWaived(w, found.Waived)
}
