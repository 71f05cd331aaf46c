package hallmark

import (
	"bytes"
	"context"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Publication is what [Publish] sent and what the registry answered.
type Publication struct {
	Verdict  policy.Verdict // of the author's side; empty with NoHash
	Document []byte         // as sent
	Record   *registry.Envelope

	// Moved says that the registry knows no file_hashes, so that they were sent in the
	// metadata that it leaves to publishers.
	Moved bool
}

// PublishOptions change what [Publish] does.
type PublishOptions struct {
	Registry *registry.Client
	Token    string
	NoHash   bool // fetch nothing and send the document unchanged
}

// Publish hashes the document's packages, compares them with the hashes that it holds
// already, adds those that are missing and sends it. The file is not edited. Nothing is
// sent if a hash of the document does not match.
func Publish(ctx context.Context, h *Host, doc *serverjson.Document, where string, o PublishOptions) (*Publication, error) {
	if err := doc.ValidateForPublish().Err(); err != nil {
		return nil, invalidDocument(where, err)
	}
	p := &Publication{Document: doc.Raw}
	var err error
	if !o.NoHash {
		all, report, err := subjects(h.Fetch, doc, where, true)
		if err != nil {
			return nil, err
		}
		client := h.Fetch.For(doc.Name)
		if all, err = expand(ctx, client, where, all); err != nil {
			return nil, err
		}
		hashes := slices.Clone(doc.FileHashes)
		missing := make([]serverjson.FileHash, len(all))
		more, err := observe(ctx, client, all, func(i int, d *fetch.Download) error {
			if !listed(doc, all[i]) {
				missing[i] = serverjson.FileHash{Key: d.Ref.String(), Value: d.Observed.SHA256().String()}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		p.Verdict = policy.Judge(policy.Send, policy.Settings{}, append(report, more...))
		if err := p.Verdict.Err(); err != nil {
			return p, err
		}
		for _, m := range missing {
			if m.Key != "" {
				hashes = append(hashes, m)
			}
		}
		if len(hashes) > len(doc.FileHashes) {
			if p.Document, err = serverjson.SetFileHashes(doc.Raw, hashes); err != nil {
				return nil, evidence.Errorf(evidence.Validation, where, "", err)
			}
		}
	}
	if p.Moved, err = moveHashes(ctx, o.Registry, doc.Name+"@"+doc.Version, p); err != nil {
		return p, err
	}
	record, err := o.Registry.Publish(ctx, p.Document, o.Token)
	if err != nil {
		return p, answered(doc.Name+"@"+doc.Version, evidence.Operation, err)
	}
	p.Record = record
	return p, nil
}

// moveHashes moves file_hashes to where a registry that does not know the member takes
// them, and reports whether there were any.
func moveHashes(ctx context.Context, c *registry.Client, subject string, p *Publication) (bool, error) {
	about, err := c.About(ctx)
	if err != nil {
		return false, answered(subject, evidence.Operation, err)
	}
	if about.FileHashes != "" {
		return false, nil
	}
	moved, err := serverjson.MoveFileHashes(p.Document)
	if err != nil {
		return false, evidence.Errorf(evidence.Validation, subject, "the registry does not take file_hashes itself; publish fewer files, or use --no-hash without file_hashes", err)
	}
	if bytes.Equal(moved, p.Document) {
		return false, nil
	}
	p.Document = moved
	return true, nil
}

// listed reports whether file_hashes has an entry for s; a fileSha256 alone is no entry.
func listed(doc *serverjson.Document, s *subject) bool {
	return slices.ContainsFunc(doc.FileHashes, func(f serverjson.FileHash) bool { return f.Ref.Normal() == s.ref.Normal() })
}
