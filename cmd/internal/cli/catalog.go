package cli

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// registryFlags say which registry is looked at.
type registryFlags struct {
	dir, base string
	asJSON    bool
}

func (f *registryFlags) register(a *app.App, c *cobra.Command) {
	addProjectFlag(a, c, &f.dir)
	a.AllowFlags(c)
	c.Flags().StringVar(&f.base, "registry", "", "base `URL` of the registry (default: that of "+"hallmark.toml)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the answer as one JSON document")
}

// open returns the machine, and the registry that is named or the project's.
func (f *registryFlags) open(a *app.App) (*host.Host, project.Registry, error) {
	h, err := a.Host(f.dir)
	if err != nil {
		return nil, project.Registry{}, err
	}
	h.Sending.AllowURL(f.base)
	rules, err := trail.Rules(f.dir, f.base)
	return h, rules, err
}

func searchCommand(a *app.App) *cobra.Command {
	var f registryFlags
	var limit int
	c := &cobra.Command{
		Use:     "search WORDS...",
		Short:   "Search a registry for facets and servers",
		Example: "review\nnotes --registry https://registry.example.com",
		Long: `Search the registry of hallmark.toml, or another one, for servers and facets whose names have
the longest of the words, and whose names or descriptions have all of them. What is listed is
what the registry says, compared with nothing: 'hallmark info NAME' compares it with the
registry's log.`,
		Args: app.Args(cobra.MinimumNArgs(1)),
		RunE: a.Reporting(&f.asJSON, func(c *cobra.Command, words []string) error {
			if limit < 1 || limit > obtain.MaxSearchHits {
				return app.Usage(c, fmt.Errorf("--limit is 1 to %d", obtain.MaxSearchHits))
			}
			h, rules, err := f.open(a)
			if err != nil {
				return err
			}
			found, err := obtain.Search(c.Context(), h, rules, strings.Fields(strings.Join(words, " ")), limit)
			if err != nil {
				return err
			}
			if f.asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Registry string             `json:"registry"`
					Proven   bool               `json:"proven"`
					Found    []obtain.SearchHit `json:"found"`
					More     bool               `json:"more"`
				}{app.OutcomeOf(policy.Verdict{}, nil), rules.Name(), false,
					append([]obtain.SearchHit{}, found.Hits...),
					found.More}, nil)
			}
			return showFound(a, rules, found)
		}),
	}
	f.register(a, c)
	c.Flags().IntVar(&limit, "limit", 30, "show this `number` of servers, and of facets, at most")
	return c
}

// showFound prints a table of what was found.
func showFound(a *app.App, rules project.Registry, found *obtain.SearchResult) error {
	rows := make([][3]string, 0, len(found.Hits))
	width := [2]int{}
	for _, hit := range found.Hits {
		text := surface.Escape(clipText(hit.Description, 100))
		if hit.Status != "" && hit.Status != "active" {
			text = surface.Escape(string(hit.Status)) + "  " + text
		}
		row := [3]string{string(hit.Kind), surface.Escape(hit.Name + "@" + hit.Version), text}
		for i := range width {
			width[i] = max(width[i], len([]rune(row[i])))
		}
		rows = append(rows, row)
	}
	var b bytes.Buffer
	for _, row := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %s", width[0], row[0], min(width[1], 60), row[1], row[2])
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	if _, err := b.WriteTo(a.Stdout); err != nil {
		return err
	}
	if found.More {
		fmt.Fprintln(a.Stderr, "note: the registry has more; name more words, or a larger --limit")
	}
	fmt.Fprintf(a.Stderr, "%s in %s, which nothing proves yet; see 'hallmark info NAME'\n",
		evidence.Count(len(rows), "name"), surface.Escape(rules.Name()))
	return nil
}

