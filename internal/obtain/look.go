package obtain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// LookResult is what a registry has under a name and version, and what is proven of it. Document, manifest
// and contents are those that the log has if Unproven is empty; who published it when, its status and
// its findings are what the registry says.
type LookResult struct {
	Kind          ledger.Kind
	Name, Version string
	Publisher     string
	Published     time.Time
	Status        registry.Status
	Message       string   // of the person who changed the status
	Findings      []string // of the registry, about claims that failed later
	Unproven      string   // why the log does not prove it; "" if it does
	Next          string   // what leads on where it is unproven; may be empty
	Verdict       policy.Verdict

	Document *serverjson.Document // of a server
	Hashes   []ClaimedHash        // that it claims

	Manifest  *facet.Manifest  // of a facet
	Source    *facet.Source    // of a server that is packed from source
	Integrity digest.Digest    // of the contents of an archive
	Size      int64            // of an archive, in bytes
	Contents  *ArchiveContents // nil if they were not looked at
	Unread    string           // why not
}

// ClaimedHash is a digest that a document claims of a file.
type ClaimedHash struct {
	Of  string        `json:"of"`
	Sum digest.Digest `json:"digest"`
}

// LookOptions say how [Look] looks at something.
type LookOptions struct {
	Log      trail.Options
	Progress func(what string, done, total int64) // may be nil
}

// Look says what a registry has under "NAME" or "NAME@VERSION". A name as facets have it is looked for
// among facets, and then among servers that are packed from source; another among servers. It is an
// error of class Integrity if what the registry says differs from its log or from the contents.
func Look(ctx context.Context, h *host.Host, rules project.Registry, named string, o LookOptions) (*LookResult, error) {
	name, version := splitVersion(named)
	w := workspace.Empty(h, "")
	w.Config.Registry = rules
	if !facet.CheckName(name) {
		return lookAtServer(ctx, w, name, version, o)
	}
	for _, kind := range []ledger.Kind{ledger.Facet, ledger.Artifact} {
		info, err := lookAtArchive(ctx, w, kind, name, version, o)
		if !trail.IsNotFound(err) {
			if info == nil && err != nil {
				err = explainRegistry(named, err)
			}
			return info, err
		}
	}
	return nil, evidence.Errorf(evidence.Validation, named, "'hallmark search' finds names",
		errors.New("is not in the registry"))
}

// splitVersion splits NAME@VERSION, of which the name may begin with @.
func splitVersion(named string) (name, version string) {
	if name, version, ok := host.CutLast(named, "@"); ok && name != "" {
		return name, cmp.Or(version, registry.Latest)
	}
	return named, registry.Latest
}

// lookAtServer looks at the record of a server.
func lookAtServer(ctx context.Context, w *workspace.Workspace, name, version string, o LookOptions) (*LookResult,
	error) {
	if version == registry.Latest {
		envelope, err := w.Registry().Get(ctx, name, version)
		if err != nil {
			return nil, explainRegistry(name, err)
		}
		if _, version, err = registry.ReadName(envelope.Server); err != nil {
			return nil, err
		}
	}
	r, err := FetchRecord(ctx, w, w.Logs(o.Log), name+"@"+version)
	if err != nil {
		return nil, explainRegistry(name+"@"+version, err)
	}
	info := &LookResult{Kind: ledger.Server, Name: r.Document.Name, Version: r.Document.Version, Document: r.Document}
	claims, _ := r.Document.Claims("the record")
	for _, c := range claims {
		for _, sum := range c.Want {
			info.Hashes = append(info.Hashes, ClaimedHash{c.Subject, sum})
		}
	}
	meta := r.Meta
	if official := meta.Official; official != nil {
		info.Published, info.Status, info.Message = official.PublishedAt, official.Status, official.StatusMessage
	}
	if meta.Integrity != nil {
		info.addFindings(meta.Integrity.Findings)
	}
	return info, info.judge(r.Report, r.Lock.Proof)
}

// lookAtArchive looks at the record of a facet, or of a server that is packed from source, and at its
// contents.
func lookAtArchive(ctx context.Context, w *workspace.Workspace, kind ledger.Kind, name, version string,
	o LookOptions) (*LookResult, error) {
	rec, err := w.Registry().ArchiveRecord(ctx, string(kind), name, version)
	if err != nil {
		return nil, err
	}
	info := &LookResult{Kind: kind, Name: rec.Name, Version: rec.Version, Publisher: rec.Publisher,
		Published: rec.PublishedAt,
		Status:    rec.Status, Message: rec.StatusMessage, Integrity: rec.ContentIntegrity, Size: rec.Size}
	info.addFindings(rec.Findings)
	if kind == ledger.Facet {
		info.Manifest, err = facet.ParseManifest(rec.Manifest)
	} else {
		info.Source, err = facet.ParseSource(rec.Manifest)
	}
	if err != nil {
		return nil, err
	}
	report, proof, err := proveArchive(ctx, w, rec, o.Log)
	if err != nil {
		return nil, err
	}
	if err := info.judge(report, proof); err != nil {
		return info, err
	}
	more, err := info.readContents(ctx, w, rec, o)
	if err != nil {
		return info, err
	}
	return info, info.judge(slices.Concat(report, more), proof)
}

// proveArchive compares the record of an archive with the registry's log. The proof is empty if there is
// none to be verified.
func proveArchive(ctx context.Context, w *workspace.Workspace, rec registry.ArchiveRecord,
	o trail.Options) (report evidence.Report, proof string, err error) {
	document, err := rec.Document()
	if err != nil {
		return nil, "", evidence.Errorf(evidence.Validation, rec.Subject(), "", err)
	}
	logged := project.RecordLock{Kind: ledger.Kind(rec.Kind), Registry: w.Config.Registry.Name(), Name: rec.Name,
		Version: rec.Version, Document: document, Integrity: rec.ContentIntegrity}
	log, _, err := w.Logs(o).Open(ctx)
	if err != nil {
		return nil, "", err
	}
	report, err = log.ProveArchive(ctx, rec, &logged)
	return report, logged.Proof, err
}

// judge judges what was found. What differs is an error; what is only not proven is said to be so. A
// status and findings are shown, and do not matter here: nothing is admitted.
func (i *LookResult) judge(report evidence.Report, proof string) error {
	report = slices.DeleteFunc(slices.Clone(report), func(e evidence.Evidence) bool {
		return e.Scheme == evidence.Status || e.Scheme == evidence.Finding
	})
	purpose := policy.Install
	if i.Kind == ledger.Server {
		purpose = policy.Check
	}
	i.Verdict = policy.Judge(purpose, policy.Settings{}, report)
	err := i.Verdict.Err()
	switch refused := i.Verdict.Refused(); {
	case err != nil && evidence.ClassOf(err) == evidence.Integrity:
		return err
	case err != nil && len(refused) > 0:
		i.Unproven = cmp.Or(refused[0].Evidence.Reason, refused[0].Evidence.Title())
		i.Next = i.Verdict.Advice(refused[0])
	case proof == "":
		i.Unproven = "the registry has no log that proves it"
	}
	return nil
}

// addFindings adds what the registry found to fail later.
func (i *LookResult) addFindings(findings []registry.Finding) {
	for _, f := range findings {
		failing := f.Failing()
		text := fmt.Sprintf("%s: whole again", f.At.UTC().Format(time.DateOnly))
		if len(failing) > 0 {
			text = fmt.Sprintf("%s: %s", f.At.UTC().Format(time.DateOnly), failing[0])
		}
		i.Findings = append(i.Findings, text)
	}
}
