package serverjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

var (
	// serverName is tighter than the schema: both parts begin and end with a letter
	// or digit, and have at least two.
	serverName = spelling.Form(`^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$`)

	gitHubRepository = spelling.Form(`^https?://(www\.)?github\.com/[\w.-]+/[\w.-]+/?$`)
	gitLabRepository = spelling.Form(`^https?://(www\.)?gitlab\.com/[\w.-]+(/[\w.-]+)+/?$`)
	subfolder        = spelling.Form(`^[a-zA-Z0-9._-]+(/[a-zA-Z0-9._-]+)*$`)
)

// oneVersion matches a version with an optional suffix, of which ranges are made.
const oneVersion = `v?\d+(?:\.\d+){0,3}(?:-[0-9A-Za-z.-]+)?`

var versionRange = spelling.Form(`^(?:` +
	`(?:\^|~|[<>]=?|=)\s*` + oneVersion + // ^1.2, >=1
	`|` + oneVersion + `\s+-\s+` + oneVersion + // 1.2 - 2.0
	`|` + oneVersion + `(?:\s*\|\|\s*` + oneVersion + `)+` + // 1.2 || 1.3
	`|[*xX]|(?:v?\d+|[*xX])(?:\.(?:\d+|[*xX])){0,2}\.[*xX]` + // *, 1.x
	`(?:\.(?:\d+|[*xX]))*(?:-[0-9A-Za-z.-]+)?` + // 1.*.0
	`)$`)

// Validate checks what the document says and returns all problems, by place. A missing
// $schema is a warning.
func (d *Document) Validate() Issues {
	v := &validation{}
	v.checkSchema(d)
	v.checkServer(d)
	if v.checkLimits(d) {
		v.hashes = map[artifact.Ref][]FileHash{}
		for _, h := range d.FileHashes {
			v.hashes[h.Ref.Normal()] = append(v.hashes[h.Ref.Normal()], h)
		}
		for _, p := range d.Packages {
			v.checkPackage(d, p)
		}
		v.checkFileHashes(d)
	}
	v.checkRemotes(d.Remotes)
	v.checkMeta(d)
	if d.underscored {
		for i := range v.issues {
			v.issues[i].Path = underscoredPath(v.issues[i].Path)
		}
	}
	return sortIssues(v.issues)
}

// ValidateForPublish is Validate, but a missing $schema is an error, since registries
// demand it.
func (d *Document) ValidateForPublish() Issues { return d.Validate().ForPublish() }

type validation struct {
	issues Issues
	hashes map[artifact.Ref][]FileHash // by normal Ref, the zero value for keys that are none
}

func (v *validation) add(severity, path, reference, format string, args ...any) {
	if len(v.issues) < maxIssues {
		v.issues = append(v.issues, Issue{TypeSemantic, path, fmt.Sprintf(format, args...), severity, reference})
	}
}

func (v *validation) fail(path, reference, format string, args ...any) {
	v.add(SeverityError, path, reference, format, args...)
}

func (v *validation) warn(path, reference, format string, args ...any) {
	v.add(SeverityWarning, path, reference, format, args...)
}

func (v *validation) checkSchema(d *Document) {
	switch date := schemaDate(d.Schema); {
	case d.Schema == "":
		v.warn("/$schema", "schema-field-required", "$schema is missing; it should be %s", CurrentSchema)
	case date == "":
		v.fail("/$schema", "schema-version-not-available", "unknown schema %+q; the current one is %s", clip(d.Schema),
			CurrentSchema)
	case date != model.CurrentSchemaVersion:
		v.warn("/$schema", "schema-version-deprecated", "schema of %s; the current one is of %s", date,
			model.CurrentSchemaVersion)
	}
}

func (v *validation) checkServer(d *Document) {
	if d.Name != "" && schemaName().MatchString(d.Name) && !serverName().MatchString(d.Name) {
		v.fail("/name", "invalid-server-name",
			"%+q: namespace and name have two characters or more and begin and end with a letter or digit",
			clip(d.Name))
	}
	v.checkVersion("/version", d.Version)
	if !isAddressable(d.Version) {
		v.fail("/version", "version-not-addressable",
			"%+q cannot be asked for by its URL: a version is one line, and neither . nor ..", clip(d.Version))
	}
	v.warnOfExample("/description", d.Description)
	if d.Title != "" && strings.TrimSpace(d.Title) == "" {
		v.fail("/title", "title-whitespace-only", "the title is white space")
	}
	for path, s := range map[string]string{"/title": d.Title, "/description": d.Description, "/version": d.Version} {
		if surface.HidesText(s) {
			v.warn(path, "hidden-characters", "holds characters that are not visible: %s", surface.Escape(clip(s)))
		}
	}
	if d.WebsiteURL != "" {
		v.checkHTTPSURL("/websiteUrl", "website-url", d.WebsiteURL)
	}
	for i, icon := range d.Icons {
		if icon.Src != "" {
			v.checkHTTPSURL(fmt.Sprintf("/icons/%d/src", i), "icon-src", icon.Src)
		}
	}
	if r := d.Repository; r != nil && r.URL != "" && r.Source != "" {
		v.checkRepository(r)
	}
	if len(d.Packages) == 0 && len(d.Remotes) == 0 {
		v.add(SeverityInfo, "", "no-packages-or-remotes", "the document names neither packages nor remotes")
	}
}

