package document

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/api/v0"
	"github.com/modelcontextprotocol/registry/pkg/model"
	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// maxManifest bounds a manifest that [Init] reads, in bytes.
const maxManifest = 4 << 20

// gitTimeout bounds one git command.
const gitTimeout = 5 * time.Second

// manifests holds the members of a project's manifests that [Init] copies into a server.json.
type manifests struct {
	npm struct {
		Name, Version, Description string
		MCPName                    string `json:"mcpName"`
		Repository                 json.RawMessage
	}
	python struct {
		Project struct{ Name, Version, Description string }
	}
	hasNPM, hasPython, hasDocker bool
}

// Init writes a server.json into dir from package.json, pyproject.toml, a Dockerfile and git, with
// examples for values that none of them has, and returns its path. It fails if the file exists.
// repositoryID, which may be nil, returns GitHub's number of a repository; if it fails the member
// is left out. git gets only the variables of environ that it needs.
func Init(ctx context.Context, environ []string, dir string,
	repositoryID func(ctx context.Context, owner, name string) (string, error)) (string, error) {
	file := filepath.Join(dir, "server.json")
	if _, err := os.Lstat(file); err == nil {
		return "", evidence.Errorf(evidence.Validation, file, "edit it, or remove it first",
			errors.New("is there already"))
	}
	m, err := readManifests(dir)
	if err != nil {
		return "", err
	}
	doc, err := m.document(ctx, environ, dir)
	if err != nil {
		return "", err
	}
	if owner, name, ok := githubRepository(doc.Repository); ok && repositoryID != nil {
		if id, err := repositoryID(ctx, owner, name); err == nil {
			doc.Repository.ID = id
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", evidence.Errorf(evidence.Operation, file, "", err)
	}
	_, err = f.Write(b.Bytes())
	return file, errors.Join(err, f.Close())
}

func readManifests(dir string) (*manifests, error) {
	m := new(manifests)
	read := func(name string, decode func([]byte) error) (bool, error) {
		data, err := beneath.ReadIn(dir, name, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, evidence.Errorf(evidence.Refused, name, "", errors.Unwrap(err))
		}
		if err := decode(data); err != nil {
			return false, evidence.Errorf(evidence.Validation, name, "", err)
		}
		return true, nil
	}
	var err error
	if m.hasNPM, err = read("package.json",
		func(data []byte) error { return json.Unmarshal(data, &m.npm) }); err != nil {
		return nil, err
	}
	if m.hasPython, err = read("pyproject.toml",
		func(data []byte) error { return toml.Unmarshal(data, &m.python) }); err != nil {
		return nil, err
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist)
	}
	m.hasPython = m.hasPython || exists("setup.py")
	m.hasDocker = exists("Dockerfile")
	return m, nil
}

// document returns a server.json from what m and git say.
func (m *manifests) document(ctx context.Context, environ []string, dir string) (*v0.ServerJSON, error) {
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
	doc := &v0.ServerJSON{
		Schema: model.CurrentSchemaURL,
		Name:   m.serverName(repository, subfolder, filepath.Base(abs)),
		Description: cmp.Or(m.npm.Description, m.python.Project.Description,
			"An MCP server that provides [describe what your server does]"),
		Version: cmp.Or(m.npm.Version, m.python.Project.Version, "1.0.0"),
	}
	if repository != "" {
		doc.Repository = &model.Repository{URL: repository, Source: repositorySource(repository), Subfolder: subfolder}
	}
	p := model.Package{
		Transport: model.Transport{Type: model.TransportTypeStdio},
		EnvironmentVariables: []model.KeyValueInput{{Name: "YOUR_API_KEY", InputWithVariables: model.InputWithVariables{
			Input: model.Input{Description: "Your API key for the service", IsRequired: true, IsSecret: true,
				Format: model.FormatString}}}},
	}
	switch namespace, name, _ := strings.Cut(doc.Name, "/"); {
	case m.hasNPM || !m.hasPython && !m.hasDocker:
		p.RegistryType, p.Version = model.RegistryTypeNPM, doc.Version
		p.Identifier = "@your-org/your-package"
		if owner, ok := strings.CutPrefix(namespace, "io.github."); ok {
			p.Identifier = "@" + owner + "/" + name
		}
		p.Identifier = cmp.Or(m.npm.Name, p.Identifier)
	case m.hasPython:
		p.RegistryType, p.Version = model.RegistryTypePyPI, doc.Version
		p.Identifier = cmp.Or(m.python.Project.Name, "your-package")
	default:
		p.RegistryType = model.RegistryTypeOCI
		p.Identifier = "oci.example.com/your-org/" + name + ":" + doc.Version
	}
	doc.Packages = []model.Package{p}
	return doc, nil
}

// serverName returns mcpName of package.json, else a name made from the repository, the package or
// the directory, in this order.
func (m *manifests) serverName(repository, subfolder, dir string) string {
	if m.npm.MCPName != "" {
		return m.npm.MCPName
	}
	if owner, name, ok := githubRepository(&model.Repository{URL: repository, Source: "github"}); ok {
		if subfolder != "" {
			name = path.Base(subfolder)
		}
		return "io.github." + owner + "/" + name
	}
	switch scope, name, scoped := strings.Cut(m.npm.Name, "/"); {
	case scoped && strings.HasPrefix(scope, "@"):
		return "io.github." + scope[1:] + "/" + name
	case m.npm.Name != "":
		return "io.github.<your-username>/" + m.npm.Name
	}
	return "com.example/" + dir
}

// repositoryURL returns the https URL of the repository that git or package.json names, or "".
func (m *manifests) repositoryURL(ctx context.Context, environ []string, dir string) string {
	found := gitOutput(ctx, environ, dir, "remote", "get-url", "origin")
	if found == "" && len(m.npm.Repository) > 0 {
		var object struct{ URL string }
		if json.Unmarshal(m.npm.Repository, &found) != nil && json.Unmarshal(m.npm.Repository, &object) == nil {
			found = object.URL
		}
	}
	found = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(found), "git+"), ".git")
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
	switch u.Scheme {
	case "ssh", "git", "http", "https":
		u.Scheme, u.Host = "https", u.Hostname()
		return u.String()
	}
	return ""
}

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
