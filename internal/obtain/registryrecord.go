package obtain

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
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ArchiveStatus returns evidence of the status of an archive's record.
func ArchiveStatus(rec registry.ArchiveRecord) evidence.Evidence {
	return statusEvidence(rec.Subject(), rec.Status, rec.StatusMessage)
}

// statusEvidence is evidence of the status that a record has, with the message of the person who set it.
func statusEvidence(subject string, status registry.Status, message string) evidence.Evidence {
	c := evidence.Claim{Subject: subject, Scheme: evidence.Status, Authority: evidence.Record,
		Text: string(registry.Active), Where: "the record's status"}
	if status == registry.Deprecated {
		return evidence.Waive(c, evidence.Observed{Text: string(status)}, message)
	}
	return evidence.Fact(c, string(status))
}

// Record is what a registry holds about a server, with the evidence that the registry's log has
// this document.
type Record struct {
	Document *serverjson.Document
	Meta     registry.Meta // beside its document; only what Report has evidence of is proven
	Lock     project.RecordLock
	Report   evidence.Report
}

// FetchRecord fetches the record "name@version".
func FetchRecord(ctx context.Context, w *workspace.Workspace, logs *trail.Logs, named string) (*Record, error) {
	name, version, ok := host.CutLast(named, "@")
	if !ok || name == "" || version == "" || version == registry.Latest {
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", named), "write server = \"NAME@VERSION\"",
			errors.New("a record is named with an exact version"))
	}
	client := w.Registry()
	if client == nil {
		return nil, workspace.NoRegistryError(named)
	}
	envelope, err := client.GetDeleted(ctx, name, version) // its status says that it is; policy refuses it
	if err != nil {
		return nil, host.NoAnswer(named, err)
	}
	r, err := RecordFromEnvelope(w, *envelope)
	if err != nil {
		return nil, err
	}
	_, err = addRecordProof(ctx, logs, r)
	return r, err
}

// addRecordProof adds what the registry's log says about a record, and returns the log; nil if there is
// none.
func addRecordProof(ctx context.Context, logs *trail.Logs, r *Record) (*trail.Log, error) {
	log, _, err := logs.Open(ctx)
	if err != nil {
		return nil, err
	}
	if log != nil {
		r.Report = append(r.Report, log.Report...)
	}
	more, err := log.FetchProof(ctx, &r.Lock)
	r.Report = append(r.Report, more...)
	if err != nil || r.Lock.Proof == "" {
		return log, err
	}
	later, err := log.LaterEvidence(ctx, r.Lock, r.Meta)
	r.Report = append(r.Report, later...)
	return log, err
}

// FetchRecordFor finds the record that publishes ref, among those of the server mcpName that the package
// names. It returns nil if there is no registry, no name or no record.
func FetchRecordFor(ctx context.Context, w *workspace.Workspace, logs *trail.Logs, ref artifact.Ref,
	mcpName string) (*Record, error) {
	client := w.Registry()
	if client == nil || mcpName == "" {
		return nil, nil
	}
	var found *Record
	err := client.EachVersion(ctx, mcpName, func(envelope registry.Envelope) (more bool, err error) {
		r, err := RecordFromEnvelope(w, envelope)
		if err != nil {
			return true, nil // a record that cannot be read vouches for nothing
		}
		if r.Document.Covers(ref) {
			found = r
		}
		return found == nil, nil
	})
	if problem, ok := errors.AsType[*registry.Problem](err); ok && problem.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, host.NoAnswer(mcpName, err)
	}
	if found == nil {
		return nil, nil
	}
	_, err = addRecordProof(ctx, logs, found)
	return found, err
}

