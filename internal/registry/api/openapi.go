package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	v0 "github.com/modelcontextprotocol/registry/pkg/api/v0"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// description is the API as a document for programs and as a page for people.
type description struct {
	api        *huma.OpenAPI
	yaml, page http.Handler
}

// describe completes what the HTTP library derived from the types: members of raw JSON
// have the schema of what is in them, and errors are problems.
func describe(api *huma.OpenAPI) (*description, error) {
	document := describeDocuments(api.Components.Schemas)
	problem := api.Components.Schemas.Schema(reflect.TypeFor[registry.Problem](), true, "Problem")
	api.Info.Description = "An MCP registry that recomputes the hashes of what is published. They show integrity, " +
		"not authenticity: that files are those that were hashed, not who made them."
	api.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "What a login answers, or an API token"},
	}
	for _, op := range operations(api) {
		describeOperation(op, document, problem)
	}
	// Nothing refers to the library's own form of an error any more.
	delete(api.Components.Schemas.Map(), "ErrorModel")
	delete(api.Components.Schemas.Map(), "ErrorDetail")

	text, err := api.YAML()
	if err != nil {
		return nil, err
	}
	page, err := docsPage(api)
	if err != nil {
		return nil, err
	}
	return &description{
		api:  api,
		yaml: serveFixed("application/yaml", text, ""),
		page: serveFixed("text/html; charset=utf-8", page, Security),
	}, nil
}

// describeDocuments describes the members of records that are raw JSON to the library, and returns the schema of a
// server.json.
func describeDocuments(schemas huma.Registry) *huma.Schema {
	document := schemas.Schema(reflect.TypeFor[v0.ServerJSON](), true, "ServerJSON")
	if s := schemas.SchemaFromRef(document.Ref); s != nil {
		s.Description = "server.json, as it was published"
		s.Properties["file_hashes"] = &huma.Schema{
			Type: huma.TypeObject,
			Description: "The SHA-256 of each file that the packages give, by its identifier. It shows " +
				"integrity, not authenticity",
			AdditionalProperties: &huma.Schema{Type: huma.TypeString, Pattern: "^sha256:[0-9a-f]{64}$"},
			Examples: []any{
				map[string]any{"npm:@example/server@1.0.0": "sha256:" + strings.Repeat("0", 64)}},
		}
		s.AdditionalProperties = true // the members x-* and those of later schemas
	}
	set := func(of reflect.Type, member string, s *huma.Schema) {
		if owner := schemas.SchemaFromRef(schemas.Schema(of, true, "").Ref); owner != nil {
			owner.Properties[member] = s
		}
	}
	set(reflect.TypeFor[registry.Envelope](), "server", document)
	set(reflect.TypeFor[registry.Integrity](), "document",
		&huma.Schema{Type: huma.TypeString, Pattern: "^sha256:[0-9a-f]{64}$",
			Description: "SHA-256 of the canonical form (RFC 8785) of server"})
	set(reflect.TypeFor[registry.Integrity](), "evidence", &huma.Schema{
		Type:        huma.TypeArray,
		Description: "What was claimed of each file, and what was computed",
		Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Properties: map[string]*huma.Schema{
			"subject":   {Type: huma.TypeString, Description: "The file's identifier"},
			"scheme":    {Type: huma.TypeString},
			"authority": {Type: huma.TypeString, Description: "Who claims"},
			"outcome":   {Type: huma.TypeString, Enum: []any{"match", "mismatch", "absent", "waived", "unverifiable"}},
			"expected":  {Type: huma.TypeString},
			"actual":    {Type: huma.TypeString},
			"from":      {Type: huma.TypeString, Description: "The URL whose bytes were hashed"},
			"size":      {Type: huma.TypeInteger, Description: "Their number"},
			"reason":    {Type: huma.TypeString},
		}}})
	return document
}

// describeOperation completes an operation by the schemas of documents and problems, and by its security.
func describeOperation(op *huma.Operation, document, problem *huma.Schema) {
	if op.RequestBody != nil &&
		(strings.HasSuffix(op.Path, "/publish") || strings.HasSuffix(op.Path, "/validate")) {
		op.RequestBody.Required = true
		op.RequestBody.Content = map[string]*huma.MediaType{"application/json": {Schema: document}}
	}
	for status, response := range op.Responses {
		if status[0] != '2' {
			response.Content = map[string]*huma.MediaType{registry.ProblemType: {Schema: problem}}
		}
	}
	// A clone, as the operation of the other prefix has the same array.
	op.Parameters = slices.DeleteFunc(slices.Clone(op.Parameters), func(p *huma.Param) bool {
		if p.In == "header" && p.Name == "Authorization" {
			// A header of this name is to be described as security.
			op.Security = []map[string][]string{{"bearer": {}}}
			return true
		}
		return false
	})
}

// operations lists every operation in the order of path and method.
func operations(api *huma.OpenAPI) []*huma.Operation {
	var out []*huma.Operation
	for _, path := range registry.SortedKeys(api.Paths) {
		item := api.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				out = append(out, op)
			}
		}
	}
	return out
}

// serveFixed answers the same bytes always.
func serveFixed(media string, text []byte, security string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", media)
		h.Set("Cache-Control", "public, max-age=300")
		if security != "" {
			h.Set("Content-Security-Policy", security)
		}
		w.Write(text) // an error here is the client's connection
	})
}
