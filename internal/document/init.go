package document

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// gitTimeout bounds one git command.
const gitTimeout = 5 * time.Second

// draft is a server.json as [Init] writes it: it has what is required, empty where nothing says it.
type draft struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Version     string            `json:"version"`
	Repository  *model.Repository `json:"repository,omitempty"`
	Packages    []draftPackage    `json:"packages"`
}

type draftPackage struct {
	RegistryType string          `json:"registryType"`
	Identifier   string          `json:"identifier"`
	Version      string          `json:"version,omitempty"`
	Transport    model.Transport `json:"transport"`
}

// Init writes a server.json into dir from the manifests of packages that lie there and git, and returns its path. What
// none of them says is left empty; [InitNotes] says what to do next. It fails if the file exists, and in a directory
// whose packages are those below it. repositoryID, which may be nil, returns GitHub's number of a repository; if it
// fails the member is left out. git gets only the variables of environ that it needs.
func Init(ctx context.Context, environ []string, dir string,
	repositoryID func(ctx context.Context, owner, name string) (string, error)) (string, error) {
	file, err := newDocument(dir)
	if err != nil {
		return "", err
	}
	found, err := readManifests(dir)
	if err != nil {
		return "", err
	}
	if len(found.packages) == 0 && len(found.members) > 0 {
		return "", evidence.Errorf(evidence.Validation, "", "run it in the directory of the package that is the server",
			fmt.Errorf("this directory holds no package, but there are some below it: %s",
				strings.Join(found.members, ", ")))
	}
	return file, found.writeDraft(ctx, environ, dir, file, repositoryID)
}

// InitFile is [Init] for the package ref that was packed into a file: a tarball of npm, or a wheel.
func InitFile(ctx context.Context, environ []string, dir string, ref artifact.Ref, packed string) (string, error) {
	file, err := newDocument(dir)
	if err != nil {
		return "", err
	}
	owner, err := fetch.ReadOwner(packed, ref, maxManifest)
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, packed, "", err)
	}
	if !owner.Named {
		owner.Text = fetch.FirstServer(owner.Text)
	}
	summary, err := fetch.ReadSummary(packed, ref, maxManifest)
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, packed, "", err)
	}
	found := &manifests{packages: []manifest{{string(ref.Kind()), packed, ref.Name(), ref.Version(), summary,
		owner.Text}}}
	return file, found.writeDraft(ctx, environ, dir, file, nil)
}

// newDocument returns the path of a server.json in dir, which must not be there yet, unless it says nothing, as one
// that was begun in an empty directory.
func newDocument(dir string) (string, error) {
	file := filepath.Join(dir, "server.json")
	data, err := host.ReadFile(file, maxManifest)
	if _, missing := os.Lstat(file); missing != nil || err == nil && saysNothing(data) {
		return file, nil
	}
	return "", thereAlready(file)
}

func thereAlready(file string) error {
	return evidence.Errorf(evidence.Validation, file, "edit it, or remove it first", errors.New("is there already"))
}

// saysNothing reports whether a document has no members but its schema, empty texts and empty lists.
func saysNothing(document []byte) bool {
	var members map[string]any
	if surface.Decode(document, &members) != nil {
		return false
	}
	for name, value := range members {
		text, isText := value.(string)
		list, isList := value.([]any)
		if name != "$schema" && (!isText && !isList || text != "" || len(list) > 0) {
			return false
		}
	}
	return len(members) > 0
}

