package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// findArchive returns where the bytes of a version are. For a deleted version the error holds the
// proof of its deletion.
func (s *Server) findArchive(ctx context.Context, kind ledger.Kind, name, version string) (Archive, error) {
	rec, err := s.ArchiveRecords.Archive(ctx, kind, name, version)
	if err != nil {
		return Archive{}, err
	}
	if rec.Status == registry.Deleted {
		return Archive{}, s.goneProblem(ctx, rec)
	}
	return Archive{Digest: rec.ContentHash, Name: registry.ArchiveKindOf(kind).FileName(rec.Name, rec.Version)}, nil
}

// goneProblem returns the answer for a version that is deleted, with the proof of the entry that says
// so.
func (s *Server) goneProblem(ctx context.Context, rec registry.ArchiveRecord) error {
	p := registry.NewProblem(http.StatusGone, "version %s of %s %s was deleted", rec.Version, rec.Kind, rec.Name)
	if rec.StatusMessage != "" {
		p.Detail += ": " + rec.StatusMessage
	}
	if s.Log == nil || rec.StatusEntry == nil {
		return p
	}
	proof, err := s.Log.ProveServed(ctx, *rec.StatusEntry)
	if err != nil { // the status stands all the same
		Logger(ctx).Error("no proof", "name", rec.Name, "version", rec.Version, "entry", *rec.StatusEntry, "error", err)
		return p
	}
	p.Proof = string(proof)
	return p
}

// answerArchive answers the paths of a kind besides uploads and downloads:
//
//	GET   /KIND                                    a page; as for servers
//	GET   /KIND/{name}/versions                    the versions of one name, newest first
//	GET   /KIND/{name}/versions/{version}          one record, with its proof; "latest" works
//	GET   /KIND/{name}/versions/{version}/log      the entries of the log about one version
//	GET   /KIND/{name}/latest-version              the same as versions/latest
//	PATCH /KIND/{name}/versions/{version}/status   the status of one version
//	PATCH /KIND/{name}/status                      of all versions
func (s *Server) answerArchive(
	w http.ResponseWriter, r *http.Request, kind ledger.Kind, name string, rest []string,
) (any, error) {
	pattern := slices.Clone(rest)
	if len(rest) > 1 && rest[0] == "versions" {
		pattern[1] = "*"
	}
	path := strings.Join(pattern, "/")
	allow := "GET, HEAD"
	var answer func() (any, error)
	switch {
	case name == "":
		answer = func() (any, error) { return s.listArchives(r, kind) }
	case path == "versions":
		allow, answer = "GET, HEAD, POST", func() (any, error) { return s.archiveVersions(r, kind, name) }
	case path == "versions/*":
		answer = func() (any, error) { return s.oneArchive(r, kind, name, rest[1]) }
	case path == "versions/*/log" && s.Log != nil:
		answer = func() (any, error) { return s.entriesOf(r.Context(), kind, name, rest[1]) }
	case path == "latest-version":
		answer = func() (any, error) { return s.oneArchive(r, kind, name, registry.Latest) }
	case path == "versions/*/status":
		allow, answer = http.MethodPatch, func() (any, error) { return s.archiveStatus(w, r, kind, name, rest[1]) }
	case path == "status":
		allow, answer = http.MethodPatch, func() (any, error) { return s.archiveStatus(w, r, kind, name, "") }
	default:
		return nil, nil
	}
	if !slices.Contains(strings.Split(allow, ", "), r.Method) {
		return nil, notAllowed(w, allow)
	}
	return answer()
}

func (s *Server) listArchives(r *http.Request, kind ledger.Kind) (any, error) {
	p := Parameters{Values: r.URL.Query()}
	in := listInput{Cursor: p.Text("cursor", registry.MaxCursor), Search: p.Text("search", MaxText),
		UpdatedSince: p.Text("updated_since", 64), Version: p.Text("version", MaxText)}
	in.Deleted.Value, in.Deleted.set = p.flag("include_deleted")
	if limit := p.Text("limit", 8); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > registry.MaxLimit {
			p.Err = cmp.Or(p.Err,
				error(registry.NewProblem(http.StatusUnprocessableEntity, "limit is not a number from 1 to %d",
					registry.MaxLimit)))
		}
		in.Limit = n
	}
	if p.Err != nil {
		return nil, p.Err
	}
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	page, next, err := s.ArchiveRecords.ListArchives(r.Context(), kind, q)
	return registry.NewArchivePage(page, next), err
}

