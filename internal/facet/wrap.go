package facet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// The rules by which facets are made of what people have: a folder with a SKILL.md, and a plugin of a client, which
// has a manifest such as .claude-plugin/plugin.json. They are in spec/facet.md, with vectors in spec/wrap.json and
// spec/wrap-2.json. They depend on paths, contents and the name that is given alone, so that the same files have the
// same fingerprint, no matter who wraps them, on which platform, and from where: a repository, a directory or
// an archive. No program of the publisher is run, and nothing is read as YAML: what a rule needs of the head of a
// Markdown file is read line by line, as the specification says, so that no library's reading of it is part of a
// fingerprint.
//
// Locks record which one was applied, and all from 1 on are known. A skill is wrapped by the first, to which
// the newest adds nothing for skills.
const (
	WrapRule       = 1 // of skills
	NewestWrapRule = 2 // of plugins
)

// The files by which a directory is known.
const (
	SkillFile  = "SKILL.md"
	PluginFile = ".claude-plugin/plugin.json"
)

// Limits of what is read to make a facet. Contents are copied without one of their own: packing has limits.
const (
	maxHead     = 64 << 10 // bytes of a Markdown file, in which its head must end
	maxText     = 1 << 20  // bytes of a Markdown file that are searched for what a client does with it
	maxPaths    = 1000     // that one member of a manifest names
	maxDocument = 1 << 20  // bytes of plugin.json and .mcp.json
)

// Dir is a directory as its source has it: all of what is below it.
type Dir struct {
	Files  []tree.File       // regular files, in any order
	Links  map[string]string // symbolic links: what each says, by its path
	Others map[string]string // what is neither, such as "a submodule", by its path
	Open   tree.Open         // of a regular file
	// ID names the bytes of a regular file, which need not be read then to compare it; nil if nobody knows.
	ID func(path string) string
	// Private are regular files and links that belong to no facet, with why, as if they were not there: they are noted.
	Private map[string]string
}

// Form is what a directory is.
type Form string

// The forms of directories, in the order in which the first that applies decides.
const (
	FormFacet  Form = "facet"  // has a facet.json, and is not wrapped
	FormPlugin Form = "plugin" // has a .claude-plugin/plugin.json, or the manifest of another client's plugins
	FormSkill  Form = "skill"  // has a SKILL.md
)

// ErrNoForm is wrapped by the error for a directory that is nothing that can be wrapped.
var ErrNoForm = errors.New("holds no " + ManifestFile + ", " + SkillFile + " or " + PluginFile +
	", nor a plugin of another client")

// ErrNothing is wrapped by the error for a plugin of which a facet can have nothing.
var ErrNothing = errors.New("delivers nothing that can be installed here")

// NothingHint leads on from [ErrNothing].
const NothingHint = "what can be installed are skills, MCP servers, and agents and commands as Markdown files " +
	"(.md, not .toml); install the rest with the client that it is made for"

// makePlugin leads on from agents and commands that belong to no plugin.
const makePlugin = "copy them into a directory of your own, write " + PluginFile +
	" with {\"name\": \"NAME\"} beside them, and run 'hallmark add --path DIR'"

// Wrapped is a directory that was wrapped: a generated facet.json, and the files of the directory, byte for byte, at
// other paths. What the form of a facet cannot say, such as hooks, is in Notes; what runs once it is installed is found
// by [Runs].
type Wrapped struct {
	Form  Form
	Rule  int // that was applied
	Name  string
	Files []tree.File       // by their paths in the facet, in canonical order
	Open  tree.Open         // of a file by that path
	Notes []Note            // what of the directory is not installed
	From  map[string]string // the file of the directory that has the bytes of a file, by that path
}

// Note says of a file or a declaration of a directory that it is not installed, and why.
type Note struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Wrap makes a facet of d, a folder with a SKILL.md or a plugin, by the newest rule. It is called name or, if that is
// empty, as the directory itself says. Errors about what the directory holds are of class validation.
func Wrap(d Dir, name string) (*Wrapped, error) { return WrapBy(NewestWrapRule, d, name) }

// WrapBy makes a facet of d as [Wrap] does, by a rule from 1 to [NewestWrapRule]: what is locked is wrapped
// again as it was.
func WrapBy(rule int, d Dir, name string) (*Wrapped, error) {
	if rule < 1 || rule > NewestWrapRule {
		return nil, invalid("the rule of wrapping %d is not known to this build, which has %d", rule, NewestWrapRule)
	}
	w := begin(rule, d, name)
	form, _, format := d.layout().form(rule)
	make, ok := map[Form]func() error{FormPlugin: w.wrapPlugin, FormSkill: w.wrapSkill}[form]
	if !ok { // before anything of it is looked at: what is to be installed may be a directory below it
		return nil, evidence.Errorf(evidence.Validation, "", "name the directory of a skill, with --sub or --path; "+
			"for agents/ and commands/ without one, "+makePlugin, ErrNoForm)
	}
	if w.format = format; form == FormSkill {
		w.rule = WrapRule
	}
	if err := w.resolve(d); err != nil {
		return nil, err
	}
	if err := make(); err != nil {
		return nil, err
	}
	if rule > WrapRule {
		if err := w.noteVariables(); err != nil {
			return nil, err
		}
	}
	return w.finish(form)
}

