// Package facet reads and writes facets: archives of skills, agents, commands and
// declared MCP servers, and of servers that are packed from source. It makes facets of folders with a SKILL.md, and of
// plugins of clients ([Wrap]).
//
// # facet.json
//
//	name*         2 to 64 of [a-z0-9-], neither first nor last a hyphen; or @scope/name
//	version*      exact, M.N.P
//	description, author   text
//	private       boolean
//	skills        {NAME: {description*, files?: [path below skills/NAME], adapters?: {}}}
//	agents        {NAME: {description*, adapters?: {}}}
//	commands      {NAME: {description*, adapters?: {}}}
//	files         [path]: further members of the archive
//	facets        ["NAME@M.N.P" or {name*, version*, skills?, agents?, commands?: [NAME]}]
//	servers       {NAME or @scope/name: see [Server]}
//
// A NAME inside is one segment, 1 to 64 of [a-z0-9-]. A server that is packed from source may have
// the scope under which it is published; see [EntryName]. There is at least one deliverable:
// a skill, agent, command, facet or server. The document is strict JSON of at most
// [MaxManifest] bytes and [MaxDepth] levels, no member twice; unknown members at the top
// are kept in Raw and warned about, deeper ones are errors.
//
// # Contents
//
// What an archive holds follows from facet.json alone: itself, skills/NAME/SKILL.md with
// the skill's files, agents/NAME.md, commands/NAME.md, and files. An archive with another
// set of members, or whose build-manifest.json has digests of another set, is malformed.
// A server that is packed from source holds server.json ([Source]) and whatever files
// stand beside it.
//
// # Hashes
//
// content_integrity is the fingerprint facet-tar of the members, and what locks record.
// content_hash is the digest of the archive's bytes, and protects only the download from a
// registry. [Read] computes both, and the digest of each member, from the bytes in one pass;
// claims are compared with them by [Archive.Evidence] and never taken for them.
package facet

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// ManifestFile is the name of a facet's manifest, SourceFile that of a source-mode server.
const (
	ManifestFile = "facet.json"
	SourceFile   = "server.json"
)

// Limits of a manifest.
const (
	MaxManifest = 1 << 20 // bytes of facet.json or server.json
	MaxDepth    = 64      // nested objects and arrays
)

// Manifest is a facet.json.
type Manifest struct {
	Name        string
	Version     string
	Description string
	Author      string
	Private     bool
	Skills      map[string]Skill
	Agents      map[string]Prompt
	Commands    map[string]Prompt
	Files       []string
	Facets      []Composed
	Servers     map[string]Server
	Warnings    []string // unknown members
	Raw         []byte   // what was parsed
}

// Skill is a directory that a model reads when it needs it.
type Skill struct {
	Description string
	Files       []string // below skills/NAME, beside SKILL.md
	Adapters    map[string]json.RawMessage
}

// Prompt is an agent or a command: one Markdown file.
type Prompt struct {
	Description string
	Adapters    map[string]json.RawMessage
}

// Composed is another facet that this one brings along.
type Composed struct {
	Name, Version            string
	Skills, Agents, Commands []string // the chosen ones; nothing named means all
}

// TakesAll reports whether nothing of the facet is left out.
func (c Composed) TakesAll() bool { return len(c.Skills)+len(c.Agents)+len(c.Commands) == 0 }

// Kind is what a deliverable is.
type Kind string

// The kinds of deliverables that are files.
const (
	KindSkill   Kind = "skill"
	KindAgent   Kind = "agent"
	KindCommand Kind = "command"
)

// Deliverable is something of a facet that is installed as files.
type Deliverable struct {
	Kind  Kind
	Name  string   // where it is installed; in the facet, unless somebody gave it another one
	Paths []string // in the archive; the first is the Markdown file
}

// MemberName is what the facet calls a deliverable, whatever Name is where it is installed: it follows from its first
// path.
func (d Deliverable) MemberName() string {
	if len(d.Paths) == 0 {
		return d.Name
	}
	_, rest, _ := strings.Cut(d.Paths[0], "/")
	if d.Kind == KindSkill {
		return strings.TrimSuffix(rest, "/SKILL.md")
	}
	return strings.TrimSuffix(rest, ".md")
}

// Deliverables lists skills, agents and commands, each sorted by name.
func (m *Manifest) Deliverables() []Deliverable {
	var out []Deliverable
	for _, name := range sortedKeys(m.Skills) {
		d := Deliverable{KindSkill, name, []string{skillPath(name, "SKILL.md")}}
		for _, f := range m.Skills[name].Files {
			d.Paths = append(d.Paths, skillPath(name, f))
		}
		out = append(out, d)
	}
	for _, name := range sortedKeys(m.Agents) {
		out = append(out, Deliverable{KindAgent, name, []string{"agents/" + name + ".md"}})
	}
	for _, name := range sortedKeys(m.Commands) {
		out = append(out, Deliverable{KindCommand, name, []string{"commands/" + name + ".md"}})
	}
	return out
}

func skillPath(name, file string) string { return "skills/" + name + "/" + file }

// Paths lists the members of the facet's archive in canonical order.
func (m *Manifest) Paths() []string {
	paths := []string{ManifestFile}
	for _, d := range m.Deliverables() {
		paths = append(paths, d.Paths...)
	}
	paths = append(paths, m.Files...)
	slices.SortFunc(paths, tree.CompareUTF16)
	return paths
}

// checkPath is the rule for members: a path that any platform and a canonical tar
// can hold.
func checkPath(path string) error {
	if err := archive.CheckPath(path); err != nil {
		return err
	}
	_, err := tree.TarHeader(path, 0)
	return err
}
