package installed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/frontmatter"
	"github.com/hallmark-mcp/hallmark/project"
)

// Rendering is a file as a target gets it.
type Rendering struct {
	Data  []byte
	Notes []string // what the target does not get, or gets in another way, for people; not escaped
	Less  bool     // a member of the file's own front matter is not in it
}

// Render writes a file of a deliverable for the target, from the bytes of its member.
func (t Target) Render(p Place, m *facet.Manifest, d facet.Deliverable, data []byte) (Rendering, error) {
	switch {
	case p.Fixed != nil:
		return Rendering{Data: p.Fixed}, nil
	case !p.primary:
		return Rendering{Data: data}, nil
	}
	descriptor := describe(m, d)
	w := writer{target: t, noun: t.noun(d.Kind), name: d.Name, description: descriptor.Description,
		isAgent: d.Kind == facet.KindAgent}
	if err := w.readAdapters(descriptor.Adapters); err != nil {
		return Rendering{}, fmt.Errorf("%s %s: %w", d.Kind, d.Name, err)
	}
	text, body := splitHead(data)
	if w.hasHead = text != nil; w.hasHead {
		if w.own = readHead(text); w.own.err != nil {
			w.own.object = readLimits(data[:len(data)-len(body)])
			w.unlimited = w.isAgent && bytes.Contains(text, []byte("ools")) && !w.own.object.limitsTools()
		}
	} else {
		w.own.end = "\n"
		if _, open := frontmatter.Split(data); open {
			w.note("has a front matter that does not end, which is text for the client")
		}
	}
	w.choose()
	w.noteBody(d.Kind, body)
	out, err := w.write(data, body)
	return Rendering{Data: out, Notes: w.notes, Less: w.losesMember()}, err
}

// losesMember reports whether the target does not get a member of the file's own front matter, but for its name.
func (w *writer) losesMember() bool {
	if w.verbatim {
		return false
	}
	for i, m := range w.own.object {
		if !w.stays[i] && m.name != "name" {
			return true
		}
	}
	return w.own.err != nil
}

// describe is what facet.json says of a deliverable.
func describe(m *facet.Manifest, d facet.Deliverable) facet.Prompt {
	switch d.Kind {
	case facet.KindAgent:
		return m.Agents[d.MemberName()]
	case facet.KindCommand:
		return m.Commands[d.MemberName()]
	}
	s := m.Skills[d.MemberName()]
	return facet.Prompt{Description: s.Description, Adapters: s.Adapters}
}

// writer writes one Markdown file for one target.
type writer struct {
	target            Target
	noun              noun
	name, description string // of the deliverable
	isAgent           bool
	unlimited         bool   // its front matter speaks of tools, and cannot be read
	given             object // by adapters
	hasHead           bool
	own               head // front matter of the file

	stays    []bool // members of own that the target gets as they are
	more     object // what it gets besides
	verbatim bool   // nothing has to change
	notes    []string
}

// readAdapters reads what adapters gives to the target, or to all clients that read the file.
func (w *writer) readAdapters(adapters map[string]json.RawMessage) error {
	readers := w.noun.readers
	if readers == nil {
		readers = []string{w.target.Name}
		if w.target.Name == project.TargetCopilot {
			readers = append(readers, vscode)
		}
	}
	var refused, unknown []string
	for _, reader := range readers {
		raw, ok := adapters[reader]
		if !ok {
			continue
		}
		o, err := readJSON(raw)
		if err != nil {
			return fmt.Errorf("adapters of %s: %w", reader, err)
		}
		for _, m := range o {
			if _, there := w.given.find(m.name); there {
				continue // of the client that comes first
			}
			switch {
			case w.isOurs(m.name):
				refused = append(refused, m.name)
				continue
			case !w.isDocumented(m.name):
				unknown = append(unknown, m.name)
			}
			w.given = append(w.given, m)
		}
	}
	w.noteNames("is not what adapters says, which cannot give ", refused)
	w.noteNames("adapters gives what the client does not document: ", unknown)
	return nil
}

// isOurs reports whether a member says what facet.json and the body say.
func (w *writer) isOurs(name string) bool {
	return name == "name" || w.noun.form == agentTOML && name == instructions || w.noun.form == promptTOML &&
		name == prompt
}

// isDocumented reports whether the client documents a member.
func (w *writer) isDocumented(name string) bool {
	_, set := w.noun.sets.find(name)
	return set || slices.Contains(w.noun.keep, name) || slices.Contains(w.noun.needs, name) ||
		slices.Contains(w.noun.knows, name)
}