// begin begins a facet.
func begin(rule int, d Dir, name string) *wrapping {
	return &wrapping{rule: rule, name: name, contents: map[string]string{}, manifest: map[string]any{}, open: d.Open}
}

// wrapping is a facet that is being made.
type wrapping struct {
	rule     int
	name     string                // of the facet, once it is known
	format   *pluginFormat         // nil for a skill
	files    map[string]sourceFile // of the directory
	order    []string              // their paths, sorted; nil until somebody asked
	open     tree.Open             //
	contents map[string]string     // paths of the directory, by paths in the facet
	manifest map[string]any        // the members of facet.json
	unsound  map[string]error      // links and others that are no files, by path: no skill may hold one
	notes    []Note
}

// sourceFile is a file of the directory, or a link to one.
type sourceFile struct {
	path string // of the regular file that has the bytes
	size int64
}

// sorted are the paths of the directory, in byte order, once they are all known.
func (w *wrapping) sorted() []string {
	if w.order == nil {
		w.order = sortedKeys(w.files)
	}
	return w.order
}

// note adds what is not installed.
func (w *wrapping) note(what, format string, args ...any) {
	w.notes = append(w.notes, Note{what, fmt.Sprintf(format, args...)})
}

// setName sets the name of the facet to what its directory says of itself, unless one was given.
func (w *wrapping) setName(written, where string) error {
	if w.name == "" {
		w.name = facetName(written)
	}
	switch {
	case w.name != "" && CheckName(w.name):
		return nil
	case w.name != "":
		return invalid("%+q is not the name of a facet", w.name)
	case written == "":
		return unnamed("has no name in its %s", where)
	}
	return unnamed("is called %+q in its %s, of which no name of a facet can be made", clip(written), where)
}

// ErrUnnamed is wrapped by the error for a directory that does not say what its facet is called.
var ErrUnnamed = errors.New("its facet has no name")

// unnamed is that error.
func unnamed(format string, args ...any) error {
	return evidence.Errorf(evidence.Validation, "", "name it: 'hallmark add NAME' with the same --git or --path",
		unnamedError(fmt.Sprintf(format, args...)))
}

// unnamedError says why a facet has no name.
type unnamedError string

func (e unnamedError) Error() string        { return string(e) }
func (e unnamedError) Is(target error) bool { return target == ErrUnnamed }

// NameOf is the name of a facet that is made of the last segment of a path or a URL, as a directory that says none is
// called; "" if there is none.
func NameOf(where string) string {
	return facetName(strings.TrimSuffix(path.Base(strings.TrimRight(where, "/")), ".git"))
}

// invalid is an error about what a directory holds.
func invalid(format string, args ...any) error {
	return evidence.Errorf(evidence.Validation, "", "", fmt.Errorf(format, args...))
}

// read reads a file of the directory into memory, up to limit bytes; more is an error.
func (w *wrapping) read(at string, limit int64) ([]byte, error) {
	f := w.files[at]
	if f.size > limit {
		return nil, invalid("%+q has %d bytes; the limit is %d", at, f.size, limit)
	}
	return readSome(w.open, f.path, limit)
}

// readSome reads the first limit bytes of a file.
func readSome(open tree.Open, at string, limit int64) ([]byte, error) {
	r, err := open(at)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	return data, errors.Join(err, r.Close())
}

// readHead reads the head of a Markdown file of the directory.
func (w *wrapping) readHead(at string) (Head, error) {
	data, err := readSome(w.open, w.files[at].path, maxHead)
	return ParseHead(data), err
}

// put puts a file of the directory into the facet.
func (w *wrapping) put(to, from string) error {
	if other, ok := w.contents[to]; ok {
		return invalid("%+q and %+q would both be %s of the facet", other, from, to)
	}
	w.contents[to] = from
	return nil
}

// finish writes facet.json, and checks all of the facet as any reader does.
func (w *wrapping) finish(form Form) (*Wrapped, error) {
	if err := w.checkPaths(form); err != nil {
		return nil, err
	}
	w.manifest["name"] = w.name
	text, err := encode(w.manifest)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, w.name, "", fmt.Errorf("cannot be a facet: %w", err))
	}
	f := &Wrapped{Form: form, Rule: w.rule, Name: w.name, Notes: w.notes, From: map[string]string{}}
	for _, p := range m.Paths() {
		size := int64(len(text))
		if p != ManifestFile {
			from := w.files[w.contents[p]]
			size, f.From[p] = from.size, from.path
		}
		f.Files = append(f.Files, tree.File{Path: p, Size: size})
	}
	f.Open = func(p string) (io.ReadCloser, error) {
		if p == ManifestFile {
			return io.NopCloser(strings.NewReader(string(text))), nil
		}
		from, ok := w.contents[p]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
		}
		return w.open(w.files[from].path)
	}
	return f, nil
}

// below reports whether a path is in a directory, or below it, and returns the rest of the path. Everything is below
// ".".
func below(p, dir string) (rest string, ok bool) {
	if dir == "." {
		return p, true
	}
	return strings.CutPrefix(p, dir+"/")
}
