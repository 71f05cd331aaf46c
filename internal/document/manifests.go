package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"
	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxManifest bounds a manifest that [Init] reads, in bytes.
const maxManifest = 4 << 20

// manifests is what the manifests in a directory say. Text is their author's.
type manifests struct {
	packages   []manifest
	repository json.RawMessage // of package.json
	members    []string        // directories below, which a workspace has its packages in
	private    manifest        // a package.json that npm does not publish; it says what the server is all the same
	notes      []string        // why something is no package
}

// manifest is a package that is published from a directory. What its manifest does not say is "".
type manifest struct {
	kind, file                 string // registryType, and the name of the manifest
	name, version, description string
	server                     string // for which it says that it is
}

// manifestReader reads the manifests of one kind, by the text of one of that name.
type manifestReader struct {
	pattern string
	read    func(m *manifests, file string, data []byte) error
}

// readers are in the order in which a directory's packages are listed.
var readers = []manifestReader{
	{"package.json", (*manifests).readNPM},
	{"pnpm-workspace.yaml", (*manifests).readPnpm},
	{"pyproject.toml", (*manifests).readPyproject},
	{"setup.py", (*manifests).readSetup},
	{"Cargo.toml", (*manifests).readCargo},
	{"*.csproj", (*manifests).readCsproj},
	{"manifest.json", (*manifests).readBundle},
	{"go.mod", (*manifests).readGo},
	{"Dockerfile", (*manifests).readDocker},
}

// readmeRE matches the line by which a package names its server; one in a sentence may be an example.
var readmeRE = spelling.Form(`(?m)^\s*(?:<!--\s*)?mcp-name: ([A-Za-z0-9.-]+/[A-Za-z0-9._-]+)\s*(?:-->)?\s*$`)

func readManifests(dir string) (*manifests, error) {
	m := new(manifests)
	readme := ""
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, OpenError(dir, err)
	}
	read := func(name string) ([]byte, error) {
		data, err := durable.ReadIn(dir, name, maxManifest)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, evidence.Errorf(evidence.Refused, name, "", errors.Unwrap(err))
		}
		return data, err
	}
	for _, e := range entries {
		if strings.EqualFold(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), "readme") && e.Type().IsRegular() {
			data, err := read(e.Name())
			if err != nil {
				return nil, err
			}
			readme += string(data)
		}
	}
	for _, r := range readers {
		for _, e := range entries {
			if ok, _ := filepath.Match(r.pattern, e.Name()); !ok || e.IsDir() {
				continue
			}
			data, err := read(e.Name())
			if err != nil {
				return nil, err
			}
			if err := r.read(m, e.Name(), data); err != nil {
				return nil, evidence.Errorf(evidence.Validation, e.Name(), "mend the file first", err)
			}
		}
	}
	for i, p := range m.packages {
		if found := readmeRE().FindStringSubmatch(readme); p.server == "" && found != nil &&
			p.kind != model.RegistryTypeNPM && p.kind != model.RegistryTypeOCI {
			m.packages[i].server = found[1]
		}
	}
	m.findMembers(dir)
	if isRegular(filepath.Join(dir, toolDocument)) {
		m.notes = append(m.notes, filepath.ToSlash(toolDocument)+
			" is there too, which a NuGet package carries: let it say the same")
	}
	return m, nil
}

// findMembers replaces the patterns of a workspace by the directories that there are.
func (m *manifests) findMembers(dir string) {
	var all []string
	for _, pattern := range m.members {
		if above, ok := strings.CutSuffix(pattern, "/**"); ok {
			pattern = above + "/*"
		}
		found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		for _, f := range found {
			info, err := os.Stat(f)
			rel, err2 := filepath.Rel(dir, f)
			if err == nil && err2 == nil && info.IsDir() && filepath.IsLocal(rel) && rel != "." {
				all = append(all, filepath.ToSlash(rel))
			}
		}
	}
	slices.Sort(all)
	m.members = slices.Compact(all)
}

