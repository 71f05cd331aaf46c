// Package registry is an MCP registry: an [http.Handler] over [Records], and the
// [Client] for it.
//
// # API
//
// The paths are those of the official registry, the same under /v0 and /v0.1:
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
//	POST  /auth/{method}                            a token, see package auth
//	GET   /ping /version /health
//
// and without a prefix /openapi.yaml, which describes them, /docs, the same for people,
// /metrics, the log as C2SP tlog-tiles: /checkpoint, /tile/..., and pages for people: /,
// /servers/..., /log. Records with the status deleted are answered with include_deleted=true
// only, or with updated_since, as who keeps a copy has to learn of them.
//
// Names and versions in paths are URL-encoded (io.github.o%2Fname). A record is
// answered as an [Envelope], an error as a [Problem]. A page is ordered by the bytes
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
// that covers the entry is signed, and holds the proof: see [Log].
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Validation is what a registry does about the claims of a document.
type Validation string

// The validations: the steps by which a registry adopts file hashes.
const (
	// Off stores claims as they are. Check is not called, so that neither hashes
	// nor ownership are looked at.
	Off Validation = "off"
	// Observe recomputes, counts and records failures, and publishes in spite of
	// them. Ownership is enforced.
	Observe Validation = "observe"
	// Enforce refuses a document of which any claim fails. It is the default.
	Enforce Validation = "enforce"
)

// DefaultTimeout is how long one publish may take.
const DefaultTimeout = 15 * time.Minute

// Config is what a registry is made of. Records is required, and Check unless
// validation is off.
type Config struct {
	Records Records

	// Check fetches what doc's packages give, recomputes every claim of the document
	// and of the package registries, and looks at ownership. What went wrong with a
	// claim is in the report; an error is a fault of this machine, or of the document
	// if its class is evidence.Validation. It is called concurrently.
	Check func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error)

	// The policy, unless CurrentPolicy gives another one for each request.
	Validation     Validation       // "" is Enforce
	AllowAnonymous bool             // publishes without a token are taken
	RequireHashes  bool             // a package without a claim is refused
	CurrentPolicy  func() Policy    // may be nil
	Statuses       Statuses         // nil: the status of records stays
	Tokens         Tokens           // nil: there are no API tokens
	Issuer         *auth.Issuer     // nil: nobody logs in
	Logins         []auth.Method    // that are offered, as far as Outside has what they need
	Outside        auth.Outside     // for logins
	GitHubClient   string           // id of the OAuth application that clients log in to GitHub with
	Limits         Limits           //
	Logger         *slog.Logger     // nil discards
	Version        string           // of the program, as records and /version tell it
	Now            func() time.Time // nil is time.Now
	Timeout        time.Duration    // of a whole publish; 0 is DefaultTimeout
	Counters       *Counters        // nil counts for nobody
	Commit, Built  string           // of the program, as /version tells them; may be empty

	Log   *Log  // signs and proves what is published; nil: nobody does
	Blobs Blobs // what /health looks at besides Records; nil if there are none
	// The archives that are taken besides documents, what their records are kept in, and
	// how they come and go. The rest of Transport is filled in for each kind.
	Archives       []ArchiveKind
	ArchiveRecords ArchiveRecords
	Transport      Archives

	Further []*Archives // kinds of archives beside these, which need no records
}

type server struct {
	Config
	requests, logins, writes *limiter
	bodies                   *room
	turns                    *turns
	metrics                  *metrics
}

// New returns the handler of a registry.
func New(c Config) (http.Handler, error) {
	s, err := newServer(c)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	if err := s.mountAPI(mux); err != nil {
		return nil, err
	}
	if err := mountPages(mux, s); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return s.handler(mux), nil
}