func (v *validation) checkVersion(path, version string) {
	switch s := strings.TrimSpace(version); {
	case v.refusePlaceholder(path, version):
	case strings.EqualFold(s, "latest"):
		v.fail(path, "reserved-version-string", "%+q is not a version", version)
	case versionRange().MatchString(s):
		v.fail(path, "version-looks-like-range", "%+q is a range, not one version", clip(version))
	}
}

// unfilled matches what a build was to fill in, and what a template tells its reader to write.
var unfilled = spelling.Form(`\$\{([^{}]*)\}|\{\{ *([^{}]*?) *\}\}|<[A-Za-z][^<>]*>`)

// refusePlaceholder refuses a placeholder in a member that is taken as it stands, and reports whether there was one.
func (v *validation) refusePlaceholder(path, value string) bool {
	problem := placeholderIn(value)
	if problem != "" {
		v.fail(path, "placeholder", "%s", problem)
	}
	return problem != ""
}

// placeholderIn says which placeholder a text holds, "" if none.
func placeholderIn(value string) string {
	m := unfilled().FindStringSubmatch(value)
	if m == nil {
		return ""
	}
	fill := "write what it stands for"
	if name := m[1] + m[2]; name != "" {
		fill = "fill it, as --set " + clip(name) + "=VALUE does"
	}
	return fmt.Sprintf("%+q holds the placeholder %s: %s", clip(value), clip(m[0]), fill)
}

// examples are what the official client's init writes for what it does not find, by the member.
var examples = map[string][]string{
	"description": {"[describe what your server does]"},
	"identifier":  {"@your-org/your-package", "your-package", "your-image"},
	"name":        {"YOUR_API_KEY"},
}

// warnOfExample warns of an example that nobody replaced.
func (v *validation) warnOfExample(path, value string) {
	for _, example := range examples[path[strings.LastIndexByte(path, '/')+1:]] {
		if value == example || example[0] == '[' && strings.Contains(value, example) {
			v.warn(path, "example-left", "%+q is an example; write what holds for this server", example)
		}
	}
}

// checkHTTPSURL checks an absolute URL that pages will link to.
func (v *validation) checkHTTPSURL(path, rule, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || !u.IsAbs() || u.Host == "" || u.User != nil:
		v.fail(path, rule+"-invalid", "%+q is not an absolute URL with a host and without userinfo", clip(s))
	case u.Scheme != "https":
		v.fail(path, rule+"-invalid-scheme", "%+q is not an https URL", clip(s))
	case strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || strings.ContainsRune(`"'<>`, c) }):
		v.fail(path, rule+"-invalid-characters", "%+q holds quotes, angle brackets or white space; percent-encode them",
			clip(s))
	}
}

func (v *validation) checkRepository(r *model.Repository) {
	pattern := map[string]func() *regexp.Regexp{"github": gitHubRepository, "gitlab": gitLabRepository}[r.Source]
	switch {
	case v.refusePlaceholder("/repository/url", r.URL):
	case pattern == nil:
		v.warn("/repository/source", "unknown-repository-source", "%+q: the official registry knows github and gitlab",
			clip(r.Source))
		v.checkHTTPSURL("/repository/url", "repository-url", r.URL)
	case !pattern().MatchString(r.URL) || strings.Contains(r.URL+"/", "/-/"):
		v.fail("/repository/url", "invalid-repository-url", "%+q is not the URL of a repository at %s", clip(r.URL),
			r.Source)
	}
	if s := r.Subfolder; s != "" {
		segments := strings.Split(s, "/")
		if !subfolder().MatchString(s) || slices.Contains(segments, ".") || slices.Contains(segments, "..") {
			v.fail("/repository/subfolder", "invalid-subfolder-path", "%+q is not a clean relative path", clip(s))
		}
	}
}

// checkMeta checks that the official registry would accept _meta.
func (v *validation) checkMeta(d *Document) {
	var meta map[string]json.RawMessage
	if len(d.Meta) == 0 || json.Unmarshal(d.Meta, &meta) != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != publisherMeta {
			v.warn("/_meta/"+surface.PointerToken(key), "unknown-meta",
				"the official registry refuses _meta other than %s", publisherMeta)
		} else if n := len(compact(meta[key])); n > MaxPublisherMeta {
			v.fail(metaPointer, "publisher-meta-too-large", "has %d bytes of JSON, at most %d are allowed", n,
				MaxPublisherMeta)
		}
	}
}

// underscoredPath spells the members of a pointer as the oldest schema does.
func underscoredPath(path string) string {
	if strings.HasPrefix(path, "/file_hashes") || strings.HasPrefix(path, "/_meta") {
		return path
	}
	return toUnderscored(path)
}

// Usable reports whether text can be the member, "name" or "version", of a registry's record
// even if this package would refuse the record's document: a name has two parts, and a
// version is one line of at most 255 characters and stands for no other version.
func Usable(member, text string) bool {
	switch n := utf8.RuneCountInString(text); member {
	case "name":
		return n <= 200 && schemaName().MatchString(text)
	case "version":
		return n > 0 && n <= 255 && utf8.ValidString(text) && !strings.EqualFold(strings.TrimSpace(text), "latest") &&
			isAddressable(text)
	}
	return false
}

// isAddressable reports whether a version can be one segment of a URL's path, and a text in a
// database.
func isAddressable(version string) bool {
	return version != "." && version != ".." && !strings.ContainsFunc(version, unicode.IsControl)
}
