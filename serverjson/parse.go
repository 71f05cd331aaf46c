package serverjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/surface"
)

// publisherMeta is the member of _meta that the official registry lets publishers fill.
const publisherMeta = "io.modelcontextprotocol.registry/publisher-provided"

// olderSchemas are the dates of schemas that are read beside the current one.
var olderSchemas = []string{"2025-07-09", "2025-09-16", "2025-09-29", "2025-10-11", "2025-10-17"}

// schemaDate is the date in a schema's URL, or empty if the URL names no known schema.
func schemaDate(url string) string {
	for _, date := range append([]string{model.CurrentSchemaVersion}, olderSchemas...) {
		if url == strings.Replace(CurrentSchema, model.CurrentSchemaVersion, date, 1) {
			return date
		}
	}
	return ""
}

// Parse reads a document strictly. Its error is an [*Invalid] with all problems, those
// that [Document.Validate] would find among them; a document that is returned may have
// such problems too.
func Parse(data []byte) (*Document, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxSize, Depth: MaxDepth}); err != nil {
		return nil, &Invalid{Issues{{TypeJSON, "", placeOf(data) + err.Error(), SeverityError, jsonReference(err)}}}
	}
	tree, err := readTree(data)
	if err != nil {
		return nil, err
	}
	if err := refuseSourceMode(tree); err != nil {
		return nil, err
	}
	if issues := checkTreeCounts(tree); len(issues) > 0 {
		return nil, &Invalid{sortIssues(issues)}
	}
	schema, _ := tree["$schema"].(string)
	date := schemaDate(schema)
	w := &walker{underscored: date == olderSchemas[0]}
	for _, member := range []string{"status", locationPointer[1:], "file_hashes"} {
		if _, ok := tree[member]; ok {
			w.beyond = append(w.beyond, "/"+member)
		}
	}
	if date == olderSchemas[0] || date == olderSchemas[1] {
		delete(tree, "status") // now the registry's, not the publisher's
	}
	w.walk(tree, document, "")
	d, err := decodeTree(tree)
	if err != nil {
		// Unreachable: the walk left only what decodes, as FuzzParse checks.
		return nil, &Invalid{append(w.issues, Issue{TypeSchema, "", err.Error(), SeverityError, "wrong-type"})}
	}
	d.Raw = slices.Clone(data)
	d.keepMeta(data)
	d.underscored, d.beyond = w.underscored, w.beyond
	w.readHashes(d, tree)
	d.expandLocation(d.FileHashes, false)
	if len(w.issues) > 0 {
		// One error is enough of a place, and of what is below one.
		more := slices.DeleteFunc(d.Validate(), func(i Issue) bool {
			return i.Severity == SeverityError && slices.ContainsFunc(w.issues, func(known Issue) bool {
				return strings.HasPrefix(i.Path+"/", known.Path+"/")
			})
		})
		return nil, &Invalid{sortIssues(append(w.issues, more...))}
	}
	return d, nil
}

// keepMeta takes _meta as it is written: decoding has rounded its numbers.
func (d *Document) keepMeta(data []byte) {
	var members map[string]json.RawMessage
	if d.Meta != nil && json.Unmarshal(data, &members) == nil {
		d.Meta = members["_meta"]
	}
}

// readTree reads the object that a document is.
func readTree(data []byte) (map[string]any, error) {
	var tree map[string]any
	err := json.Unmarshal(data, &tree)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && strings.HasPrefix(wrong.Value, "number ") {
		message := fmt.Sprintf("the number %.40s is too large to be read", strings.TrimPrefix(wrong.Value, "number "))
		return nil, &Invalid{Issues{{TypeSchema, "", message, SeverityError, "number"}}}
	}
	if err != nil || tree == nil {
		return nil, &Invalid{Issues{{TypeSchema, "", "must be an object", SeverityError, "wrong-type"}}}
	}
	return tree, nil
}