// newServer is the registry that c describes, without its paths.
func newServer(c Config) (*server, error) {
	if c.CurrentPolicy == nil {
		p := Policy{Validation: c.Validation, RequireHashes: c.RequireHashes, AllowAnonymous: c.AllowAnonymous}
		c.CurrentPolicy = func() Policy { return p }
	}
	p := c.CurrentPolicy()
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	if c.Check == nil && p.Validation != Off {
		return nil, fmt.Errorf("registry: validation %q needs a check", cmp.Or(p.Validation, Enforce))
	}
	if c.Records == nil {
		return nil, errors.New("registry: no records")
	}
	if len(c.Logins) > 0 && (c.Issuer == nil || c.Outside.HTTP == nil || c.Outside.LookupTXT == nil) {
		return nil, errors.New("registry: logins need an issuer of tokens, HTTP and DNS")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	s := &server{
		Config:   c,
		requests: newLimiter(c.Limits.Requests), logins: newLimiter(c.Limits.Logins), writes: newLimiter(c.Limits.Writes),
	}
	s.bodies = newRoom(c.Limits)
	s.turns = newTurns(c.Limits)
	s.metrics = newMetrics(c, s.turns)
	return s, nil
}

// mountAPI registers the paths for programs.
func (s *server) mountAPI(mux *http.ServeMux) error {
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

// handler is what every request passes before the routes of mux, and after them.
func (s *server) handler(mux *http.ServeMux) http.Handler {
	mux.HandleFunc("/", unrouted(mux))
	return s.frame(mux)
}

// policy is the one of now.
func (s *server) policy() Policy {
	p := s.CurrentPolicy()
	p.Validation = cmp.Or(p.Validation, Enforce)
	if s.Check == nil {
		p.Validation = Off // New saw to it that this was the operator's will
	}
	return p
}

// routes registers every operation under both prefixes, and describes them.
func (s *server) routes(mux *http.ServeMux) (*description, error) {
	config := huma.DefaultConfig("Hallmark registry", s.Version)
	config.CreateHooks = nil // no $schema members and Link headers in answers
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	root := humago.New(mux, config)
	api := huma.NewGroup(root, "/v0", "/v0.1")

	get := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary}
	}
	post := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary,
			MaxBodyBytes:    serverjson.MaxSize + 1, // the library refuses a body that reaches the limit
			BodyReadTimeout: bodyTimeout,
			// Package serverjson reads documents; the library would parse them loosely,
			// and compare them with the schema of a string.
			SkipValidateBody: true,
			Middlewares:      huma.Middlewares{s.weigh}}
	}
	patch := func(id, path, summary string) huma.Operation {
		o := post(id, path, summary)
		o.Method, o.MaxBodyBytes, o.SkipValidateBody = http.MethodPatch, maxLoginBody, false
		return o
	}
	publish := post("publish", "/publish", "Publish a server.json")
	publish.Middlewares = huma.Middlewares{s.patient, s.weigh}

	route(s, api, answers[Page](api, get("list-servers", "/servers", "List servers")), s.list)
	route(s, api, get("list-versions", "/servers/{name}/versions", "List the versions of a server"), s.versions)
	route(s, api, answers[Envelope](api, get("get-version", "/servers/{name}/versions/{version}", "Get one version of a server")), s.get)
	route(s, api, answers[Envelope](api, publish), s.publish)
	route(s, api, post("validate", "/validate", "Check a server.json without publishing it"), s.validate)
	route(s, api, get("ping", "/ping", "Answer"), s.ping)
	route(s, api, get("version", "/version", "What this registry runs and offers"), s.version)
	route(s, api, get("health", "/health", "Whether records and blobs can be read"), s.health)

	if s.Log != nil {
		proof := get("get-proof", "/servers/{name}/versions/{version}/proof", "Get the proof that a version is in the log")
		proof.Responses = map[string]*huma.Response{"200": {Description: "C2SP tlog-proof, with the entry in its extra line",
			Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
		route(s, api, proof, s.proof)
		route(s, api, get("get-log-entries", "/servers/{name}/versions/{version}/log", "Name the entries of the log about a version"), s.recordEntries)
	}
	if s.Statuses != nil {
		route(s, api, patch("set-status", "/servers/{name}/versions/{version}/status", "Change the status of one version"), s.setStatus)
		route(s, api, patch("set-all-statuses", "/servers/{name}/status", "Change the status of all versions"), s.setAllStatuses)
	}
	s.loginRoutes(api, post)

	edit := huma.Operation{OperationID: "edit-version", Method: http.MethodPut, Path: "/servers/{name}/versions/{version}",
		Summary: "Refused: records do not change"}
	route(s, api, edit, s.edit)
	for _, k := range s.Archives {
		describeArchives(root.OpenAPI(), k, s.Log != nil)
	}
	return describe(root.OpenAPI())
}

// route registers one operation, whose errors pass through failure.
func route[In, Out any](s *server, api huma.API, op huma.Operation, handle func(context.Context, *In) (*Out, error)) {
	huma.Register(api, op, func(ctx context.Context, in *In) (*Out, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.failure(ctx, err)
		}
		return out, nil
	})
}

// patient gives an answer the time that a publish may take to come to it, beyond
// what the server grants others.
func (s *server) patient(ctx huma.Context, next func(huma.Context)) {
	_, w := humago.Unwrap(ctx)
	// Not every writer has a deadline, those of tests for one.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.Timeout + writeTimeout))
	next(ctx)
}