// writeDraft writes a server.json from what m and git say: see [Init].
func (m *manifests) writeDraft(ctx context.Context, environ []string, dir, file string,
	repositoryID func(ctx context.Context, owner, name string) (string, error)) error {
	doc, err := m.draft(ctx, environ, dir)
	if err != nil {
		return err
	}
	if owner, name, ok := githubRepository(doc.Repository); ok && repositoryID != nil {
		if id, err := repositoryID(ctx, owner, name); err == nil {
			doc.Repository.ID = id
		}
	}
	text, err := machine.MarshalIndented(doc)
	if err != nil {
		return err
	}
	old, err := host.ReadFile(file, maxManifest)
	if err == nil && saysNothing(old) && !saysNothing(text) {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return thereAlready(file)
	}
	if err != nil {
		return evidence.Errorf(evidence.Operation, file, "", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(file) // an empty one, of a full disk, would stop the next attempt
	}
	return err
}

// InitNotes returns what the author of the packages in dir has to know: which manifest is of no package, and which line
// a package lacks to be one of server, which may be "".
func InitNotes(dir, server string) ([]string, error) {
	found, err := readManifests(dir)
	if err != nil {
		return nil, err
	}
	return append(found.notes, found.unnamed(server)...), nil
}

// draft returns a server.json from what m and git say.
func (m *manifests) draft(ctx context.Context, environ []string, dir string) (*draft, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	repository, subfolder := m.repositoryURL(ctx, environ, abs), ""
	if top := gitOutput(ctx, environ, abs, "rev-parse", "--show-toplevel"); top != "" {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			if rel, err := filepath.Rel(top, real); err == nil && filepath.IsLocal(rel) && rel != "." {
				subfolder = filepath.ToSlash(rel)
			}
		}
	}
	doc := &draft{Schema: model.CurrentSchemaURL, Name: m.serverName(repository, subfolder), Packages: []draftPackage{}}
	if repository != "" {
		doc.Repository = &model.Repository{URL: repository, Source: repositorySource(repository), Subfolder: subfolder}
	}
	for _, p := range m.packages {
		doc.Description, doc.Version = cmp.Or(doc.Description, p.description), cmp.Or(doc.Version, p.version)
		out := draftPackage{RegistryType: p.kind, Identifier: p.name, Version: p.version,
			Transport: model.Transport{Type: model.TransportTypeStdio}}
		if p.kind == model.RegistryTypeOCI || p.kind == model.RegistryTypeMCPB {
			out.Version = "" // it is part of the identifier
		}
		doc.Packages = append(doc.Packages, out)
	}
	doc.Description = cmp.Or(doc.Description, m.private.description)
	doc.Version = cmp.Or(doc.Version, m.private.version)
	return doc, nil
}

// serverName returns the name that a package has for the server, else one made from the repository or the scope of a
// package, in this order; "" if there is none.
func (m *manifests) serverName(repository, subfolder string) string {
	for _, p := range append(slices.Clone(m.packages), m.private) {
		if p.server != "" {
			return p.server
		}
	}
	if owner, name, ok := githubRepository(&model.Repository{URL: repository, Source: "github"}); ok {
		if subfolder != "" {
			name = path.Base(subfolder)
		}
		return "io.github." + owner + "/" + name
	}
	for _, p := range m.packages {
		if scope, name, ok := strings.Cut(p.name, "/"); ok && strings.HasPrefix(scope, "@") {
			return "io.github." + scope[1:] + "/" + name
		}
	}
	return ""
}

// unnamed says of each package that does not name the server which line it needs: it cannot be published without.
func (m *manifests) unnamed(server string) (notes []string) {
	shown := cmp.Or(server, "NAME")
	if server == "" {
		notes = append(notes, "give the server a name: io.github.OWNER/notes is for who logs in to GitHub as OWNER, "+
			"com.example/notes for who holds example.com")
	}
	if len(m.packages) == 0 {
		notes = append(notes, "no package was found here; name one in packages, or where the server runs in remotes")
	}
	for _, p := range m.packages {
		if server != "" && p.server == server {
			continue
		}
		switch p.kind {
		case model.RegistryTypeNPM:
			notes = append(notes, fmt.Sprintf("package.json needs the line \"mcpName\": %q before the package is "+
				"published: by it a registry knows that the package is for this server", shown))
		case model.RegistryTypeOCI:
			notes = append(notes, "the Dockerfile needs the line LABEL "+ownerLabel+"="+shown+": by it a registry "+
				"knows that the image is for this server")
		case model.RegistryTypeMCPB: // which names no server
		default:
			line := "<!-- mcp-name: " + shown + " -->"
			if p.kind == model.RegistryTypeCargo {
				line = "mcp-name: " + shown // its registry shows readmes without comments
			}
			notes = append(notes, "the README of the package ("+p.file+") needs the line '"+line+
				"' before the package is published: "+
				"by it a registry knows that the package is for this server")
		}
	}
	return notes
}

