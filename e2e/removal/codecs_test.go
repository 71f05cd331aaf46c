package removal

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/modulesource"
)

// The members that the campaign is to take out are read from the sources of the codecs: a
// member that is new there is demanded here, and a new type of which nobody said whether
// Hallmark reads it back.

// codec is a type that a file is read into.
type codec struct {
	file string // a pattern, as the table of the campaign calls files
	at   string // where in the file it stands; "" is the whole
	typ  string // DIRECTORY.TYPE, or DIRECTORY.FUNCTION() of a type that has no name
}

// rare are members of a codec that no world has, each with why.
type rare struct{ file, member, why string }

// seenMembers are those that were taken out, or are by the campaign that is not a short one.
type seenMembers struct {
	mu    sync.Mutex
	files map[string]map[string]bool // by name of the file: pointers
}

func (s *seenMembers) add(all []removal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]map[string]bool{}
	}
	for _, r := range all {
		if s.files[r.file] == nil {
			s.files[r.file] = map[string]bool{}
		}
		s.files[r.file][r.pointer()] = true
	}
}

// has reports whether a member was taken out of a file that matches.
func (s *seenMembers) has(file, member string) bool {
	for name, pointers := range s.files {
		if !matches(file, name) {
			continue
		}
		for pointer := range pointers {
			if matches(member, pointer) {
				return true
			}
		}
	}
	return false
}

// missing are the members of codecs that no world has, and the rows of rares that are needed
// no more.
func (s *seenMembers) missing(src *sources, codecs []codec, rares []rare) (problems []error) {
	used := make([]bool, len(rares))
	for _, c := range codecs {
		members, err := src.members(c.typ)
		if err != nil {
			return append(problems, err)
		}
		for _, m := range members {
			if m = strings.TrimPrefix(c.at+"/"+m, "/"); s.has(c.file, m) {
				continue
			}
			excused := false
			for i, r := range rares {
				if r.file == c.file && matches(r.member, m) {
					used[i], excused = true, true
				}
			}
			if !excused {
				problems = append(problems,
					fmt.Errorf("%s is read from %s (%s), and no world of the removal campaign has it", m, c.file,
						c.typ))
			}
		}
	}
	for i, r := range rares {
		if !used[i] {
			problems = append(problems, fmt.Errorf("%s %s is in a world: it need not be excused", r.file, r.member))
		}
	}
	return problems
}

// sources are the sources of this module, without its tests.
type sources struct {
	*modulesource.Sources
	read map[string]bool // the types that were come upon
}

const modulePath = "github.com/hallmark-mcp/hallmark"

func readSources(t *testing.T) *sources {
	t.Helper()
	return &sources{modulesource.Read(t, "../.."), map[string]bool{}}
}

