package serverjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
		return nil, &Invalid{Issues{{TypeJSON, "", err.Error(), SeverityError, jsonReference(err)}}}
	}
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
	if err := refuseSourceMode(tree); err != nil {
		return nil, err
	}
	if issues := checkTreeCounts(tree); len(issues) > 0 {
		return nil, &Invalid{sortIssues(issues)}
	}
	schema, _ := tree["$schema"].(string)
	date := schemaDate(schema)
	w := &walker{underscored: date == olderSchemas[0]}
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
	if d.Meta != nil { // as written: decoding has rounded its numbers
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) == nil {
			d.Meta = members["_meta"]
		}
	}
	d.underscored = w.underscored
	w.readHashes(d, tree)
	if len(w.issues) > 0 {
		return nil, &Invalid{sortIssues(append(w.issues, d.Validate()...))}
	}
	return d, nil
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
		Location    *struct {
			Type        string
			PackageName string `json:"package_name"`
			Version     string
			URL         string
		} `json:"package_location"`
		Meta json.RawMessage `json:"_meta"`
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
		p := Package{RegistryType: l.Type, Identifier: l.PackageName, Version: l.Version, Pointer: locationPointer,
			Transport: model.Transport{Type: model.TransportTypeStdio}}
		if p.Version == "" {
			p.Version = d.Version
		}
		switch l.Type {
		case typeGitHub, typeURL:
			p.Identifier = l.URL
		default:
			d.location = l.URL
		}
		d.Packages = append(d.Packages, p)
	}
	return d, nil
}

const locationPointer = "/package_location"

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
