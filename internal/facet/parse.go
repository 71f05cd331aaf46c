package facet

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

var (
	slugPattern  = spelling.Form(`^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$`)
	assetPattern = spelling.Form(`^[a-z0-9-]{1,64}$`)
)

// FileName is the default name of the file of an archive: "scope-name-1.2.3.facet".
func FileName(name, version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".facet"
}

// CheckName reports whether name can be that of a facet, or of a server that is packed
// from source: "name" or "@scope/name".
func CheckName(name string) bool {
	if scope, rest, ok := strings.Cut(name, "/"); ok {
		scope, ok = strings.CutPrefix(scope, "@")
		return ok && slugPattern().MatchString(scope) && slugPattern().MatchString(rest)
	}
	return slugPattern().MatchString(name)
}

// ParseManifest reads a facet.json strictly. Its error is an [*Invalid] with all
// problems.
func ParseManifest(data []byte) (*Manifest, error) {
	var p problems
	o, ok := p.readDocument(data, MaxManifest)
	if !ok {
		return nil, p.asError(ManifestFile)
	}
	m := &Manifest{Raw: slices.Clone(data)}
	m.Name, m.Version = o.takeIdentity()
	m.Description, m.Author = o.takeText("description", false), o.takeText("author", false)
	m.Private = o.takeBool("private")
	delivered := o.takeSkills(m)
	for _, kind := range []struct {
		member string
		into   *map[string]Prompt
	}{{"agents", &m.Agents}, {"commands", &m.Commands}} {
		prompts, n := o.takePrompts(kind.member)
		*kind.into = prompts
		delivered += n
	}
	m.Files = o.takeTexts("files", o.checkFile)
	delivered += o.takeComposed(m)
	delivered += o.takeServers(m)
	m.Warnings = o.warnUnknown()
	if delivered == 0 {
		p.add("", "delivers nothing: no skills, agents, commands, facets or servers")
	}
	if len(p.issues) == 0 {
		p.checkPaths(m.Paths())
	}
	if err := p.asError(ManifestFile); err != nil {
		return nil, err
	}
	return m, nil
}

// takeSkills takes the skills into m, and returns how many are written, good ones or not. So
// do the functions below for what they take.
func (o object) takeSkills(m *Manifest) (n int) {
	m.Skills = map[string]Skill{}
	o.takeObject("skills", func(name string, raw json.RawMessage, at string) {
		n++
		if in, ok := o.readAsset(name, raw, at); ok {
			s := Skill{Description: in.takeText("description", true), Adapters: in.takeAdapters()}
			s.Files = in.takeTexts("files", func(file, at string) { in.checkMember(skillPath(name, file), at) })
			in.refuseUnknown()
			m.Skills[name] = s
		}
	})
	return n
}

// takePrompts takes the agents or commands of a member.
func (o object) takePrompts(member string) (prompts map[string]Prompt, n int) {
	prompts = map[string]Prompt{}
	o.takeObject(member, func(name string, raw json.RawMessage, at string) {
		n++
		if in, ok := o.readAsset(name, raw, at); ok {
			prompts[name] = Prompt{Description: in.takeText("description", true), Adapters: in.takeAdapters()}
			in.refuseUnknown()
		}
	})
	return prompts, n
}

// checkFile checks an element of files.
func (o object) checkFile(file, at string) {
	switch {
	case file == ManifestFile || file == SourceFile || file == archive.BuildManifest:
		o.add(at, "%s is not a file that a facet can add", file)
	case strings.HasPrefix(strings.ToLower(file), "skills/"):
		o.add(at, "files below skills/ are listed by their skill")
	default:
		o.checkMember(file, at)
	}
}

// takeComposed takes the facets that m brings along.
func (o object) takeComposed(m *Manifest) (n int) {
	o.takeList("facets", func(raw json.RawMessage, at string) {
		n++
		if c, ok := o.readComposed(raw, at); ok {
			switch {
			case c.Name == m.Name:
				o.add(at, "the facet brings along itself")
			case slices.ContainsFunc(m.Facets, func(other Composed) bool { return other.Name == c.Name }):
				o.add(at, "%+q is there twice", c.Name)
			}
			m.Facets = append(m.Facets, c)
		}
	})
	return n
}