func (m *manifests) readNPM(file string, data []byte) error {
	var p struct {
		Name, Version, Description string
		MCPName                    string `json:"mcpName"`
		Private                    any
		Repository, Workspaces     json.RawMessage
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\uFEFF")), &p); err != nil {
		return err
	}
	private := p.Private != nil && p.Private != false
	m.repository = p.Repository
	said := manifest{model.RegistryTypeNPM, file, p.Name, p.Version, p.Description, p.MCPName}
	if private {
		m.private = said
	}
	var packages []string
	var object struct{ Packages []string }
	if len(p.Workspaces) > 0 && json.Unmarshal(p.Workspaces, &packages) != nil &&
		json.Unmarshal(p.Workspaces, &object) == nil {
		packages = object.Packages
	}
	m.members = append(m.members, packages...)
	switch {
	case private && len(packages) == 0:
		m.notes = append(m.notes, "package.json says \"private\": true, so that npm does not publish it; it is "+
			"left out")
	case !private && p.Name != "":
		m.packages = append(m.packages, said)
	}
	return nil
}

// readPnpm takes the entries of all lists: what is no directory is left out later, and a reader of YAML is larger than
// the rest of mcp-publisher's own code.
func (m *manifests) readPnpm(_ string, data []byte) error {
	for line := range strings.Lines(string(data)) {
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			m.members = append(m.members, strings.Trim(strings.TrimSpace(entry), `'"`))
		}
	}
	return nil
}

func (m *manifests) readPyproject(file string, data []byte) error {
	type project struct{ Name, Version, Description string }
	var p struct {
		Project project
		Tool    struct {
			Poetry project
			UV     struct{ Workspace struct{ Members []string } }
		}
	}
	if err := toml.Unmarshal(data, &p); err != nil {
		return err
	}
	m.members = append(m.members, p.Tool.UV.Workspace.Members...)
	poetry := p.Tool.Poetry
	if name := cmp.Or(p.Project.Name, poetry.Name); name != "" {
		m.packages = append(m.packages, manifest{model.RegistryTypePyPI, file, name,
			cmp.Or(p.Project.Version, poetry.Version), cmp.Or(p.Project.Description, poetry.Description), ""})
	}
	return nil
}

// readSetup takes a setup.py, which is a program and so is not read, for a package whose name is not known.
func (m *manifests) readSetup(file string, _ []byte) error {
	if !slices.ContainsFunc(m.packages, func(p manifest) bool { return p.kind == model.RegistryTypePyPI }) {
		m.packages = append(m.packages, manifest{kind: model.RegistryTypePyPI, file: file})
	}
	return nil
}

func (m *manifests) readCargo(file string, data []byte) error {
	var c struct {
		Package *struct {
			Name                          string
			Version, Description, Publish any // a version may be that of the workspace
		}
		Workspace struct{ Members []string }
	}
	if err := toml.Unmarshal(data, &c); err != nil {
		return err
	}
	m.members = append(m.members, c.Workspace.Members...)
	switch {
	case c.Package == nil:
	case c.Package.Publish == false:
		m.notes = append(m.notes, "Cargo.toml says publish = false, so that cargo does not publish it; it is left out")
	default:
		version, _ := c.Package.Version.(string)
		description, _ := c.Package.Description.(string)
		m.packages = append(m.packages, manifest{model.RegistryTypeCargo, file, c.Package.Name, version, description,
			""})
	}
	return nil
}