// clipText is the beginning of a text.
func clipText(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func infoCommand(a *app.App) *cobra.Command {
	var f registryFlags
	var o obtain.LookOptions
	c := &cobra.Command{
		Use:     "info NAME[@VERSION]",
		Short:   "Show what a facet or server in a registry has and would run",
		Example: "@acme/reviewer\nio.github.acme/notes@1.4.0 --registry https://registry.example.com",
		Long: `Show one version of a facet or a server before you install it. A facet: its skills, agents,
commands, servers, files with their sizes, what a client may run and which tools its texts
allow. A server: its packages and their hashes. Both: who published it and when, and what
the registry found since.

The record is compared with the registry's log, and a facet's contents with the record: what
differs is refused (3), and what is not proven is said to be so. Nothing is stored.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&f.asJSON, func(c *cobra.Command, names []string) error {
			h, rules, err := f.open(a)
			if err != nil {
				return err
			}
			if err := a.LogOptions(c, &o.Log); err != nil {
				return err
			}
			o.Progress = a.Bars.Fetching
			info, err := obtain.Look(c.Context(), h, rules, names[0], o)
			a.Bars.Stop()
			if f.asJSON && info != nil {
				return a.WriteJSON(infoResult(rules, info, err), err)
			}
			if err != nil {
				return err
			}
			return showInfo(a.Stdout, rules, info)
		}),
	}
	f.register(a, c)
	app.LogKeyFlag(c, &o.Log)
	return c
}

// showInfo prints what a registry has under a name and version.
func showInfo(w io.Writer, rules project.Registry, i *obtain.LookResult) error {
	var b bytes.Buffer
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-11s %s\n", what, surface.Escape(text))
		}
	}
	fmt.Fprintf(&b, "%s %s\n", i.Kind, surface.Escape(i.Name+"@"+i.Version))
	line("registry", rules.Name())
	if i.Unproven == "" {
		line("proof", "in the registry's log")
	} else {
		line("UNPROVEN", i.Unproven)
		line("next", i.Next)
	}
	published := ""
	if !i.Published.IsZero() {
		published = i.Published.UTC().Format(time.DateTime) + "Z"
	}
	if i.Publisher != "" {
		published = strings.TrimSpace(published + "  by " + i.Publisher)
	}
	line("published", published)
	if i.Status != "active" {
		line("STATUS", strings.TrimSpace(string(i.Status)+"  "+i.Message))
	}
	for _, finding := range i.Findings {
		line("FINDING", finding)
	}
	switch {
	case i.Document != nil:
		showDocument(line, i)
	case i.Manifest != nil:
		showManifest(line, i.Manifest)
	case i.Source != nil:
		line("describes", i.Source.Description)
		line("runs", i.Source.Runtime+" "+i.Source.Entry)
	}
	showContents(line, i)
	_, err := b.WriteTo(w)
	return err
}

// showDocument prints what a server.json says of packages.
func showDocument(line func(what, text string), i *obtain.LookResult) {
	line("describes", strings.TrimSpace(i.Document.Title+"  "+i.Document.Description))
	for _, p := range i.Document.Packages {
		line("package", fmt.Sprintf("%s %s %s  (%s)", p.RegistryType, p.Identifier, p.Version, p.Transport.Type))
		for _, v := range p.EnvironmentVariables {
			line("gets", v.Name)
		}
	}
	for _, r := range i.Document.Remotes {
		line("reached at", r.URL)
	}
	for _, h := range i.Hashes {
		line("hash", h.Of+"  "+h.Sum.String())
	}
	if len(i.Hashes) == 0 && len(i.Document.Packages) > 0 {
		line("hash", "none is claimed")
	}
}

// showManifest prints what a facet.json says.
func showManifest(line func(what, text string), m *facet.Manifest) {
	line("describes", m.Description)
	for _, d := range m.Deliverables() {
		line(string(d.Kind), d.Name+"  "+clipText(describeDeliverable(m, d), 120))
	}
	for _, c := range m.Facets {
		line("brings", c.Name+"@"+c.Version)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		line("server", name+"  "+describeServer(m.Servers[name]))
	}
}

// describeDeliverable is what facet.json says of a deliverable.
func describeDeliverable(m *facet.Manifest, d facet.Deliverable) string {
	switch d.Kind {
	case facet.KindAgent:
		return m.Agents[d.Name].Description
	case facet.KindCommand:
		return m.Commands[d.Name].Description
	}
	return m.Skills[d.Name].Description
}

// describeServer is how a facet declares a server.
func describeServer(s facet.Server) string {
	switch {
	case s.Floor != nil:
		return "from source, " + s.Floor.String() + " or later"
	case s.Image != "":
		return "image " + s.Image
	case s.URL != "":
		return "reached at " + s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

// showContents prints the members of an archive, and which of them may be run.
func showContents(line func(what, text string), i *obtain.LookResult) {
	if i.Kind == ledger.Server {
		return
	}
	line("contents", i.Integrity.String())
	line("archive", evidence.Group(i.Size)+" bytes")
	if i.Contents == nil {
		line("NOT READ", i.Unread)
		return
	}
	const most = 100
	for at, m := range i.Contents.Members {
		if at == most {
			line("file", fmt.Sprintf("and %d more; --json names all", len(i.Contents.Members)-most))
			break
		}
		line("file", fmt.Sprintf("%s  %s bytes", m.Path, evidence.Group(m.Size)))
	}
	runs := false
	for _, m := range i.Contents.Members {
		if m.Program {
			line("MAY RUN", m.Path)
			runs = true
		}
		if m.Tools != "" {
			line("ALLOWS", m.Path+": "+clipText(m.Tools, 300))
			runs = true
		}
	}
	if !runs && i.Kind == ledger.Facet {
		line("runs", "no programs among its files, and no tools allowed by its texts")
	}
}

type infoServerJSON struct {
	Name     string `json:"name"`
	Declares string `json:"declares"`
}

type infoPackageJSON struct {
	Type       string   `json:"registry_type"`
	Identifier string   `json:"identifier"`
	Version    string   `json:"version,omitempty"`
	Transport  string   `json:"transport,omitempty"`
	Variables  []string `json:"variables,omitempty"`
}

func infoResult(rules project.Registry, i *obtain.LookResult, err error) any {
	out := struct {
		app.Outcome
		Kind      ledger.Kind            `json:"kind"`
		Name      string                 `json:"name"`
		Version   string                 `json:"version"`
		Registry  string                 `json:"registry"`
		Proven    bool                   `json:"proven"`
		Unproven  string                 `json:"unproven,omitempty"`
		Publisher string                 `json:"publisher,omitempty"`
		Published time.Time              `json:"published_at,omitzero"`
		Status    string                 `json:"status,omitempty"`
		Message   string                 `json:"status_message,omitempty"`
		Failed    []string               `json:"registry_findings,omitempty"`
		Parts     []string               `json:"parts,omitempty"`
		Brings    []string               `json:"brings,omitempty"`
		Servers   []infoServerJSON       `json:"servers,omitempty"`
		Packages  []infoPackageJSON      `json:"packages,omitempty"`
		Hashes    []obtain.ClaimedHash   `json:"hashes,omitempty"`
		Integrity string                 `json:"content_integrity,omitempty"`
		Size      int64                  `json:"size_bytes,omitempty"`
		Members   []obtain.ArchiveMember `json:"members,omitempty"`
		Unread    string                 `json:"unread,omitempty"`
	}{Outcome: app.OutcomeOf(i.Verdict, err), Kind: i.Kind, Name: i.Name, Version: i.Version, Registry: rules.Name(),
		Proven: err == nil && i.Unproven == "", Unproven: i.Unproven, Publisher: i.Publisher, Published: i.Published,
		Status: string(i.Status), Message: i.Message, Failed: i.Findings, Hashes: i.Hashes,
		Size: i.Size, Unread: i.Unread}
	if !i.Integrity.IsZero() {
		out.Integrity = i.Integrity.String()
	}
	if m := i.Manifest; m != nil {
		out.Parts, out.Brings, out.Servers = listParts(m)
	}
	if i.Document != nil {
		out.Packages = listPackages(i.Document)
	}
	if i.Contents != nil {
		out.Members = i.Contents.Members
	}
	return out
}

func listPackages(doc *serverjson.Document) (out []infoPackageJSON) {
	for _, p := range doc.Packages {
		j := infoPackageJSON{p.RegistryType, p.Identifier, p.Version, p.Transport.Type, nil}
		for _, v := range p.EnvironmentVariables {
			j.Variables = append(j.Variables, v.Name)
		}
		out = append(out, j)
	}
	return out
}

// listParts lists what the manifest of a facet delivers, the facets that it brings along, and its servers.
func listParts(m *facet.Manifest) (parts, brings []string, servers []infoServerJSON) {
	for _, d := range m.Deliverables() {
		parts = append(parts, string(d.Kind)+" "+d.Name)
	}
	for _, c := range m.Facets {
		brings = append(brings, c.Name+"@"+c.Version)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		servers = append(servers, infoServerJSON{name, describeServer(m.Servers[name])})
	}
	return parts, brings, servers
}
