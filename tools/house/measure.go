package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// finding is a kind of thing that is counted.
type finding int

const (
	longFunction finding = iota
	branched
	manyParams
	wideLine
	longFile
	participle
	undocumented
)

func (f finding) String() string {
	return []string{
		longFunction: fmt.Sprintf("functions longer than %d lines", maxFunction),
		branched:     fmt.Sprintf("functions with a cyclomatic number over %d", maxBranches),
		manyParams:   fmt.Sprintf("functions with more than %d parameters", maxParams),
		wideLine:     fmt.Sprintf("lines wider than %d columns", maxColumns),
		longFile:     fmt.Sprintf("files longer than %d lines", maxFile),
		participle:   "names that are bare participles",
		undocumented: "exported names without a comment",
	}[f]
}

// measures are the numbers of one package, or of all of them.
type measures struct {
	path                                     string
	lines, files, functions, names, exported int
	tests                                    int // lines
	knot                                     []string
	findings                                 map[finding][]string // where, and what
}

func (m *measures) note(kind finding, where ...string) {
	if m.findings == nil {
		m.findings = map[finding][]string{}
	}
	m.findings[kind] = append(m.findings[kind], where...)
}

// add adds up the numbers of packages.
func add(all []*measures) *measures {
	sum := &measures{}
	for _, m := range all {
		sum.lines += m.lines
		sum.tests += m.tests
		sum.files += m.files
		sum.exported += m.exported
		sum.functions += m.functions
		sum.names += m.names
		for kind, found := range m.findings {
			sum.note(kind, found...)
		}
	}
	return sum
}

func measure(s *source) *measures {
	m := &measures{path: s.path, files: len(s.files), tests: s.tests, knot: largestKnot(s)}
	for _, f := range s.files {
		m.measureText(s, f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				m.measureFunction(s, d)
			case *ast.GenDecl:
				m.measureNames(s, d)
			}
		}
	}
	return m
}

// measureText counts the lines of a file, and those that are too wide.
func (m *measures) measureText(s *source, f *ast.File) {
	name := filepath.Join(s.path, filepath.Base(s.fset.Position(f.Pos()).Filename))
	n := 0
	for line := range bytes.Lines(s.texts[f]) {
		n++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if w := utf8.RuneCount(line) + 3*bytes.Count(line, []byte("\t")); w > maxColumns {
			m.note(wideLine, fmt.Sprintf("%s:%d: %d columns", name, n, w))
		}
	}
	m.lines += n
	if n > maxFile {
		m.note(longFile, fmt.Sprintf("%s: %d lines", name, n))
	}
}

func (m *measures) measureFunction(s *source, d *ast.FuncDecl) {
	m.functions++
	name, visible := d.Name.Name, d.Name.IsExported()
	if d.Recv != nil {
		of := receiverName(d)
		visible = visible && ast.IsExported(of)
		name = of + "." + name
	}
	where := m.where(s, d.Pos(), name)
	m.measureName(where, d.Name.Name, visible, d.Doc != nil)
	if n := s.fset.Position(d.End()).Line - s.fset.Position(d.Pos()).Line + 1; n > maxFunction {
		m.note(longFunction, fmt.Sprintf("%s: %d lines", where, n))
	}
	if n := branches(d); n > maxBranches {
		m.note(branched, fmt.Sprintf("%s: %d", where, n))
	}
	if n := d.Type.Params.NumFields(); n > maxParams {
		m.note(manyParams, fmt.Sprintf("%s: %d parameters", where, n))
	}
}

// measureNames takes the types, variables and constants of a declaration. The comment of a
// group is the group of each of its names.
func (m *measures) measureNames(s *source, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			m.measureName(m.where(s, spec.Pos(), spec.Name.Name), spec.Name.Name, spec.Name.IsExported(),
				d.Doc != nil || spec.Doc != nil)
		case *ast.ValueSpec:
			for _, id := range spec.Names {
				documented := d.Doc != nil || spec.Doc != nil || spec.Comment != nil
				m.measureName(m.where(s, id.Pos(), id.Name), id.Name, id.IsExported(), documented)
			}
		}
	}
}

func (m *measures) measureName(where, name string, visible, documented bool) {
	m.names++
	if isParticiple(name) {
		m.note(participle, where)
	}
	if !visible {
		return
	}
	m.exported++
	if !documented {
		m.note(undocumented, where)
	}
}

func (m *measures) where(s *source, pos token.Pos, name string) string {
	at := s.fset.Position(pos)
	return fmt.Sprintf("%s:%d: %s", filepath.Join(s.path, filepath.Base(at.Filename)), at.Line, name)
}

// receiverName is the name of the type that a method is of.
func receiverName(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return "?"
		}
	}
}

// branches is the cyclomatic number of a function with all that are written in it.
func branches(d *ast.FuncDecl) int {
	n := 1
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// irregular are participles that do not end in "ed"; regular are words that do and are none.
const (
	irregular = " bound brought built chosen done drawn found given gone grown held hidden kept known left lost made " +
		"met " +
		"said seen sent shown spoken sworn taken thrown told torn worn written "
	regular = " bed breed embed exceed fed feed need proceed red seed shed sled speed succeed weed "
)

// isParticiple reports whether a name is one word that says what was done, and not to what.
func isParticiple(name string) bool {
	word := strings.ToLower(name)
	if word[1:] != name[1:] {
		return false // of several words
	}
	return strings.Contains(irregular, " "+word+" ") ||
		strings.HasSuffix(word, "ed") && len(word) > 3 && !strings.Contains(regular, " "+word+" ")
}