func (s *Server) archiveVersions(r *http.Request, kind ledger.Kind, name string) (any, error) {
	p := Parameters{Values: r.URL.Query()}
	cursor := p.Text("cursor", registry.MaxCursor)
	deleted, _ := p.flag("include_deleted")
	if p.Err != nil {
		return nil, p.Err
	}
	page, next, err := s.ArchiveRecords.ArchiveVersions(r.Context(), kind, name, cursor, deleted)
	return registry.NewArchivePage(page, next), err
}

func (s *Server) oneArchive(r *http.Request, kind ledger.Kind, name, version string) (any, error) {
	p := Parameters{Values: r.URL.Query()}
	deleted, _ := p.flag("include_deleted")
	if p.Err != nil {
		return nil, p.Err
	}
	rec, err := s.ArchiveRecords.Archive(r.Context(), kind, name, version)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, registry.NewProblem(http.StatusNotFound, "version %+.200q of %s %+.200q not found", version, kind,
			name)
	}
	if err != nil {
		return nil, err
	}
	if rec.Status == registry.Deleted && !deleted {
		return nil, s.goneProblem(r.Context(), rec)
	}
	return s.proveArchive(r.Context(), rec, -1)
}

func (s *Server) archiveStatus(
	w http.ResponseWriter, r *http.Request, kind ledger.Kind, name, version string,
) (any, error) {
	if version == registry.Latest {
		return nil, registry.NewProblem(http.StatusNotFound,
			"name a version: which one is the latest may change meanwhile")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(registry.BodyTimeout))
	text, err := io.ReadAll(io.LimitReader(r.Body, maxLoginBody+1))
	if err != nil || len(text) > maxLoginBody {
		return nil, registry.NewProblem(http.StatusBadRequest,
			"the body did not arrive whole, or is longer than %d bytes", maxLoginBody)
	}
	var body registry.StatusBody
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if d.Decode(&body) != nil || d.More() ||
		!slices.Contains([]registry.Status{registry.Active, registry.Deprecated, registry.Deleted}, body.Status) {
		return nil, registry.NewProblem(http.StatusUnprocessableEntity,
			`the body is not {"status": "active", "deprecated" or "deleted", "statusMessage": why}`)
	}
	if body.Message != nil && utf8.RuneCountInString(*body.Message) > registry.MaxStatusMessage {
		return nil, registry.NewProblem(http.StatusUnprocessableEntity, "the message has more than %d characters",
			registry.MaxStatusMessage)
	}
	allowed := func(g registry.Grant) bool {
		return permits(g, registry.ActionPublish, name) || permits(g, registry.ActionEdit, name)
	}
	c, grant, err := s.judgeChange(r.Context(), r.Header.Get("Authorization"), allowed,
		func(g registry.Grant) *registry.Problem {
			return forbiddenArchive(g, name)
		}, body)
	if err != nil {
		return nil, err
	}
	n, records, err := s.ArchiveRecords.SetArchiveStatus(r.Context(), kind, name, version, c)
	if err := s.reportChange(r.Context(), statusChange{string(kind), name, version, c, grant}, n, err); err != nil {
		return nil, err
	}
	if version != "" {
		return registry.ArchiveAnswer{ArchiveRecord: records[0]}, nil
	}
	return registry.UpdatedArchives{UpdatedCount: n, Archives: records}, nil
}

// describeArchives adds the paths of a kind to the description of the API. They are not
// routed by the library, whose patterns do not know names of two parts. A registry with a
// log has the path of its entries.
func describeArchives(api *huma.OpenAPI, k registry.ArchiveKind, logged bool) {
	for _, prefix := range []string{"/v0", "/v0.1"} {
		d := archivePaths{api: api, kind: k, prefix: prefix,
			name:    stringParam("path", "name", "URL-encoded name, @scope/name with or without its slash encoded"),
			version: stringParam("path", "version", "Exact version, or latest")}
		d.page, d.one = d.schema(reflect.TypeFor[registry.ArchivePage]()),
			d.schema(reflect.TypeFor[registry.ArchiveAnswer]())
		d.addReads(logged)
		d.addWrites()
	}
}

// archivePaths adds the paths of a kind under one prefix.
type archivePaths struct {
	api           *huma.OpenAPI
	kind          registry.ArchiveKind
	prefix        string
	name, version *huma.Param
	page, one     *huma.Schema // of what most of them answer
}

// schema returns the schema of a type.
func (d *archivePaths) schema(t reflect.Type) *huma.Schema {
	return d.api.Components.Schemas.Schema(t, true, "")
}