// repositoryURL returns the https URL of the repository that git or package.json names, or "".
func (m *manifests) repositoryURL(ctx context.Context, environ []string, dir string) string {
	found := gitOutput(ctx, environ, dir, "remote", "get-url", "origin")
	if found == "" && len(m.repository) > 0 {
		var object struct{ URL string }
		if json.Unmarshal(m.repository, &found) != nil && json.Unmarshal(m.repository, &object) == nil {
			found = object.URL
		}
	}
	found, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(found), "git+"), "#")
	found = strings.TrimSuffix(found, ".git")
	if short := shorthand().FindStringSubmatch(found); short != nil { // of package.json
		base := model.RegistryURLGitHub
		if short[1] == "gitlab" {
			base = model.RegistryURLGitLab
		}
		found = base + "/" + short[2]
	}
	if rest, ok := strings.CutPrefix(found, "git@"); ok { // git@host:owner/name
		if host, where, ok := strings.Cut(rest, ":"); ok {
			found = "https://" + host + "/" + where
		}
	}
	u, err := url.Parse(found)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil // it may be a password
	if !strings.Contains(u.Hostname(), ".") {
		return "" // a name that only this machine's configuration knows
	}
	if owner, rest, ok := strings.Cut(strings.Trim(u.Path, "/"), "/"); ok &&
		u.Hostname() == HostOf(model.RegistryURLGitHub) {
		name, _, _ := strings.Cut(rest, "/") // behind it is a place in the repository
		u.Path = "/" + owner + "/" + name
	}
	switch u.Scheme {
	case "ssh", "git", "http", "https":
		u.Scheme, u.Host = "https", u.Hostname()
		return u.String()
	}
	return ""
}

// shorthand matches how package.json names a repository without its URL.
var shorthand = spelling.Form(`^(?:(github|gitlab):)?([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)$`)

// gitOutput returns what a git command prints, or "" where there is no git or no repository.
func gitOutput(ctx context.Context, environ []string, dir string, args ...string) string {
	checkout := foreign.FindCheckout(dir,
		cmp.Or(foreign.Variable(environ, "HOME"), foreign.Variable(environ, "USERPROFILE")))
	bin, err := checkout.Find(foreign.Variable(environ, "PATH"), "git")
	if err != nil {
		return ""
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return ""
	}
	// Find the repository around dir, whatever the environment says, and run no program that its
	// configuration names.
	settings := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.pager=cat"}
	out, err := foreign.Run(ctx, foreign.Call{
		Tool: foreign.Git, Path: bin, Args: append(settings, args...), Dir: dir, Checkout: checkout, Environ: environ,
		Time: gitTimeout, Output: 1 << 20,
		Set: []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"},
	})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out.Stdout))
}

// repositorySource returns the name of a repository's service as server.json writes it.
func repositorySource(repository string) string {
	switch HostOf(repository) {
	case HostOf(model.RegistryURLGitHub):
		return "github"
	case HostOf(model.RegistryURLGitLab):
		return "gitlab"
	}
	return "git"
}

// githubRepository returns the owner and name of a repository at GitHub.
func githubRepository(r *model.Repository) (owner, name string, ok bool) {
	if r == nil || HostOf(r.URL) != HostOf(model.RegistryURLGitHub) {
		return "", "", false
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return "", "", false
	}
	owner, name, ok = strings.Cut(strings.Trim(u.Path, "/"), "/")
	return owner, name, ok && owner != "" && name != "" && !strings.Contains(name, "/")
}

// HostOf returns the host of a URL without its port, "" if it has none.
func HostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
