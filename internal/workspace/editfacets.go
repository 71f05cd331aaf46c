package workspace

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// facetsTable is the key of the table that the commands edit.
const facetsTable = "facets"

// SetFacet returns data, a hallmark.toml, with the entry of f in [facets], and everything
// else as it was, comments included. Empty data becomes a new file.
func SetFacet(data []byte, f project.Facet) ([]byte, error) {
	if !f.Kind().HasVersions() {
		if err := f.Check(); err != nil {
			return nil, invalid(fmt.Sprintf("%+q", f.Name), err)
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte(project.EmptyConfig)
	}
	before, all, err := parseConfigParts(data)
	if err != nil {
		return nil, err
	}
	value := writeFacet(f)
	line := tomltext.QuotePlain(f.Name) + " = " + value
	var e tomltext.Edit
	old, at := findFacet(all, f.Name)
	switch {
	case old == facetForeign:
		return nil, cannotEdit(f.Name)
	case old == facetSingle:
		e = tomltext.Replace(all[at].Value, value)
	default:
		e = newFacet(data, all, line)
	}
	return applyEdit(data, e, before, func(c *project.Config) { c.Facets[f.Name] = f })
}

// UnsetFacet returns data without the entry of the facet called name, and everything else
// as it was. It is an error if there is none.
func UnsetFacet(data []byte, name string) ([]byte, error) {
	before, all, err := parseConfigParts(data)
	if err != nil {
		return nil, err
	}
	if _, ok := before.Facets[name]; !ok {
		return nil, project.NoSuch("facet", project.ConfigFile, name, slices.Collect(maps.Keys(before.Facets)))
	}
	old, at := findFacet(all, name)
	if old != facetSingle {
		return nil, cannotEdit(name)
	}
	p := all[at]
	cut := tomltext.Span{Start: tomltext.LineStart(data, p.First), End: tomltext.LineAfter(data, p.Value.End)}
	if p.Inline {
		cut = tomltext.Span{Start: p.First, End: p.Value.End}
		// With it goes one comma: the one behind, or in front of the last entry.
		rest := bytes.TrimLeft(data[cut.End:], " \t")
		if bytes.HasPrefix(rest, []byte(",")) {
			cut.End = len(data) - len(bytes.TrimLeft(rest[1:], " \t"))
		} else {
			cut.Start = len(
				bytes.TrimRight(bytes.TrimSuffix(bytes.TrimRight(data[:cut.Start], " \t"), []byte(",")), " \t"))
		}
	}
	return applyEdit(data, tomltext.Replace(cut, ""), before, func(c *project.Config) { delete(c.Facets, name) })
}

// parseConfigParts is the file as it is read, and its keys as they are written.
func parseConfigParts(data []byte) (*project.Config, []tomltext.Key, error) {
	c, err := project.ParseConfig(data)
	if err != nil {
		return nil, nil, err
	}
	all, err := tomltext.Keys(data)
	if err != nil {
		return nil, nil, invalid(project.ConfigFile, err)
	}
	return c, all, nil
}

func cannotEdit(name string) error {
	return invalid(project.ConfigFile,
		fmt.Errorf("facets.%s is spread over several lines; edit it by hand", surface.Escape(name)))
}

// facetSpelling is how an entry of [facets] is written.
type facetSpelling int

const (
	facetAbsent  facetSpelling = iota
	facetSingle                // as one key with its value
	facetForeign               // as a table of its own, or by dotted keys
)

// findFacet finds the entry of a facet.
func findFacet(all []tomltext.Key, name string) (facetSpelling, int) {
	for i, p := range all {
		if len(p.Path) < 2 || p.Path[0] != facetsTable || p.Path[1] != name {
			continue
		}
		if len(p.Path) == 2 && p.Last && !p.Header {
			return facetSingle, i
		}
		return facetForeign, i
	}
	return facetAbsent, 0
}

// newFacet is the edit that adds a line to [facets], and the table if there is none.
func newFacet(data []byte, all []tomltext.Key, line string) tomltext.Edit {
	end := tomltext.LineEnd(data)
	for i, p := range all {
		if len(p.Path) != 1 || p.Path[0] != facetsTable || !p.Last {
			continue
		}
		if !p.Header && p.Table {
			at := p.Value.End - 1
			inside := bytes.TrimSpace(data[p.Value.Start+1 : at])
			if len(inside) == 0 {
				return tomltext.Replace(tomltext.Span{Start: p.Value.Start + 1, End: at}, " "+line+" ")
			}
			at = len(bytes.TrimRight(data[:at], " \t"))
			return tomltext.Insert(at, ", "+line)
		}
		if !p.Header {
			continue
		}
		// Behind the last entry of the table, or its header.
		after := tomltext.LineAfter(data, p.Name.End)
		for _, q := range all[i+1:] {
			if q.Header {
				break
			}
			if q.Last && !q.Inline {
				after = tomltext.LineAfter(data, q.Value.End)
			}
		}
		return tomltext.Insert(after, tomltext.NewlineBefore(data, after)+line+end)
	}
	text := "[" + facetsTable + "]" + end + line + end
	// Dotted keys at the top of the file define the table already.
	dotted := func(p tomltext.Key) bool { return p.Path[0] == facetsTable && !p.Header && !p.Inline }
	if i := slices.IndexFunc(all, dotted); i >= 0 {
		at := tomltext.LineStart(data, all[i].First)
		return tomltext.Insert(at, facetsTable+"."+line+end)
	}
	if len(data) > 0 {
		text = tomltext.NewlineBefore(data, len(data)) + end + text
	}
	return tomltext.Insert(len(data), text)
}

// writeFacet is the value of the entry of f.
func writeFacet(f project.Facet) string {
	if f.Kind().HasVersions() && f.Prefix == "" && len(f.Parts) == 0 {
		return tomltext.QuotePlain(f.Requirement.String())
	}
	var fields []string
	for _, field := range []struct{ key, value string }{
		{"version", f.Requirement.String()}, {"git", f.Git}, {"tag", f.Tag}, {"branch", f.Branch}, {"commit", f.Commit},
		{"sub", f.Sub}, {"path", f.Path},
		{"prefix", f.Prefix},
	} {
		if field.value != "" {
			fields = append(fields, field.key+" = "+tomltext.QuotePlain(field.value))
		}
	}
	if f.Private {
		fields = append(fields, "private = true")
	}
	if len(f.Parts) > 0 {
		var parts []string
		for _, part := range f.Parts {
			parts = append(parts, tomltext.QuotePlain(part))
		}
		fields = append(fields, "parts = ["+strings.Join(parts, ", ")+"]")
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}