// readCsproj reads a project of .NET. What it does not say is what its build tool takes: the name of the file, and
// 1.0.0. Of two texts of one property the later counts, as there.
func (m *manifests) readCsproj(file string, data []byte) error {
	var p struct {
		Groups []struct {
			Properties []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"PropertyGroup"`
	}
	if err := xml.Unmarshal(data, &p); err != nil {
		return err
	}
	said := map[string]string{"msbuildprojectname": strings.TrimSuffix(file, ".csproj")} // by its name in lower case
	for _, g := range p.Groups {
		for _, property := range g.Properties {
			if text := strings.TrimSpace(property.Text); text != "" {
				name := strings.ToLower(property.XMLName.Local)
				said[name] = expandProperties(text, said)
			}
		}
	}
	if strings.EqualFold(said["ispackable"], "false") {
		return nil
	}
	prefix := cmp.Or(said["versionprefix"], "1.0.0")
	if suffix := said["versionsuffix"]; suffix != "" {
		prefix += "-" + suffix
	}
	out := manifest{kind: model.RegistryTypeNuGet, file: file,
		name:        cmp.Or(said["packageid"], said["assemblyname"], said["msbuildprojectname"]),
		version:     cmp.Or(said["packageversion"], said["version"], prefix),
		description: cmp.Or(said["packagedescription"], said["description"])}
	for _, text := range []*string{&out.name, &out.version, &out.description} {
		if strings.Contains(*text, "$(") {
			*text = "" // known to the build alone
		}
	}
	m.packages = append(m.packages, out)
	return nil
}

// propertyRE matches the use of a property in a project of .NET.
var propertyRE = spelling.Form(`\$\(\w+\)`)

// maxProperty bounds a text with properties in it, in bytes: a line that uses the one before it twice doubles it.
const maxProperty = 1 << 10

// expandProperties puts the properties that are said into a text. It leaves what is not said, or is too long.
func expandProperties(text string, said map[string]string) string {
	if len(text) > maxProperty {
		return text
	}
	full := propertyRE().ReplaceAllStringFunc(text, func(of string) string {
		if value := said[strings.ToLower(of[2:len(of)-1])]; value != "" && len(value) <= maxProperty {
			return value
		}
		return of
	})
	if len(full) > maxProperty {
		return text
	}
	return full
}

// readBundle reads the manifest of an MCPB bundle, which does not say where the bundle will be.
func (m *manifests) readBundle(file string, data []byte) error {
	var b struct {
		ManifestVersion      string `json:"manifest_version"`
		DXTVersion           string `json:"dxt_version"`
		Version, Description string
	}
	if err := json.Unmarshal(data, &b); err != nil || b.ManifestVersion == "" && b.DXTVersion == "" {
		return nil // the manifest of something else
	}
	m.packages = append(m.packages, manifest{kind: model.RegistryTypeMCPB, file: file, version: b.Version,
		description: b.Description})
	m.notes = append(m.notes, "the identifier of the mcpb package is the https URL of its file, which manifest.json "+
		"does not say")
	return nil
}

func (m *manifests) readGo(_ string, _ []byte) error {
	m.notes = append(m.notes, "a registry has no packages of Go: publish an image or an MCPB bundle of it")
	return nil
}

var labelRE = spelling.Form(`(?m)^\s*LABEL\s.*\b` + regexp.QuoteMeta(ownerLabel) +
	`"?[= ]"?([A-Za-z0-9.-]+/[A-Za-z0-9._-]+)`)

var continuation = spelling.Form(`\\[ \t]*\r?\n`)

// readDocker takes a Dockerfile for an image where there is no other package. It does not say where the image will be.
func (m *manifests) readDocker(file string, data []byte) error {
	if len(m.packages) > 0 {
		return nil
	}
	p := manifest{kind: model.RegistryTypeOCI, file: file}
	if found := labelRE().FindSubmatch(continuation().ReplaceAll(data, []byte(" "))); found != nil {
		p.server = string(found[1])
	}
	m.packages = append(m.packages, p)
	m.notes = append(m.notes, fmt.Sprintf("the identifier of the oci package is its reference, such as %s, which %s "+
		"does not say",
		"oci.example.com/acme/notes:1.0.0", file))
	return nil
}