// takeServers takes the servers that m declares.
func (o object) takeServers(m *Manifest) (n int) {
	m.Servers = map[string]Server{}
	o.takeObject("servers", func(name string, raw json.RawMessage, at string) {
		n++
		o.checkServerName(name, raw, at)
		if s, ok := o.readServer(raw, at); ok {
			m.Servers[name] = s
		}
	})
	return n
}

// checkPaths checks that one archive can hold these paths.
func (p *problems) checkPaths(paths []string) {
	var names archive.Names
	for _, path := range paths {
		if err := checkPath(path); err != nil {
			p.add("", "%v", err)
		} else if err := names.Add(path); err != nil {
			p.add("", "%v", err)
		}
	}
}

// checkAssetName reports whether name can be that of a skill, agent, command or adapter, or of a server without scope,
// and adds a problem if it cannot.
func (p *problems) checkAssetName(name, at string) bool {
	ok := assetPattern().MatchString(name)
	if !ok {
		p.add(at, "a name is 1 to 64 of [a-z0-9-]")
	}
	return ok
}

// takeIdentity takes name and version.
func (o object) takeIdentity() (name, version string) {
	if name = o.takeText("name", true); name != "" && !CheckName(name) {
		o.add(o.at+"/name", "%+q is no name: 2 to 64 of [a-z0-9-] that begin and end with a letter or digit, "+
			"or @scope/name", clip(name))
	}
	if version = o.takeText("version", true); version != "" {
		o.checkVersion(version, o.at+"/version")
	}
	return name, version
}

// checkVersion refuses what is not an exact version M.N.P.
func (p *problems) checkVersion(version, at string) {
	if _, err := artifact.ParseFloor(version); err != nil {
		p.add(at, "%v", err)
	}
}

// readAsset reads the value of a skill, agent or command.
func (p *problems) readAsset(name string, raw json.RawMessage, at string) (object, bool) {
	if !p.checkAssetName(name, at) {
		return object{}, false
	}
	return p.readObject(raw, at)
}

// checkMember checks the path of a member of the archive.
func (p *problems) checkMember(path, at string) {
	if err := checkPath(path); err != nil {
		p.add(at, "%v", err)
	}
}

// takeAdapters takes the objects that are meant for one target each. They are kept as they
// are.
func (o object) takeAdapters() map[string]json.RawMessage {
	var out map[string]json.RawMessage
	o.takeObject("adapters", func(name string, raw json.RawMessage, at string) {
		if !o.checkAssetName(name, at) {
			return
		}
		if _, ok := o.readObject(raw, at); ok {
			if out == nil {
				out = map[string]json.RawMessage{}
			}
			out[name] = raw
		}
	})
	return out
}

// readComposed reads an element of facets.
func (p *problems) readComposed(raw json.RawMessage, at string) (Composed, bool) {
	if kindOf(raw) == '"' {
		s, _ := p.readString(raw, at)
		i := strings.LastIndexByte(s, '@')
		if i <= 0 {
			p.add(at, "%+q is not NAME@M.N.P", clip(s))
			return Composed{}, false
		}
		c := Composed{Name: s[:i], Version: s[i+1:]}
		if !CheckName(c.Name) {
			p.add(at, "%+q is no name of a facet", clip(c.Name))
		}
		p.checkVersion(c.Version, at)
		return c, true
	}
	o, ok := p.readObject(raw, at)
	if !ok {
		return Composed{}, false
	}
	name, version := o.takeIdentity()
	c := Composed{Name: name, Version: version}
	selection := func(member string) []string {
		return o.takeTexts(member, func(s, at string) { o.checkAssetName(s, at) })
	}
	c.Skills, c.Agents, c.Commands = selection("skills"), selection("agents"), selection("commands")
	o.refuseUnknown()
	if c.TakesAll() {
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
