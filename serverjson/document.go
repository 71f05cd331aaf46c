// Package serverjson reads server.json, the description of an MCP server that its
// author publishes, and says what it claims.
//
// # Format
//
// A document is the official registry's server.json under the schema [CurrentSchema],
// with one more top-level member:
//
//	"file_hashes": {"npm:@acme/notes@1.4.0": "sha256:<64 hex digits>", ...}
//
// Each key is a Ref (package artifact) that one of the document's packages gives; each
// value is a digest. For PyPI there is one key for each file of the release. Under
// registries that refuse the member the same object is in
// _meta["io.modelcontextprotocol.registry/publisher-provided"].file_hashes; both places
// are read, and must agree.
//
// Older dated schemas are read and named in a warning; the oldest writes member names
// with underscores. The still older member
//
//	"package_location": {"type": "npm|pypi|github|url", "package_name"?, "version"?, "url"?}
//
// is read as one package, with the document's version if it has none. package_name may have the
// version in it, as the keys of file_hashes do: "@acme/notes@1.0.0", "notes==1.0.0". A file of a
// GitHub release is named by its url or by package_name owner/repo/tag/file; owner/repo with the
// tag as version stands for all files of that release that file_hashes has.
//
// A document with the members runtime or entry is in source mode and belongs to
// package facet; see [Invalid.SourceMode].
//
// # Reading
//
// [Parse] is strict. A document is one JSON object of at most [MaxSize] bytes and
// [MaxDepth] levels in UTF-8, with no member twice and no members other than the
// schema's, file_hashes, package_location, and, at any level, names that begin with
// "x-". It has at most [MaxPackages] packages and [MaxFiles] entries in file_hashes; if
// there are more, nothing else is looked at. Otherwise every problem of form is reported at
// once, together with the problems of meaning in what could be read. [Document.Validate]
// reports problems of meaning alone.
package serverjson

import (
	"encoding/json"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// CurrentSchema is the URL of the schema that documents name in $schema.
const CurrentSchema = model.CurrentSchemaURL

// Limits of a document.
const (
	MaxSize          = 1 << 20 // bytes of a document
	MaxDepth         = 64      // nested objects and arrays
	MaxPublisherMeta = 4096    // bytes of publisher-provided metadata, as JSON
)

// Document is a server.json that is well formed. What it says may still be wrong:
// see [Document.Validate].
type Document struct {
	Schema      string // $schema, empty if missing
	Name        string
	Title       string
	Description string
	Version     string
	WebsiteURL  string
	Repository  *model.Repository
	Icons       []model.Icon
	Packages    []Package // an older package_location is the only one
	Remotes     []model.Transport
	FileHashes  []FileHash // sorted by key, those of _meta after the others
	Meta        json.RawMessage
	Raw         []byte // what was parsed

	underscored bool     // by the oldest schema: member names as_this
	beyond      []string // the paths of members that the official schema does not have
	location    string   // url of package_location beside a type that needs none
}

// Package is one way to get the server's code.
type Package struct {
	RegistryType         string
	RegistryBaseURL      string
	Identifier           string
	Version              string
	FileSHA256           string
	RuntimeHint          string
	Transport            model.Transport
	RuntimeArguments     []model.Argument
	PackageArguments     []model.Argument
	EnvironmentVariables []model.KeyValueInput
	Pointer              string // JSON pointer of the package, "/packages/0"

	asked bool // RegistryBaseURL is where packages of the type are asked for: see AtRegistries
}

// FileHash is one entry of file_hashes.
type FileHash struct {
	Key     string       // as written
	Ref     artifact.Ref // the zero value if Key is no Ref
	Value   string       // as written; should be a digest
	Pointer string       // JSON pointer of the value
}
