package kind

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/project"
)

// ChangedFiles is what differs between the files of the package that is locked and of the one that takes its place.
type ChangedFiles struct {
	Since   string             `json:"since"`             // the locked package, a ref
	Changes []fetch.FileChange `json:"changes"`           // by path
	Unknown string             `json:"unknown,omitempty"` // why they could not be compared
}

// compareFiles compares the files of a fetched package with those of the locked one, which is fetched again for that.
// It is nil if another package or the same version was locked. It decides nothing, so that a version that cannot be
// fetched any more or read, or whose bytes are not those that were locked, is only said.
func (k ecosystem) compareFiles(ctx context.Context, d Declaration, t *closure.Packages) (*ChangedFiles, error) {
	if k.listFiles == nil || d.Before == nil || t.OwnFile() == "" {
		return nil, nil
	}
	old, err := artifact.Parse(d.Before.Ref)
	if err != nil || old.Kind() != t.Ref.Kind() || old.Name() != t.Ref.Name() ||
		old.Version() == t.Ref.Version() {
		return nil, nil
	}
	out := &ChangedFiles{Since: old.String()}
	after, err := k.listFiles(t.OwnFile())
	if err != nil {
		out.Unknown = fmt.Sprintf("%s cannot be read: %v", t.Ref, err)
		return out, nil
	}
	report, err := document.ObserveAll(ctx, d.Workspace.Host.Fetch, []*document.Subject{lockedSubject(old, *d.Before)},
		func(_ int, found *fetch.Download) error {
			before, err := k.listFiles(found.Path())
			if err != nil {
				out.Unknown = fmt.Sprintf("%s cannot be read: %v", old, err)
			} else {
				out.Changes = fetch.CompareFiles(before, after)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	if report[0].Outcome != evidence.Match {
		out.Changes = nil
		out.Unknown = fmt.Sprintf("the registry does not give %s with the bytes that were locked", old)
	}
	return out, nil
}

// lockedSubject is a package whose bytes are to be those of an entry.
func lockedSubject(ref artifact.Ref, entry project.ServerLock) *document.Subject {
	return &document.Subject{Ref: ref, Claims: []evidence.Claim{{Subject: entry.Ref, Scheme: evidence.File,
		Authority: evidence.Lock, Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile}}}
}
