package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// record is what a registry holds about a server, with the evidence that the document
// is the one that it vouches for.
type record struct {
	doc    *serverjson.Document
	meta   registry.Meta
	lock   project.RecordLock
	report evidence.Report
}

func (w *workspace) registry() *client.Client {
	if w.config.Registry.URL == "" {
		return nil
	}
	return w.registryAt()
}

// recordNamed fetches the record "name@version".
func (w *workspace) recordNamed(ctx context.Context, named string) (*record, error) {
	name, version, ok := cutLast(named, "@")
	if !ok || name == "" || version == "" || version == registry.Latest {
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", named), "write server = \"NAME@VERSION\"",
			errors.New("a record is named with an exact version"))
	}
	client := w.registry()
	if client == nil {
		return nil, noRegistry(named)
	}
	envelope, err := client.GetDeleted(ctx, name, version) // its status says that it is; policy refuses it
	if err != nil {
		return nil, unanswered(named, err)
	}
	r, err := w.record(*envelope)
	if err != nil {
		return nil, err
	}
	return r, w.prove(ctx, r)
}

// prove adds what the registry's log says of a record.
func (w *workspace) prove(ctx context.Context, r *record) error {
	if !w.logRead {
		var err error
		if w.log, err = readLog(ctx, w.host, w.registry(), w.config.Registry, w.logOptions); err != nil {
			return err
		}
		w.logRead = true
	}
	if w.log != nil {
		r.report = append(r.report, w.log.report...)
	}
	more, err := w.log.prove(ctx, &r.lock)
	r.report = append(r.report, more...)
	if err != nil || r.lock.Proof == "" {
		return err
	}
	later, err := w.log.later(ctx, r.lock, r.meta)
	r.report = append(r.report, later...)
	return err
}

// recordOf looks for the record that publishes ref, among those of the server that the
// package says it is. Without a registry, a name or a record there is none.
func (w *workspace) recordOf(ctx context.Context, ref artifact.Ref, mcpName string) (*record, error) {
	client := w.registry()
	if client == nil || mcpName == "" {
		return nil, nil
	}
	var found *record
	err := client.EachVersion(ctx, mcpName, func(envelope registry.Envelope) (more bool, err error) {
		r, err := w.record(envelope)
		if err != nil {
			return true, nil // a record that cannot be read vouches for nothing
		}
		if r.doc.Covers(ref) {
			found = r
		}
		return found == nil, nil
	})
	var problem *registry.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, unanswered(mcpName, err)
	}
	if found == nil {
		return nil, nil
	}
	return found, w.prove(ctx, found)
}

func (w *workspace) record(envelope registry.Envelope) (*record, error) {
	doc, err := ParseDocument("the registry's record", envelope.Server)
	if err != nil {
		return nil, err
	}
	subject := doc.Name + "@" + doc.Version
	canonical, err := serverjson.Canonical(doc.Raw)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	d := digest.FromBytes(canonical)
	claim := evidence.Claim{Subject: subject, Scheme: evidence.Document, Authority: evidence.Record, Where: "the registry's record, hallmark/integrity"}
	if i := envelope.Meta.Integrity; i != nil && !i.Document.IsZero() {
		claim.Want = []digest.Digest{i.Document}
	}
	r := &record{
		doc:  doc,
		meta: envelope.Meta,
		lock: project.RecordLock{Registry: w.config.Registry.Name(), Name: doc.Name, Version: doc.Version, Document: d},
		report: evidence.Report{evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{d}, Size: int64(len(canonical)), From: "the record's document",
		})},
	}
	if o := envelope.Meta.Official; o != nil {
		active := evidence.Claim{Subject: subject, Scheme: evidence.Status, Authority: evidence.Record, Text: string(registry.Active), Where: "the record's status"}
		e := evidence.Fact(active, string(o.Status))
		if o.Status == registry.Deprecated {
			e = evidence.Waive(active, evidence.Observed{Text: string(o.Status)}, o.StatusMessage)
		}
		r.report = append(r.report, e)
	}
	return r, nil
}

// about is the evidence of what the record claims of ref; r may be nil.
func (r *record) about(ref artifact.Ref, o evidence.Observed) evidence.Report {
	none := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Record}
	if r == nil {
		return evidence.Report{evidence.Compare(none, o)}
	}
	where := "the record of " + r.doc.Name + "@" + r.doc.Version
	claims, bad := r.doc.Claims(where)
	var report evidence.Report
	for _, c := range claims {
		if sameRef(c.Subject, ref) {
			c.Subject, c.Authority = ref.String(), evidence.Record
			report = append(report, evidence.Compare(c, o))
		}
	}
	for _, e := range bad {
		if sameRef(e.Subject, ref) {
			e.Subject, e.Authority = ref.String(), evidence.Record
			report = append(report, e)
		}
	}
	if len(report) == 0 {
		none.Where = where
		report = evidence.Report{evidence.Compare(none, o)}
	}
	return report
}

// startable is the package of a record that can be started over stdio with node or python,
// with the arguments and variables that its publisher declares for it.
func (r *record) startable() (ref artifact.Ref, args, variables []string, err error) {
	subject := r.doc.Name + "@" + r.doc.Version
	i := slices.IndexFunc(r.doc.Packages, func(p serverjson.Package) bool {
		return (p.RegistryType == model.RegistryTypeNPM || p.RegistryType == model.RegistryTypePyPI) && p.Transport.Type == model.TransportTypeStdio
	})
	if i < 0 {
		return ref, nil, nil, evidence.Errorf(evidence.Refused, subject, "",
			errors.New("has no package of npm or PyPI with stdio transport; other packages cannot be pinned yet"))
	}
	p := r.doc.Packages[i]
	if ref, err = p.Ref(); err != nil {
		return ref, nil, nil, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	for _, a := range p.PackageArguments {
		if a.Value == "" || strings.ContainsAny(a.Value, "{}") {
			if a.IsRequired {
				return ref, nil, nil, evidence.Errorf(evidence.Refused, subject, "declare the package itself with command and arguments",
					fmt.Errorf("needs a value for its argument %+q", cmp.Or(a.Name, a.ValueHint)))
			}
			continue
		}
		if a.Name != "" {
			args = append(args, a.Name)
		}
		args = append(args, a.Value)
	}
	for _, v := range p.EnvironmentVariables {
		variables = append(variables, v.Name)
	}
	return ref, args, variables, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
