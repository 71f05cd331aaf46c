// Package api is an MCP registry for programs: handlers over [registry.Records].
//
// # API
//
// The paths are the official registry's, the same under /v0 and /v0.1:
//
//	GET   /servers                                  a page of records
//	GET   /servers/{name}/versions                  the versions of one name, newest first
//	GET   /servers/{name}/versions/{version}        one record; "latest" works
//	GET   /servers/{name}/versions/{version}/proof  that it is in the log, C2SP tlog-proof
//	GET   /servers/{name}/versions/{version}/log    which entries of the log are about it
//	POST  /publish                                  server.json as it is, Content-Type application/json
//	POST  /validate                                 the same, without publishing
//	PATCH /servers/{name}/versions/{version}/status the status of one version
//	PATCH /servers/{name}/status                    of all versions
//	POST  /auth/{method}                            a token, see package registry
//	GET   /ping /version /health
//
// and without a prefix /openapi.yaml, which describes them, /docs, the same for people,
// /metrics, the log as C2SP tlog-tiles: /checkpoint, /tile/..., and pages for people: /,
// /servers/..., /log. Records with the status deleted are answered with include_deleted=true
// only, or with updated_since, as who keeps a copy has to learn of them.
//
// Names and versions in paths are URL-encoded (io.github.o%2Fname). A record is
// answered as a [registry.Envelope], an error as a [registry.Problem]. A page is ordered by the bytes
// of name and then of version, has at most 100 records, 30 by default, and ends
// early when they are large; metadata.nextCursor is there as long as more follow.
// A document has at most 1 MiB.
//
// # Publishing
//
// A publish is authenticated; the document is parsed strictly and validated; a name
// and version that exist are settled without fetching anything, 200 with the first
// record if the documents are the same in canonical form and 409 otherwise. Then
// every claim is recomputed from bytes that the registry fetches itself, by
// [Config].Check, and package policy judges. A refusal is a 422 that lists every
// failure, or a 503 if nothing failed but to be reached. What is admitted is
// inserted in one transaction, in which the version may turn out to exist after all, and
// which appends an entry to the log (package ledger). The answer comes when a checkpoint
// that covers the entry is signed, and holds the proof: see [log.Log].
//
// # Style
//
// There is one style sheet of what a registry shows to people, and one policy that
// lets a browser use it and nothing else.
//
// # Login
//
// A login exchanges what a user can show for a grant of the registry: a proof that a domain
// vouches for, a token of GitHub, or an ID token of an OpenID Connect issuer. Package auth defines
// their forms. An [Issuer] signs the token with which the user then publishes.
//
// It asks other hosts through an HTTP client that enforces the operator's rules about
// addresses, for at most 20 seconds and without following redirects.
package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Mount registers the paths for programs.
func (s *Server) Mount(mux *http.ServeMux) error {
	description, err := s.routes(mux)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	mux.Handle("GET /openapi.yaml", description.yaml)
	mux.Handle("GET /docs", description.page)
	mux.Handle("GET /metrics", s.metrics.handler)
	if s.Log != nil {
		mux.HandleFunc("GET /checkpoint", s.checkpoint)
		mux.HandleFunc("GET /tile/{path...}", s.tile)
	}
	kinds := slices.Clone(s.Further)
	for _, k := range s.Archives {
		a, err := s.archivesOf(k)
		if err != nil {
			return err
		}
		kinds = append(kinds, a)
	}
	for _, a := range kinds {
		if err := s.mountArchives(mux, a); err != nil {
			return err
		}
	}
	return nil
}

// routes registers every operation under both prefixes, and describes them.
func (s *Server) routes(mux *http.ServeMux) (*description, error) {
	config := huma.DefaultConfig("Hallmark registry", s.Version)
	config.CreateHooks = nil // no $schema members and Link headers in answers
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	root := humago.New(mux, config)
	api := huma.NewGroup(root, "/v0", "/v0.1")

	publish := s.postOperation("publish", "/publish", "Publish a server.json")
	publish.Middlewares = huma.Middlewares{s.extendDeadline, s.limitBodies}

	route(s, api, answers[registry.Page](api, getOperation("list-servers", "/servers", "List servers")), s.list)
	route(s, api, getOperation("list-versions", "/servers/{name}/versions", "List the versions of a server"),
		s.versions)
	route(s, api,
		answers[registry.Envelope](api,
			getOperation("get-version", "/servers/{name}/versions/{version}", "Get one version of a server")), s.get)
	route(s, api, answers[registry.Envelope](api, publish), s.publish)
	route(s, api, s.postOperation("validate", "/validate", "Check a server.json without publishing it"), s.validate)
	route(s, api, getOperation("ping", "/ping", "Answer"), s.ping)
	route(s, api, getOperation("version", "/version", "What this registry runs and offers"), s.version)
	route(s, api, getOperation("health", "/health", "Whether records and blobs can be read"), s.health)

	s.optionalRoutes(api)
	s.loginRoutes(api)

	edit := huma.Operation{OperationID: "edit-version", Method: http.MethodPut,
		Path:    "/servers/{name}/versions/{version}",
		Summary: "Refused: records do not change"}
	route(s, api, edit, s.edit)
	for _, k := range s.Archives {
		describeArchives(root.OpenAPI(), k, s.Log != nil)
	}
	return describe(root.OpenAPI())
}

// getOperation describes an operation that reads.
func getOperation(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary}
}

// postOperation describes an operation to which something is sent.
func (s *Server) postOperation(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary,
		MaxBodyBytes:    serverjson.MaxSize + 1, // the library refuses a body that reaches the limit
		BodyReadTimeout: registry.BodyTimeout,
		// Package serverjson reads documents; the library would parse them loosely,
		// and compare them with the schema of a string.
		SkipValidateBody: true,
		Middlewares:      huma.Middlewares{s.limitBodies}}
}

// patchOperation describes an operation that changes something.
func (s *Server) patchOperation(id, path, summary string) huma.Operation {
	o := s.postOperation(id, path, summary)
	o.Method, o.MaxBodyBytes, o.SkipValidateBody = http.MethodPatch, maxLoginBody, false
	return o
}

// optionalRoutes registers the operations of a registry that has a log, and of one whose statuses can change.
func (s *Server) optionalRoutes(api huma.API) {
	if s.Log != nil {
		proof := getOperation("get-proof", "/servers/{name}/versions/{version}/proof",
			"Get the proof that a version is in the log")
		proof.Responses = map[string]*huma.Response{
			"200": {Description: "C2SP tlog-proof, with the entry in its extra line",
				Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
		route(s, api, proof, s.proof)
		route(s, api,
			getOperation("get-log-entries", "/servers/{name}/versions/{version}/log",
				"Name the entries of the log about a version"), s.recordEntries)
	}
	if s.Statuses != nil {
		route(s, api,
			s.patchOperation("set-status", "/servers/{name}/versions/{version}/status",
				"Change the status of one version"),
			s.setStatus)
		route(s, api, s.patchOperation("set-all-statuses", "/servers/{name}/status",
			"Change the status of all versions"),
			s.setAllStatuses)
	}
}
