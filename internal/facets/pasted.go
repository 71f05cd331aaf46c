package facets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxRefSegments bounds how long a branch or tag is looked for at the beginning of a path, in segments.
const maxRefSegments = 10

// Pasted is the source of a facet as people have it: the address of a page of a code host, or one of the short forms
// that git and others take.
type Pasted struct {
	URL string // of the repository; or the text, if it is nothing that is understood here

	// What the address of a page says besides.
	Commit string
	Refs   string // "heads" or "tags" if it says whether it names a branch or a tag
	// the name of a branch or tag, then a directory: both hold slashes, and only the repository knows which ends where
	Path []string
	Sub  string // the directory, beside Commit, or as With was told
}

// IsPage reports whether it was the address of a page, which says more than the repository.
func (p Pasted) IsPage() bool { return p.Commit != "" || len(p.Path) > 0 }

// Short forms. They take less than git does: what begins like an option or holds a colon, a space or a "%" stays as it
// is, and is refused as no URL.
var (
	ownerRepoRE = spelling.Form(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_.][A-Za-z0-9_.-]{0,99}` +
		`(@[A-Za-z0-9_./+-]+)?$`)
	scpRE = spelling.Form(
		`^([A-Za-z0-9_][A-Za-z0-9_.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):/?([A-Za-z0-9_.~][A-Za-z0-9_.~/+@-]*)$`)
)

// IsOwnerRepo reports whether text is OWNER/REPO, or OWNER/REPO@TAG.
func IsOwnerRepo(text string) bool {
	repo, _, _ := strings.Cut(text, "@")
	return ownerRepoRE().MatchString(text) && !hasDots(repo)
}

// IsGitAddress reports whether text can only be meant as the address of a repository: it is no name of a facet, and no
// path.
func IsGitAddress(text string) bool {
	return strings.Contains(text, "://") || scpRE().MatchString(text)
}

// hasDots reports whether a path has a segment that is "." or "..".
func hasDots(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// ParsePasted reads what was pasted. What it does not understand is the URL as it is: [project.Facet.Check] judges it.
func ParsePasted(text string) (Pasted, error) {
	if IsOwnerRepo(text) {
		return Pasted{URL: model.RegistryURLGitHub + "/" + text}, nil
	}
	if m := scpRE().FindStringSubmatch(text); m != nil && !hasDots(m[3]) {
		return Pasted{URL: "ssh://" + m[1] + "@" + m[2] + "/" + m[3]}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.HasSuffix(u.Path, ".git") {
		return Pasted{URL: text}, nil
	}
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	repo, kind, rest := splitPage(segments)
	if kind == "" {
		return Pasted{URL: text}, nil
	}
	p := Pasted{URL: "https://" + u.Host + "/" + strings.Join(segments[:repo], "/")}
	if err := p.readQuery(u); err != nil {
		return Pasted{}, err
	}
	path, err := url.PathUnescape(strings.Join(rest, "/"))
	if err != nil {
		return Pasted{}, err
	}
	return p, p.readPath(kind, path)
}

// splitPage finds in the path of a page where the repository's own ends, which kind of page it is, and what follows: at
// GitHub OWNER/REPO/tree/…, at GitLab GROUP/…/REPO/-/tree/…, at Gitea and Forgejo OWNER/REPO/src/branch/….
func splitPage(segments []string) (repo int, kind string, rest []string) {
	for i := 2; i+1 < len(segments); i++ {
		at, next := segments[i], segments[i+1]
		switch {
		case i == 2 && (at == "tree" || at == "blob"):
			return i, at, segments[i+1:]
		case at == "-" && (next == "tree" || next == "blob"):
			return i, next, segments[i+2:]
		case at == "src" && (next == "branch" || next == "tag" || next == "commit"):
			return i, next, segments[i+2:]
		}
	}
	return 0, "", nil
}

// readQuery takes from the query of a page which kind of reference it shows; what it says of its looks means nothing
// here.
func (p *Pasted) readQuery(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return err
	}
	for key, values := range query {
		switch {
		case key == "ref_type" && len(values) == 1 && (values[0] == "heads" || values[0] == "tags"):
			p.Refs = values[0]
		case key == "plain" || key == "tab" || key == "display":
		default:
			return fmt.Errorf("leave out what follows the ? of the URL: %+q is not understood", key)
		}
	}
	return nil
}

// readPath reads what follows the kind of a page.
func (p *Pasted) readPath(kind, path string) error {
	file := kind == "blob"
	for _, name := range []string{"/" + facet.PluginFile, "/" + facet.SkillFile, "/" + facet.ManifestFile} {
		if dir, ok := strings.CutSuffix(path, name); ok && kind != "tree" { // pages of Gitea do not say what is a file
			path, file = dir, false
			break
		}
	}
	if file {
		return fmt.Errorf("the URL is that of a file; give that of the directory in which its %s is", facet.SkillFile)
	}
	for _, refs := range []string{"heads", "tags"} { // written out where a branch and a tag have one name
		if rest, ok := strings.CutPrefix(path, "refs/"+refs+"/"); ok {
			path, p.Refs = rest, refs
		}
	}
	segments := strings.Split(path, "/")
	if slices.Contains(segments, "") || hasDots(path) {
		return errors.New("the path of the URL does not name a branch, tag or commit, and a directory")
	}
	switch kind {
	case "branch":
		p.Refs = "heads"
	case "tag":
		p.Refs = "tags"
	}
	commit := project.Facet{Git: p.URL, Commit: segments[0]}
	switch {
	case p.Refs == "" && len(segments[0]) == 40 && commit.Check() == nil: // git makes no branch that is called so
		p.Commit, p.Sub = segments[0], strings.Join(segments[1:], "/")
	case kind == "commit":
		return errors.New("the URL needs the commit's 40 hex digits")
	default:
		p.Path = segments
	}
	return nil
}

// With joins what a page says with what flags say of it, which must be the same. What is then known is in the
// declaration: of a page, [Locate] finds out the rest. The URL of f is not looked at.
func (p Pasted) With(f project.Facet) (Pasted, project.Facet, error) {
	f.Git = p.URL
	given := f.Tag + f.Branch + f.Commit
	switch {
	case !p.IsPage():
		return p, f, nil
	case p.Commit != "" && given != "" && (f.Commit != p.Commit || f.Tag+f.Branch != ""):
		return p, f, errors.New("the URL names a commit; leave out --tag, --branch and --commit")
	case p.Commit != "":
		f.Commit = p.Commit
	case f.Commit != "" || f.Tag != "" && f.Branch != "":
		return p, f, errors.New("the URL names a branch or a tag; leave out --tag, --branch and --commit, or give " +
			"the URL of the repository")
	case f.Tag != "" && p.Refs == "heads", f.Branch != "" && p.Refs == "tags":
		return p, f, errors.New("--tag and --branch are two things, and the URL names the other one")
	case given != "":
		rest, ok := strings.CutPrefix(strings.Join(p.Path, "/")+"/", given+"/")
		if !ok {
			return p, f, fmt.Errorf("the URL names another branch or tag than %+q; leave out --tag and --branch", given)
		}
		p.Sub = strings.TrimSuffix(rest, "/")
	default:
		return p, f, nil
	}
	p.Path = nil
	var err error
	f.Sub, err = joinSub(p.Sub, f.Sub)
	return p, f, err
}

// joinSub is the directory that a URL and --sub name.
func joinSub(ofURL, ofFlag string) (string, error) {
	if ofURL == "" || ofFlag == "" || ofURL == ofFlag {
		return cmp.Or(ofURL, ofFlag), nil
	}
	return "", fmt.Errorf("the URL names the directory %+q, and --sub another one", ofURL)
}

// Locate asks the repository of a page which branch or tag, and so which directory, it shows, and completes f with it.
// It asks nobody about what is complete.
func Locate(ctx context.Context, h *host.Host, dir string, p Pasted, f project.Facet,
	o Options) (project.Facet, error) {
	o.Named = p.URL
	return locate(ctx, h, dir, p, f, o)
}

// LocateOrigin is the declaration of a plugin that a marketplace lists from elsewhere: its repository is asked which
// branch or tag is meant. Whether its host may be asked is for the user to say, as for all hosts that nobody named.
func LocateOrigin(ctx context.Context, h *host.Host, dir string, at facet.Origin, name string,
	o Options) (project.Facet, error) {
	p, err := ParsePasted(at.URL)
	if err != nil {
		return project.Facet{}, evidence.Errorf(evidence.Validation, name, "", err)
	}
	f := project.Facet{Name: name, Git: p.URL, Commit: at.Commit, Sub: at.Sub}
	if f.Sub == "." {
		f.Sub = ""
	}
	if p.IsPage() {
		return f, evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("%+q is no URL of a repository", at.URL))
	}
	if at.Commit == "" && at.Ref != "" {
		p.Path = strings.Split(at.Ref, "/")
		for _, refs := range []string{"heads", "tags"} {
			if rest, ok := strings.CutPrefix(at.Ref, "refs/"+refs+"/"); ok {
				p.Path, p.Refs = strings.Split(rest, "/"), refs
			}
		}
	}
	if f, err = locate(ctx, h, dir, p, f, o); err != nil {
		return f, err
	}
	if len(p.Path) > 0 && f.Branch+f.Tag != strings.Join(p.Path, "/") { // a list names all of a branch or tag
		return f, evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("its repository has no branch or tag %+q",
			at.Ref))
	}
	if err := f.Check(); err != nil {
		return f, evidence.Errorf(evidence.Validation, name, "", err)
	}
	return f, nil
}

// locate is [Locate] for a host that was named, or not.
func locate(ctx context.Context, h *host.Host, dir string, p Pasted, f project.Facet,
	o Options) (project.Facet, error) {
	if len(p.Path) == 0 {
		return f, nil
	}
	where := artifact.RedactURLs(p.URL)
	if err := f.Check(); err != nil { // before any request
		return f, evidence.Errorf(evidence.Validation, where, "", err)
	}
	if o.Offline {
		return f, obtain.OfflineError(p.URL)
	}
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, false, true)
	if err != nil {
		return f, err
	}
	defer done()
	w.NamedHost = host.HostOfURL(o.Named)
	var found map[string]string
	if names := p.refNames(); len(names) > 0 {
		if found, err = obtain.FindRefs(ctx, w, p.URL, names); err != nil {
			return f, err
		}
	}
	if f, err = p.choose(f, found); err != nil {
		return f, evidence.Errorf(evidence.Validation, where,
			"give the URL of the repository, and --branch, --tag or --commit, and --sub", err)
	}
	return f, nil
}

// prefixes are the names that may be that of the branch or tag, the longest first.
func (p Pasted) prefixes() (out []string) {
	for n := min(len(p.Path), maxRefSegments); n > 0; n-- {
		name := strings.Join(p.Path[:n], "/")
		if (project.Facet{Git: p.URL, Branch: name}).Check() == nil {
			out = append(out, name)
		}
	}
	return out
}

// refNames are the full names of the references that the page may show.
func (p Pasted) refNames() (out []string) {
	for _, name := range p.prefixes() {
		for _, refs := range []string{"heads", "tags"} {
			if p.Refs == "" || p.Refs == refs {
				out = append(out, "refs/"+refs+"/"+name)
			}
		}
	}
	return out
}

// choose completes a declaration with the longest name that the repository has.
func (p Pasted) choose(f project.Facet, found map[string]string) (project.Facet, error) {
	for _, name := range p.prefixes() {
		branch, tag := found["refs/heads/"+name] != "", found["refs/tags/"+name] != ""
		switch {
		case branch && tag:
			return f, fmt.Errorf("%s is a branch and a tag; say which, with --branch %s or --tag %s", name, name, name)
		case branch:
			f.Branch = name
		case tag:
			f.Tag = name
		default:
			continue
		}
		sub, err := joinSub(strings.TrimPrefix(strings.Join(p.Path, "/")[len(name):], "/"), f.Sub)
		f.Sub = sub
		return f, err
	}
	return f, fmt.Errorf("has no branch or tag with which %q begins", surface.Escape(strings.Join(p.Path, "/")))
}
