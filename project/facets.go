package project

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Facet is an entry of the [facets] table.
type Facet struct {
	Name string
	Line int // in hallmark.toml

	Requirement artifact.Requirement // of a registry's facet; zero for another source

	Git    string // URL of a repository
	Tag    string // at most one of Tag, Branch and Commit
	Branch string
	Commit string // 40 hex digits
	Sub    string // directory in the repository; "" is its root

	Path string // of a local directory, relative to the project
	// what of the directory only its owner can read, or is called as secrets are, belongs to the facet too
	Private bool

	// What of it is installed here, of any source:
	Prefix string   // before the names of its skills, agents and commands, with a hyphen; "" for none
	Parts  []string // "skill NAME", "agent NAME", "command NAME" and "server NAME" as the facet has them; none for all
}

var commitRE = spelling.Form(`^[0-9a-f]{40}$`)

// gitRefRE is what a tag or branch may be called here: git allows more, but nothing that
// begins like an option or that a shell or a refspec would read otherwise.
var gitRefRE = spelling.Form(`^[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}$`)

// facets checks the [facets] table; lines is where its keys stand.
func facets(raw map[string]any, lines map[string]int) (map[string]Facet, []error) {
	out := map[string]Facet{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		f, err := parseFacet(name, raw[name])
		f.Line = lines["facets."+name]
		if err != nil {
			problems = append(problems, fmt.Errorf("line %d: facets.%s: %w", f.Line, surface.Escape(name), err))
			continue
		}
		out[name] = f
	}
	return out, problems
}

func parseFacet(name string, value any) (f Facet, err error) {
	f.Name = name
	if !facet.CheckName(name) {
		return f, errors.New(`a facet is called NAME or @SCOPE/NAME, of lower-case letters, digits and '-'`)
	}
	table, ok := value.(map[string]any)
	if !ok {
		text, ok := value.(string)
		if !ok {
			return f, errors.New(`needs a version requirement such as "1.*", or { git = "…" } or { path = "…" }`)
		}
		f.Requirement, err = artifact.ParseRequirement(text)
		return f, err
	}
	version := ""
	fields := map[string]*string{
		"git": &f.Git, "tag": &f.Tag, "branch": &f.Branch, "commit": &f.Commit, "sub": &f.Sub, "path": &f.Path,
		"version": &version, "prefix": &f.Prefix,
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if key == "private" {
			if f.Private, ok = table[key].(bool); !ok {
				return f, errors.New("private must be true or false")
			}
			continue
		}
		if key == "parts" {
			if f.Parts, err = parseParts(table[key]); err != nil {
				return f, err
			}
			continue
		}
		to, ok := fields[key]
		if !ok {
			return f, fmt.Errorf("unknown key %s", surface.Escape(key))
		}
		if *to, ok = table[key].(string); !ok || *to == "" {
			return f, fmt.Errorf("%s must be a text that is not empty", key)
		}
	}
	if version != "" {
		if f.Requirement, err = artifact.ParseRequirement(version); err != nil {
			return f, err
		}
	}
	if f.Kind().HasVersions() && version == "" {
		return f, f.checkSource()
	}
	return f, f.Check()
}

// parseParts reads which parts of a facet are wanted.
func parseParts(value any) (parts []string, err error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New(`parts must be a list such as ["skill pdf", "command review"]`)
	}
	for _, one := range list {
		text, _ := one.(string)
		parts = append(parts, text)
	}
	return parts, nil
}

// partKinds are what a part of a facet may be.
var partKinds = []string{"skill", "agent", "command", "server"}

// checkParts says what is wrong with what of f is wanted, and how it is called.
func (f Facet) checkParts() error {
	if f.Prefix != "" && (!facet.CheckName(f.Prefix) || strings.HasPrefix(f.Prefix, "@") || len(f.Prefix) > maxPrefix) {
		return fmt.Errorf("prefix %+q is none: it has 2 to %d lower-case letters and digits, with hyphens between them",
			f.Prefix, maxPrefix)
	}
	for i, part := range f.Parts {
		kind, name, _ := strings.Cut(part, " ")
		if !slices.Contains(partKinds, kind) || name == "" || strings.ContainsAny(name, " \t\r\n") || len(name) > 128 {
			return fmt.Errorf("part %+q is none: a part is KIND NAME, such as skill pdf; kinds are %s", part,
				strings.Join(partKinds, ", "))
		}
		if slices.Contains(f.Parts[:i], part) {
			return fmt.Errorf("part %+q is there twice", part)
		}
	}
	return nil
}

// WantsServer reports whether a server of f is wanted, by the name that the facet gives it or by that of its entry.
func (f Facet) WantsServer(name string) bool {
	return len(f.Parts) == 0 || slices.ContainsFunc(f.Parts, func(part string) bool {
		of, ok := strings.CutPrefix(part, "server ")
		return ok && facet.EntryName(of) == facet.EntryName(name)
	})
}

// maxPrefix is the longest prefix: clients take names of at most 64 letters.
const maxPrefix = 32

// checkSource says what is wrong with the source of f, which is no registry.
func (f Facet) checkSource() error {
	refs := 0
	for _, ref := range []string{f.Tag, f.Branch, f.Commit} {
		if ref != "" {
			refs++
		}
	}
	switch {
	case f.Git != "" && f.Path != "":
		return errors.New("has both git and path; one of them is the source")
	case f.Requirement.String() != "":
		return errors.New("version belongs to a facet of the registry, without git and path")
	case f.Private && f.Path == "":
		return errors.New("private belongs to path")
	case f.Git == "" && f.Path == "":
		return errors.New("needs git or path, to which tag, branch, commit and sub belong")
	case f.Path != "" && (refs > 0 || f.Sub != ""):
		return errors.New("tag, branch, commit and sub belong to git")
	case f.Path != "":
		if strings.ContainsAny(f.Path, "\x00\n\r") {
			return fmt.Errorf("path %+q is none", f.Path)
		}
		return nil
	case refs > 1:
		return errors.New("has several of tag, branch and commit")
	case f.Commit != "" && !commitRE().MatchString(f.Commit):
		return errors.New("commit must be 40 lower-case hex digits")
	}
	for _, ref := range []string{f.Tag, f.Branch} {
		if ref == "" {
			continue
		}
		if !gitRefRE().MatchString(ref) || strings.Contains(ref, "..") ||
			strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".lock") {
			return fmt.Errorf("%+q cannot be the name of a tag or branch", ref)
		}
	}
	if f.Sub != "" {
		if err := archive.CheckPath(f.Sub); err != nil {
			return fmt.Errorf("sub %+q is not a clean relative path: %w", f.Sub, err)
		}
	}
	return checkGitURL(f.Git)
}

// checkGitURL allows https and ssh. A password in a URL would end up in the lock.
func checkGitURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return fmt.Errorf("git %+q is no URL such as https://host/repository.git or ssh://git@host/repository.git", s)
	}
	_, secret := u.User.Password()
	switch {
	case u.Scheme != "https" && u.Scheme != "ssh":
		return fmt.Errorf("git: the scheme %+q is not allowed; https and ssh are", u.Scheme)
	case secret || u.Scheme == "https" && u.User != nil:
		return errors.New("git: a URL with credentials is refused; git has its own place for them")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("git: a URL of a repository has neither query nor fragment")
	case strings.HasPrefix(u.Host, "-"), strings.HasPrefix(u.User.Username(), "-"):
		return fmt.Errorf("git %+q is no URL of a repository", s)
	}
	return nil
}
