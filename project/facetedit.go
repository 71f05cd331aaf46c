package project

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/hallmark-mcp/hallmark/surface"
)

// facetsTable is the key of the table that the commands edit.
const facetsTable = "facets"

// SetFacet returns data, a hallmark.toml, with the entry of f in [facets], and everything
// else as it was, comments included. Empty data becomes a new file.
func SetFacet(data []byte, f Facet) ([]byte, error) {
	if f.Kind() != FromRegistry {
		if err := f.checkSource(); err != nil {
			return nil, invalid(fmt.Sprintf("%+q", f.Name), err)
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte(EmptyConfig)
	}
	before, all, err := parseParts(data)
	if err != nil {
		return nil, err
	}
	value := f.toml()
	line := quoteTOML(f.Name) + " = " + value
	var e edit
	old, at := findFacet(all, f.Name)
	switch {
	case old == foreign:
		return nil, cannotEdit(f.Name)
	case old == single:
		e = edit{all[at].value[0], all[at].value[1], value}
	default:
		e = newFacet(data, all, line)
	}
	return applyChange(data, e, before, func(c *Config) { c.Facets[f.Name] = f })
}

// UnsetFacet returns data without the entry of the facet called name, and everything else
// as it was. It is an error if there is none.
func UnsetFacet(data []byte, name string) ([]byte, error) {
	before, all, err := parseParts(data)
	if err != nil {
		return nil, err
	}
	if _, ok := before.Facets[name]; !ok {
		return nil, NoSuch("facet", ConfigFile, name, slices.Collect(maps.Keys(before.Facets)))
	}
	old, at := findFacet(all, name)
	if old != single {
		return nil, cannotEdit(name)
	}
	p := all[at]
	e := edit{start: bytes.LastIndexByte(data[:p.first], '\n') + 1, end: lineAfter(data, p.value[1])}
	if p.inline {
		e = edit{start: p.first, end: p.value[1]}
		// With it goes one comma: the one behind, or in front of the last entry.
		rest := bytes.TrimLeft(data[e.end:], " \t")
		if bytes.HasPrefix(rest, []byte(",")) {
			e.end = len(data) - len(bytes.TrimLeft(rest[1:], " \t"))
		} else {
			e.start = len(bytes.TrimRight(bytes.TrimSuffix(bytes.TrimRight(data[:e.start], " \t"), []byte(",")), " \t"))
		}
	}
	return applyChange(data, e, before, func(c *Config) { delete(c.Facets, name) })
}

// parseParts is the file as it is read, and its keys as they are written.
func parseParts(data []byte) (*Config, []part, error) {
	c, err := ParseConfig(data)
	if err != nil {
		return nil, nil, err
	}
	all, err := parts(data)
	if err != nil {
		return nil, nil, invalid(ConfigFile, err)
	}
	return c, all, nil
}

func cannotEdit(name string) error {
	return invalid(ConfigFile, fmt.Errorf("facets.%s is spread over several lines; edit it by hand", surface.Escape(name)))
}

// spelling is how an entry of [facets] is written.
type spelling int

const (
	none    spelling = iota
	single           // as one key with its value
	foreign          // as a table of its own, or by dotted keys
)

// findFacet finds the entry of a facet.
func findFacet(all []part, name string) (spelling, int) {
	for i, p := range all {
		if len(p.path) < 2 || p.path[0] != facetsTable || p.path[1] != name {
			continue
		}
		if len(p.path) == 2 && p.last && !p.header {
			return single, i
		}
		return foreign, i
	}
	return none, 0
}

// newFacet is the edit that adds a line to [facets], and the table if there is none.
func newFacet(data []byte, all []part, line string) edit {
	end := lineEnd(data)
	for i, p := range all {
		if len(p.path) != 1 || p.path[0] != facetsTable || !p.last {
			continue
		}
		if !p.header && p.kind == unstable.InlineTable {
			at := p.value[1] - 1
			inside := bytes.TrimSpace(data[p.value[0]+1 : at])
			if len(inside) == 0 {
				return edit{p.value[0] + 1, at, " " + line + " "}
			}
			at = len(bytes.TrimRight(data[:at], " \t"))
			return edit{at, at, ", " + line}
		}
		if !p.header {
			continue
		}
		// Behind the last entry of the table, or its header.
		after := lineAfter(data, p.end)
		for _, q := range all[i+1:] {
			if q.header {
				break
			}
			if q.last && !q.inline {
				after = lineAfter(data, q.value[1])
			}
		}
		return edit{after, after, newlineBefore(data, after) + line + end}
	}
	text := "[" + facetsTable + "]" + end + line + end
	// Dotted keys at the top of the file define the table already.
	dotted := func(p part) bool { return p.path[0] == facetsTable && !p.header && !p.inline }
	if i := slices.IndexFunc(all, dotted); i >= 0 {
		at := bytes.LastIndexByte(data[:all[i].first], '\n') + 1
		return edit{at, at, facetsTable + "." + line + end}
	}
	if len(data) > 0 {
		text = newlineBefore(data, len(data)) + end + text
	}
	return edit{len(data), len(data), text}
}

// newlineBefore ends a line that the file does not end.
func newlineBefore(data []byte, at int) string {
	if at > 0 && data[at-1] != '\n' {
		return lineEnd(data)
	}
	return ""
}

// lineAfter is the offset behind the line that at is on.
func lineAfter(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// applyChange applies an edit and makes sure that it did what it should and nothing else.
func applyChange(data []byte, e edit, want *Config, change func(*Config)) ([]byte, error) {
	out := apply(data, []edit{e})
	got, err := ParseConfig(out)
	if err != nil {
		return nil, invalid(ConfigFile, fmt.Errorf("is written in a way that cannot be edited: %w", err))
	}
	change(want)
	if !reflect.DeepEqual(withoutLines(want), withoutLines(got)) {
		return nil, invalid(ConfigFile, errors.New("is written in a way that cannot be edited; edit it by hand"))
	}
	return out, nil
}

// withoutLines is c without line numbers and the warnings that hold them.
func withoutLines(c *Config) Config {
	out := *c
	out.Warnings = nil
	out.Facets, out.Servers = maps.Clone(c.Facets), maps.Clone(c.Servers)
	for name, f := range out.Facets {
		f.Line = 0
		out.Facets[name] = f
	}
	for name, s := range out.Servers {
		out.Servers[name] = s.withoutLines()
	}
	return out
}

// withoutLines is s without line numbers.
func (s Server) withoutLines() Server {
	s.Line = 0
	if s.Verify != nil {
		block := *s.Verify
		block.Line, s.Verify = 0, &block
	}
	return s
}

// toml is the value of the entry of f.
func (f Facet) toml() string {
	if f.Kind() == FromRegistry {
		return quoteTOML(f.Requirement.String())
	}
	var fields []string
	for _, field := range []struct{ key, value string }{
		{"git", f.Git}, {"tag", f.Tag}, {"branch", f.Branch}, {"commit", f.Commit}, {"sub", f.Sub}, {"path", f.Path},
	} {
		if field.value != "" {
			fields = append(fields, field.key+" = "+quoteTOML(field.value))
		}
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// quoteTOML is s as a string of TOML, in the form that people write where it has one.
func quoteTOML(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return tomlString(s)
	}
	return `"` + s + `"`
}