// answer describes an answer of one media type, or a problem.
func (d *archivePaths) answer(media string, s *huma.Schema) map[string]*huma.Response {
	problems := &huma.Response{Description: "Error",
		Content: map[string]*huma.MediaType{
			registry.ProblemType: {Schema: d.schema(reflect.TypeFor[registry.Problem]())}}}
	return map[string]*huma.Response{
		"200": {Description: "OK", Content: map[string]*huma.MediaType{media: {Schema: s}}}, "default": problems}
}

// stringParam describes a parameter, which a path must have.
func stringParam(in, name, doc string) *huma.Param {
	return &huma.Param{In: in, Name: name, Description: doc, Required: in == "path",
		Schema: &huma.Schema{Type: huma.TypeString}}
}

// add adds an operation.
func (d *archivePaths) add(id, method, path, summary string, o huma.Operation) {
	o.OperationID, o.Method, o.Path, o.Summary = strings.Trim(d.prefix, "/")+"-"+id+"-"+string(d.kind.Kind), method,
		d.prefix+"/"+registry.Plural(d.kind.Kind)+path, summary
	d.api.AddOperation(&o)
}

// get adds an operation that answers JSON.
func (d *archivePaths) get(id, path, summary string, s *huma.Schema, params ...*huma.Param) {
	d.add(id, http.MethodGet, path, summary,
		huma.Operation{Parameters: params, Responses: d.answer("application/json", s)})
}

// addReads adds what reads records and archives.
func (d *archivePaths) addReads(logged bool) {
	kind, kinds := string(d.kind.Kind), registry.Plural(d.kind.Kind)
	cursor, deleted := stringParam("query", "cursor", "metadata.nextCursor of the page before"),
		stringParam("query", "include_deleted", "Records with the status deleted too")
	d.get("list", "", "List "+kinds, d.page, cursor, stringParam("query", "limit", "1 to 100"),
		stringParam("query", "search", "Part of the name, at least 3 characters"),
		stringParam("query", "version", "latest, or an exact version"),
		stringParam("query", "updated_since", "RFC 3339 time"), deleted)
	d.get("list-versions", "/{name}/versions", "List the versions of one "+kind, d.page, d.name, cursor, deleted)
	d.get("get-version", "/{name}/versions/{version}", "Get one version with its proof", d.one, d.name, d.version,
		deleted)
	if logged {
		exact := stringParam("path", "version", "Exact version")
		d.get("get-log-entries", "/{name}/versions/{version}/log", "Name the entries of the log about a version",
			d.schema(reflect.TypeFor[registry.RecordEntries]()), d.name, exact)
	}
	d.get("get-latest", "/{name}/latest-version", "Get the latest version", d.one, d.name)
	d.add("download", http.MethodGet, "/{name}/versions/{version}/archive", "Get the archive",
		huma.Operation{Parameters: []*huma.Param{d.name, d.version},
			Responses: d.answer("application/octet-stream", archiveBytes())})
}

// archiveBytes returns the schema of an archive.
func archiveBytes() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: "binary"} }

// addWrites adds what publishes archives and changes their status.
func (d *archivePaths) addWrites() {
	secured := []map[string][]string{{"bearer": {}}}
	publishes := []*huma.Param{d.name}
	if d.kind.Shows {
		publishes = append(publishes,
			stringParam("query", registry.SurfaceParameter,
				"What its publisher says that its tools have as their fingerprint; the registry never runs it"))
	}
	published := d.answer("application/json", d.one)
	published["201"] = published["200"]
	d.add("publish", http.MethodPost, "/{name}/versions", "Publish an archive",
		huma.Operation{Parameters: publishes, Security: secured, Responses: published,
			RequestBody: &huma.RequestBody{Required: true,
				Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: archiveBytes()}}}})
	change := &huma.RequestBody{Required: true,
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: d.schema(reflect.TypeFor[registry.StatusBody]())}}}
	d.add("set-status", http.MethodPatch, "/{name}/versions/{version}/status", "Change the status of one version",
		huma.Operation{Parameters: []*huma.Param{d.name, d.version}, Security: secured, RequestBody: change,
			Responses: d.answer("application/json", d.one)})
	d.add("set-all-statuses", http.MethodPatch, "/{name}/status", "Change the status of all versions",
		huma.Operation{Parameters: []*huma.Param{d.name}, Security: secured, RequestBody: change,
			Responses: d.answer("application/json", d.schema(reflect.TypeFor[registry.UpdatedArchives]()))})
}