// choose decides about each member of the front matter, and adds what the client needs.
func (w *writer) choose() {
	if w.own.err != nil {
		if w.noun.all && len(w.given) == 0 {
			w.verbatim = true
			return
		}
		w.hasHead = false
		w.note("is without its front matter, which " + w.own.err.Error())
		if w.unlimited {
			w.note("may use every tool that the client gives to an agent, as its front matter cannot be read")
		}
	}
	var left, unread, limits []string
	w.stays = make([]bool, len(w.own.object))
	for i, m := range w.own.object {
		_, replaced := w.given.find(m.name)
		_, set := w.noun.sets.find(m.name)
		switch {
		case replaced || set:
		case m.name == "name" && m.value != w.name: // nothing takes another's name
		case w.noun.all || slices.Contains(w.noun.keep, m.name):
			w.stays[i] = true
			if slices.Contains(w.noun.unread, m.name) {
				unread = append(unread, m.name)
			}
		case m.name == "name":
		case m.name == "model" && m.value == "inherit": // the same as to say nothing
		case m.name == "tools" && w.chooseTools(m.value):
		case w.isAgent && (m.name == "tools" || m.name == "disallowedTools"):
			limits = append(limits, m.name)
		default:
			left = append(left, m.name)
		}
	}
	w.noteNames("gets none of the members that are words of another client: ", left)
	w.noteNames("has members that the client does not read: ", unread)
	w.noteNames("may use every tool that the client gives to an agent, as the client cannot be told its ", limits)
	w.addNeeded()
	for _, m := range slices.Concat(w.noun.sets, w.given) {
		if i := slices.IndexFunc(w.more, func(o member) bool { return o.name == m.name }); i >= 0 {
			w.more[i] = m
		} else {
			w.more = append(w.more, m)
		}
	}
	w.verbatim = w.own.err == nil && len(w.more) == 0 && !slices.Contains(w.stays, false)
	w.noteStarts()
}

// addNeeded adds the name and description without which the client does not find the file. A file
// without front matter gets both, if the client knows them.
func (w *writer) addNeeded() {
	var first object
	for _, m := range []member{{"name", w.name}, {"description", w.description}} {
		own, has := w.own.find(m.name)
		_, given := w.given.find(m.name)
		known := w.noun.all || slices.Contains(w.noun.keep, m.name)
		wanted := !w.hasHead && known || slices.Contains(w.noun.needs, m.name) ||
			m.name == "name" && has && own != w.name && known
		if wanted && !given && !(has && (m.name == "description" || own == w.name)) {
			first = append(first, m)
		}
	}
	w.more = append(first, w.more...)
}

// chooseTools gives the client the tools of an agent in its own words, if it has any.
func (w *writer) chooseTools(v any) bool {
	m, left, ok := w.noun.tools.express(v)
	if !ok {
		return false
	}
	if _, given := w.given.find(m.name); given {
		return true
	}
	w.more = append(w.more, m)
	w.note("has as its tools " + m.name + ": " + yamlValue(m.value))
	w.noteNames("lacks tools that the client has no word for: ", left)
	return true
}

// programs are members by which a client starts programs itself.
var programs = []string{"hooks", "mcpServers", "mcp-servers", "mcp_servers"}

// noteStarts names the members by which the client starts programs that Hallmark does not see.
func (w *writer) noteStarts() {
	var starts []string
	for i, m := range w.own.object {
		if w.stays[i] && slices.Contains(programs, m.name) {
			starts = append(starts, m.name)
		}
	}
	for _, m := range w.more {
		if slices.Contains(programs, m.name) {
			starts = append(starts, m.name)
		}
	}
	w.noteNames("lets the client start programs that Hallmark does not verify: ", starts)
}

// noteBody says what the client does not do with the body.
func (w *writer) noteBody(kind facet.Kind, body []byte) {
	if w.noun.asSkill {
		w.note("is installed as a skill, as the client has no commands in a project")
	}
	if kind == facet.KindCommand && w.noun.args != argumentsOfClaude &&
		bytes.Contains(body, []byte(argumentsOfClaude)) {
		note := "keeps " + argumentsOfClaude + " as it is, and the client fills in "
		if w.noun.args == "" {
			note += "nothing"
		} else {
			note += w.noun.args
		}
		w.note(note)
	}
}

// maxNamed is how many names a note has.
const maxNamed = 10

func (w *writer) note(text string) { w.notes = append(w.notes, text) }

// noteNames adds a note that ends in names, unless there are none.
func (w *writer) noteNames(text string, names []string) {
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	w.note(text + strings.Join(names, ", ") + more)
}

// The members of TOML that hold the body.
const (
	instructions = "developer_instructions"
	prompt       = "prompt"
)

// write writes the file; data is all of the member, body what follows its front matter.
func (w *writer) write(data, body []byte) ([]byte, error) {
	switch w.noun.form {
	case plain:
		return trimLines(body), nil
	case agentTOML:
		return w.writeTOML(instructions, body)
	case promptTOML:
		return w.writeTOML(prompt, body)
	}
	switch {
	case w.verbatim:
		return data, nil
	case len(w.more) == 0 && !slices.Contains(w.stays, true):
		return body, nil
	}
	var b bytes.Buffer
	b.WriteString("---" + w.own.end)
	for _, m := range w.more {
		b.WriteString(w.own.write(m))
	}
	b.WriteString(w.own.prefix)
	for i, stays := range w.stays {
		if stays {
			b.WriteString(w.own.line(i))
		}
	}
	b.WriteString("---" + w.own.end)
	if !w.hasHead {
		b.WriteString(w.own.end)
	}
	b.Write(body)
	return b.Bytes(), nil
}

// trimLines is a body without the empty lines before it.
func trimLines(body []byte) []byte { return bytes.TrimLeft(body, "\r\n") }