// members are the paths to the members of a type: "servers", "servers/*/ref".
func (s *sources) members(typ string) ([]string, error) {
	dot := strings.LastIndexByte(typ, '.')
	dir, name := typ[:dot], typ[dot+1:]
	file, node := s.find(dir, name)
	if node == nil {
		return nil, fmt.Errorf("there is no %s", typ)
	}
	s.read[typ] = true
	var out []string
	for _, of := range node {
		out = append(out, s.below(dir, file, of, map[string]bool{typ: true})...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// find gives the type called name of a directory, or the types without a name in its function
// name().
func (s *sources) find(dir, name string) (*ast.File, []ast.Expr) {
	function, isFunction := strings.CutSuffix(name, "()")
	for _, f := range s.Dirs[dir] {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if isFunction && d.Name.Name == function {
					return f, nameless(d)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == name {
						return f, []ast.Expr{spec.Type}
					}
				}
			}
		}
	}
	return nil, nil
}

// nameless are the outermost structs in a declaration that have tags.
func nameless(n ast.Node) (out []ast.Expr) {
	ast.Inspect(n, func(n ast.Node) bool {
		if st, ok := n.(*ast.StructType); ok && tagged(st) {
			out = append(out, st)
			return false
		}
		return true
	})
	return out
}

// tagged reports whether a struct has members of JSON or TOML.
func tagged(st *ast.StructType) bool {
	return slices.ContainsFunc(st.Fields.List, func(f *ast.Field) bool {
		name, ok := tagOfField(f)
		return ok && name != "-"
	})
}

// tagOfField is the name in the tag of a field.
func tagOfField(f *ast.Field) (name string, ok bool) {
	if f.Tag == nil {
		return "", false
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", false
	}
	for _, key := range []string{"json", "toml"} {
		if value, there := reflect.StructTag(text).Lookup(key); there {
			name, _, _ = strings.Cut(value, ",")
			return name, true
		}
	}
	return "", false
}

// below are the paths to the members of a type that stands in a file of dir.
func (s *sources) below(dir string, f *ast.File, of ast.Expr, above map[string]bool) (out []string) {
	each := func(of ast.Expr) (out []string) {
		for _, path := range s.below(dir, f, of, above) {
			out = append(out, "*/"+path)
		}
		return out
	}
	named := func(dir, name string) []string {
		typ := dir + "." + name
		if above[typ] || s.isText(dir, name) {
			return nil
		}
		file, types := s.find(dir, name)
		if types == nil {
			return nil // of the language
		}
		s.read[typ] = true
		above = maps.Clone(above)
		above[typ] = true
		return s.below(dir, file, types[0], above)
	}
	switch of := of.(type) {
	case *ast.StarExpr:
		return s.below(dir, f, of.X, above)
	case *ast.ArrayType:
		return each(of.Elt)
	case *ast.MapType:
		return each(of.Value)
	case *ast.Ident:
		return named(dir, of.Name)
	case *ast.SelectorExpr:
		if x, ok := of.X.(*ast.Ident); ok {
			for _, imported := range f.Imports {
				path, _ := strconv.Unquote(imported.Path.Value)
				if below, ok := strings.CutPrefix(path, modulePath+"/"); ok && filepath.Base(path) == x.Name {
					return named(below, of.Sel.Name)
				}
			}
		}
	case *ast.StructType:
		for _, field := range of.Fields.List {
			name, ok := tagOfField(field)
			switch {
			case name == "-" || !ok && len(field.Names) > 0:
			case !ok: // embedded
				out = append(out, s.below(dir, f, field.Type, above)...)
			default:
				out = append(out, name)
				for _, path := range s.below(dir, f, field.Type, above) {
					out = append(out, name+"/"+path)
				}
			}
		}
	}
	return out
}

// isText reports whether a type writes itself: its members are not those of the file.
func (s *sources) isText(dir, name string) bool {
	for _, f := range s.Dirs[dir] {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "UnmarshalJSON" && fn.Name.Name != "UnmarshalText" {
				continue
			}
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
				if id, ok := star.X.(*ast.Ident); ok && id.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// unsaid are the types with members that were not come upon, and that no row says are not read,
// and the rows that are needed no more.
func (s *sources) unsaid(rows []unread) (problems []error) {
	used := make([]bool, len(rows))
	for _, dir := range slices.Sorted(maps.Keys(s.Dirs)) {
		say := func(name string) {
			if s.read[dir+"."+name] {
				return
			}
			for i, r := range rows {
				if r.of(dir, name) {
					used[i] = true
					return
				}
			}
			problems = append(problems,
				fmt.Errorf("nobody says whether %s.%s is read back from a file: a world of the removal campaign, or "+
					"a row in unreadTypes", dir, name))
		}
		for _, f := range s.Dirs[dir] {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if len(nameless(d)) > 0 {
						say(d.Name.Name + "()")
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if spec, ok := spec.(*ast.TypeSpec); ok && len(nameless(spec)) > 0 {
							say(spec.Name.Name)
						}
					}
				}
			}
		}
	}
	for i, r := range rows {
		if !used[i] {
			problems = append(problems, fmt.Errorf("%s of unreadTypes is no type that is left", r.types))
		}
	}
	return problems
}

// unread are types with members of JSON or TOML that come from no file which the campaign is
// about.
type unread struct {
	types string // DIRECTORY.TYPE, several with spaces between; DIRECTORY.* is all that are left
	why   string
}

func (u unread) of(dir, name string) bool {
	return slices.ContainsFunc(strings.Fields(u.types), func(t string) bool {
		return t == dir+"."+name || t == dir+".*"
	})
}

// checkMembers demands a world for each member of what Hallmark reads.
func checkMembers(t *testing.T, seen *seenMembers) {
	t.Helper()
	src := readSources(t)
	problems := seen.missing(src, codecs, rareMembers)
	if problems = append(problems, src.unsaid(unreadTypes)...); len(problems) > 0 {
		t.Error(errors.Join(problems...))
	}
}

// A member that no world has is found, one that is excused needlessly too, and a type of which
// nothing is said.
func TestMissingMembers(t *testing.T) {
	src := readSources(t)
	lock := codec{"hallmark.lock", "", "project.lockWire"}
	members, err := src.members(lock.typ)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"servers/*/self", "servers/*/record/proof", "servers/*/launch/verify/files",
		"facets/*/source/commit"} {
		if !slices.Contains(members, want) {
			t.Errorf("%s is not among the members of the lock: %q", want, members)
		}
	}
	var seen seenMembers
	for _, m := range members {
		if m != "facets/*/proof" {
			seen.add([]removal{{file: "hallmark.lock", at: strings.Split(strings.ReplaceAll(m, "*", "x"), "/")}})
		}
	}
	if problems := seen.missing(src, []codec{lock}, nil); len(problems) != 1 ||
		!strings.HasPrefix(problems[0].Error(), "facets/*/proof is read from hallmark.lock") {
		t.Errorf("%v", problems)
	}
	excuse := rare{"hallmark.lock", "facets/*/proof", "of this test"}
	if problems := seen.missing(src, []codec{lock}, []rare{excuse}); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
	if problems := seen.missing(src, []codec{lock},
		[]rare{excuse, {"hallmark.lock", "servers/*/self", "of this test"}}); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
	if problems := src.unsaid(slices.DeleteFunc(slices.Clone(unreadTypes), func(u unread) bool {
		return strings.Contains(u.types, "cmd/")
	})); len(problems) == 0 {
		t.Error("types of which nobody says whether they are read are not found")
	}
}