// placeOf says where data ceases to be JSON; "" if that is not what is wrong with it.
func placeOf(data []byte) string {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return "begins with a byte order mark, which JSON does not have; save the file as UTF-8 without it: "
	}
	var any json.RawMessage
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &any))
	if !ok {
		return ""
	}
	before := data[:max(0, min(int(syntax.Offset)-1, len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d: ", line, column)
}

// jsonReference names the rule that surface.CheckJSON found broken.
func jsonReference(err error) string {
	if e, ok := errors.AsType[*surface.Error](err); ok {
		return string(e.Problem)
	}
	return "syntax"
}

// refuseSourceMode refuses a server.json in source mode, which is the other kind.
func refuseSourceMode(tree map[string]any) error {
	for _, member := range []string{"runtime", "entry"} {
		if _, ok := tree[member]; !ok {
			continue
		}
		issue := Issue{
			Type: TypeSchema, Path: "/" + member, Severity: SeverityError, Reference: sourceModeReference,
			Message: member + " belongs to a source-mode server.json, which is packed, " +
				"not published with packages or remotes",
		}
		for _, other := range []string{"packages", "remotes", "package_location"} {
			if _, ok := tree[other]; ok {
				issue.Message = "both " + member + " (source mode) and " + other + ": a server.json is of one kind"
				issue.Reference = "both-kinds"
			}
		}
		return &Invalid{Issues{issue}}
	}
	return nil
}

// decodeTree makes a document of a tree that fits its shape.
func decodeTree(tree map[string]any) (*Document, error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Schema      string `json:"$schema"`
		Name        string
		Title       string
		Description string
		Version     string
		WebsiteURL  string `json:"websiteUrl"`
		Repository  *model.Repository
		Icons       []model.Icon
		Packages    []model.Package
		Remotes     []model.Transport
		Location    *packageLocation `json:"package_location"`
		Meta        json.RawMessage  `json:"_meta"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	d := &Document{
		Schema: raw.Schema, Name: raw.Name, Title: raw.Title, Description: raw.Description, Version: raw.Version,
		WebsiteURL: raw.WebsiteURL, Repository: raw.Repository, Icons: raw.Icons, Remotes: raw.Remotes, Meta: raw.Meta,
	}
	for i, p := range raw.Packages {
		d.Packages = append(d.Packages, Package{
			RegistryType: p.RegistryType, RegistryBaseURL: p.RegistryBaseURL, Identifier: p.Identifier,
			Version: p.Version, FileSHA256: p.FileSHA256, RuntimeHint: p.RunTimeHint, Transport: p.Transport,
			RuntimeArguments: p.RuntimeArguments, PackageArguments: p.PackageArguments,
			EnvironmentVariables: p.EnvironmentVariables, Pointer: fmt.Sprintf("/packages/%d", i),
		})
	}
	if l := raw.Location; l != nil {
		d.addLocated(*l)
	}
	return d, nil
}

// packageLocation is the member package_location, by which source 000 names a package.
type packageLocation struct {
	Type        string
	PackageName string `json:"package_name"`
	Version     string
	URL         string
}

// addLocated adds the package that package_location names.
func (d *Document) addLocated(l packageLocation) {
	p := Package{RegistryType: l.Type, Identifier: l.PackageName, Version: l.Version, Pointer: locationPointer,
		Transport: model.Transport{Type: model.TransportTypeStdio}}
	switch {
	case l.Type == typeURL, l.Type == typeGitHub && l.URL != "":
		p.Identifier = l.URL
	default:
		d.location = l.URL
		p.splitName()
	}
	p.Version = cmp.Or(p.Version, d.Version)
	d.Packages = append(d.Packages, p)
}

const locationPointer = "/package_location"

// splitName takes the version out of a package_name that has it, as the identifiers of source 000 do:
// "@acme/notes@1.0.0", "notes==1.0.0", either with the type before it. A version beside it must be the same, else both
// stay, and are no name.
func (p *Package) splitName() {
	name := strings.TrimPrefix(p.Identifier, p.RegistryType+":")
	at, sign := -1, 1
	switch p.RegistryType {
	case model.RegistryTypeNPM:
		at = strings.LastIndexByte(name, '@')
	case model.RegistryTypePyPI:
		at, sign = strings.Index(name, "=="), 2
	case typeGitHub:
		p.Identifier = name
		return
	}
	switch {
	case at <= 0:
		p.Identifier = name
	case p.Version == "" || p.Version == name[at+sign:]:
		p.Identifier, p.Version = name[:at], name[at+sign:]
	}
}

// expandLocation makes a package of each file of a GitHub release for which there is a hash, if package_location names
// the release alone: owner/repo with the tag as version. With anyTag the hashes may be those of another release of the
// repository, whose files are called alike.
func (d *Document) expandLocation(hashes []FileHash, anyTag bool) {
	i := slices.IndexFunc(d.Packages, func(p Package) bool {
		return p.Pointer == locationPointer && p.RegistryType == typeGitHub && strings.Count(p.Identifier, "/") == 1
	})
	if i < 0 {
		return
	}
	var assets []Package
	for _, h := range hashes {
		asset := d.Packages[i]
		if h.Ref.Kind() != artifact.GitHub || !strings.EqualFold(h.Ref.Name(), asset.Identifier) ||
			!anyTag && h.Ref.Version() != asset.Version {
			continue
		}
		file := replaceVersion(h.Ref.Filename(), strings.TrimPrefix(h.Ref.Version(), "v"),
			strings.TrimPrefix(asset.Version, "v"))
		owner, repo, _ := strings.Cut(h.Ref.Name(), "/")
		ref, err := artifact.NewGitHub(owner, repo, asset.Version, file)
		if err == nil && !slices.ContainsFunc(assets, func(p Package) bool { return p.Gives(ref) }) {
			asset.Identifier = ref.String()
			assets = append(assets, asset)
		}
	}
	if len(assets) > 0 {
		d.Packages = slices.Replace(d.Packages, i, i+1, assets...)
	}
}

// readHashes reads file_hashes from both of its places.
func (w *walker) readHashes(d *Document, tree map[string]any) {
	top, _ := tree["file_hashes"].(map[string]any)
	d.addHashes(top, "/file_hashes")
	meta, _ := tree["_meta"].(map[string]any)
	provided, ok := meta[publisherMeta]
	if !ok {
		return
	}
	at := metaPointer
	if !w.walk(provided, object, at) {
		return
	}
	if moved, ok := provided.(map[string]any)["file_hashes"]; ok && w.walk(moved, document.members["file_hashes"],
		at+"/file_hashes") {
		d.addHashes(moved.(map[string]any), at+"/file_hashes")
	}
}

var metaPointer = "/_meta/" + surface.PointerToken(publisherMeta)

// addHashes adds the entries of an object file_hashes at the pointer at, sorted by key.
func (d *Document) addHashes(entries map[string]any, at string) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		value, ok := entries[key].(string)
		if !ok {
			continue
		}
		ref, _ := artifact.Parse(key) // Validate reports keys that are none
		pointer := at + "/" + surface.PointerToken(key)
		d.FileHashes = append(d.FileHashes, FileHash{Key: key, Ref: ref, Value: value, Pointer: pointer})
	}
}

// compact is JSON without white space, for measuring.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
