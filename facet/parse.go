package facet

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/archive"
)

var (
	slug = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$`)
	})
	asset = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	})
)

// FileName is the name of the file that an archive is kept in, unless somebody says
// otherwise: "scope-name-1.2.3.facet".
func FileName(name, version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".facet"
}

// CheckName reports whether name can be that of a facet, or of a server that is packed
// from source: "name" or "@scope/name".
func CheckName(name string) bool {
	if scope, rest, ok := strings.Cut(name, "/"); ok {
		scope, ok = strings.CutPrefix(scope, "@")
		return ok && slug().MatchString(scope) && slug().MatchString(rest)
	}
	return slug().MatchString(name)
}

// ParseManifest reads a facet.json strictly. Its error is an [*Invalid] with all
// problems.
func ParseManifest(data []byte) (*Manifest, error) {
	var p problems
	o, ok := p.document(data, MaxManifest)
	if !ok {
		return nil, p.err(ManifestFile)
	}
	m := &Manifest{Raw: slices.Clone(data), Skills: map[string]Skill{}, Agents: map[string]Prompt{}, Commands: map[string]Prompt{}, Servers: map[string]Server{}}
	m.Name, m.Version = o.identity()
	m.Description, m.Author, m.Private = o.text("description", false), o.text("author", false), o.boolean("private")

	deliverables := 0
	o.each("skills", func(name string, raw json.RawMessage, at string) {
		deliverables++
		if in, ok := o.asset(name, raw, at); ok {
			s := Skill{Description: in.text("description", true), Adapters: in.adapters()}
			s.Files = in.texts("files", func(file, at string) { in.member(skillPath(name, file), at) })
			in.closed()
			m.Skills[name] = s
		}
	})
	prompts := func(member string, into map[string]Prompt) {
		o.each(member, func(name string, raw json.RawMessage, at string) {
			deliverables++
			if in, ok := o.asset(name, raw, at); ok {
				into[name] = Prompt{Description: in.text("description", true), Adapters: in.adapters()}
				in.closed()
			}
		})
	}
	prompts("agents", m.Agents)
	prompts("commands", m.Commands)
	m.Files = o.texts("files", func(file, at string) {
		switch {
		case file == ManifestFile || file == SourceFile || file == archive.BuildManifest:
			o.add(at, "%s is not a file that a facet can add", file)
		case strings.HasPrefix(strings.ToLower(file), "skills/"):
			o.add(at, "files below skills/ are listed by their skill")
		default:
			o.member(file, at)
		}
	})
	o.list("facets", func(raw json.RawMessage, at string) {
		deliverables++
		if c, ok := o.composed(raw, at); ok {
			switch {
			case c.Name == m.Name:
				o.add(at, "the facet brings along itself")
			case slices.ContainsFunc(m.Facets, func(other Composed) bool { return other.Name == c.Name }):
				o.add(at, "%+q is there twice", c.Name)
			}
			m.Facets = append(m.Facets, c)
		}
	})
	o.each("servers", func(name string, raw json.RawMessage, at string) {
		deliverables++
		if !asset().MatchString(name) {
			o.add(at, "a name is 1 to 64 of [a-z0-9-]")
		}
		if s, ok := o.server(raw, at); ok {
			m.Servers[name] = s
		}
	})
	m.Warnings = o.unknown()
	if deliverables == 0 {
		p.add("", "delivers nothing: no skills, agents, commands, facets or servers")
	}
	if len(p.issues) == 0 {
		var names archive.Names
		for _, path := range m.Paths() {
			if err := checkPath(path); err != nil {
				p.add("", "%v", err)
			} else if err := names.Add(path); err != nil {
				p.add("", "%v", err)
			}
		}
	}
	if err := p.err(ManifestFile); err != nil {
		return nil, err
	}
	return m, nil
}

// identity takes name and version.
func (o object) identity() (name, version string) {
	if name = o.text("name", true); name != "" && !CheckName(name) {
		o.add(o.at+"/name", "%+q is no name: 2 to 64 of [a-z0-9-] that begin and end with a letter or digit, or @scope/name", clip(name))
	}
	if version = o.text("version", true); version != "" {
		o.exact(version, o.at+"/version")
	}
	return name, version
}

func (p *problems) exact(version, at string) {
	if _, err := parseVersion(version); err != nil {
		p.add(at, "%v", err)
	}
}

// asset reads the value of a skill, agent or command.
func (p *problems) asset(name string, raw json.RawMessage, at string) (object, bool) {
	if !asset().MatchString(name) {
		p.add(at, "a name is 1 to 64 of [a-z0-9-]")
		return object{}, false
	}
	return p.object(raw, at)
}

// member checks the path of a member of the archive.
func (p *problems) member(path, at string) {
	if err := checkPath(path); err != nil {
		p.add(at, "%v", err)
	}
}

// adapters takes what is meant for one target each: objects that we do not look into.
func (o object) adapters() map[string]json.RawMessage {
	var out map[string]json.RawMessage
	o.each("adapters", func(name string, raw json.RawMessage, at string) {
		if !asset().MatchString(name) {
			o.add(at, "a name is 1 to 64 of [a-z0-9-]")
			return
		}
		if _, ok := o.object(raw, at); ok {
			if out == nil {
				out = map[string]json.RawMessage{}
			}
			out[name] = raw
		}
	})
	return out
}

// composed reads an element of facets.
func (p *problems) composed(raw json.RawMessage, at string) (Composed, bool) {
	if kindOf(raw) == '"' {
		s, _ := p.string(raw, at)
		i := strings.LastIndexByte(s, '@')
		if i <= 0 {
			p.add(at, "%+q is not NAME@M.N.P", clip(s))
			return Composed{}, false
		}
		c := Composed{Name: s[:i], Version: s[i+1:]}
		if !CheckName(c.Name) {
			p.add(at, "%+q is no name of a facet", clip(c.Name))
		}
		p.exact(c.Version, at)
		return c, true
	}
	o, ok := p.object(raw, at)
	if !ok {
		return Composed{}, false
	}
	name, version := o.identity()
	c := Composed{Name: name, Version: version}
	selection := func(member string) []string {
		return o.texts(member, func(s, at string) {
			if !asset().MatchString(s) {
				o.add(at, "a name is 1 to 64 of [a-z0-9-]")
			}
		})
	}
	c.Skills, c.Agents, c.Commands = selection("skills"), selection("agents"), selection("commands")
	o.closed()
	if c.All() {
		p.add(at, "selects nothing; write %q to take all of it", "NAME@M.N.P")
	}
	return c, true
}

// clip shortens text from outside for a message.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