// RecordFromEnvelope reads a record from a registry's answer.
func RecordFromEnvelope(w *workspace.Workspace, envelope registry.Envelope) (*Record, error) {
	doc, err := document.Parse("the registry's record", envelope.Server)
	if err != nil {
		return nil, err
	}
	doc.AtRegistries(w.Host.Fetch.AsksAt)
	subject := doc.Name + "@" + doc.Version
	canonical, err := serverjson.Canonical(doc.Raw)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	d := digest.FromBytes(canonical)
	claim := evidence.Claim{Subject: subject, Scheme: evidence.Document, Authority: evidence.Record,
		Where: "the registry's record, hallmark/integrity"}
	if i := envelope.Meta.Integrity; i != nil && !i.Document.IsZero() {
		claim.Want = []digest.Digest{i.Document}
	}
	r := &Record{
		Document: doc,
		Meta:     envelope.Meta,
		Lock: project.RecordLock{Registry: w.Config.Registry.Name(), Name: doc.Name, Version: doc.Version,
			Document: d},
		Report: evidence.Report{evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{d}, Size: int64(len(canonical)), From: "the record's document",
		})},
	}
	if o := envelope.Meta.Official; o != nil {
		r.Report = append(r.Report, statusEvidence(subject, o.Status, o.StatusMessage))
	}
	return r, nil
}

// ClaimsOf returns evidence of what the record claims about ref; r may be nil.
func (r *Record) ClaimsOf(ref artifact.Ref, o evidence.Observed) evidence.Report {
	none := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Record}
	if r == nil {
		return evidence.Report{evidence.Compare(none, o)}
	}
	where := "the record of " + r.Document.Name + "@" + r.Document.Version
	claims, bad := r.Document.Claims(where)
	var report evidence.Report
	for _, c := range claims {
		if document.SameRef(c.Subject, ref) || isOfRelease(c.Subject, ref) {
			c.Subject, c.Authority = ref.String(), evidence.Record
			report = append(report, evidence.Compare(c, o))
		}
	}
	for _, e := range bad {
		if document.SameRef(e.Subject, ref) || isOfRelease(e.Subject, ref) {
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

// isOfRelease reports whether a claim is about the only file of the release of PyPI that ref is a file of. A file that
// came later is another one than was claimed, so that it does not match.
func isOfRelease(subject string, ref artifact.Ref) bool {
	release, err := artifact.Parse(subject)
	return err == nil && release.Filename() == "" && release.Normal() == ref.Release()
}

// declareInstead leads on from a record without such a package: it says how the image or the URL that it names is
// declared.
func (r *Record) declareInstead() string {
	for _, p := range r.Document.Packages {
		ref, err := p.Ref()
		if err != nil || p.RegistryType != model.RegistryTypeOCI || p.Transport.Type != model.TransportTypeStdio {
			continue
		}
		line := []string{"docker", "run", "-i", "--rm"}
		for _, v := range p.EnvironmentVariables {
			line = append(line, "-e", v.Name)
		}
		_, command, args := launcher.DescribeInner(append(line, strings.TrimPrefix(ref.String(), "oci:")))
		return "declare its image: command = " + command + ", arguments = " + args
	}
	if len(r.Document.Remotes) > 0 {
		return `declare its URL: type = "http", url = ` + wire.Quoted(r.Document.Remotes[0].URL)
	}
	return "install what it names, and declare its program as command"
}

// StartablePackage returns the package of a record that can be started over stdio with node or
// python, with the arguments and variables that its publisher declares for it.
func (r *Record) StartablePackage() (ref artifact.Ref, args, variables []string, err error) {
	subject := r.Document.Name + "@" + r.Document.Version
	i := slices.IndexFunc(r.Document.Packages, func(p serverjson.Package) bool {
		return (p.RegistryType == model.RegistryTypeNPM || p.RegistryType == model.RegistryTypePyPI) &&
			p.Transport.Type == model.TransportTypeStdio
	})
	if i < 0 {
		return ref, nil, nil, evidence.Errorf(evidence.Refused, subject, r.declareInstead(),
			errors.New("has no package of npm or PyPI with stdio transport, and no other is pinned by its record"))
	}
	p := r.Document.Packages[i]
	if ref, err = p.Ref(); err != nil {
		return ref, nil, nil, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	for _, a := range p.PackageArguments {
		if a.Value == "" || strings.ContainsAny(a.Value, "{}") {
			if a.IsRequired {
				return ref, nil, nil,
					evidence.Errorf(evidence.Refused, subject, "declare the package itself with command and arguments",
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
