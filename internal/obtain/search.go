package obtain

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// SearchHit is the newest version of something whose name, title or description has all words of a search.
// All of it is what the registry says.
type SearchHit struct {
	Kind        ledger.Kind     `json:"kind"`
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	Status      registry.Status `json:"status,omitempty"`
}

// SearchResult is the answer to a search, in the order of the registry: servers, facets, servers from source.
type SearchResult struct {
	Hits []SearchHit
	More bool // the registry has more of that kind than were looked at
}

// Limits of a search.
const (
	MaxSearchHits  = 100 // of each kind
	maxSearchPages = 10  // of each kind that are looked at
)

// Search finds the newest versions of servers and facets whose names have the longest of the words, and
// whose names, titles or descriptions have all of them, at most limit of each kind.
func Search(ctx context.Context, h *host.Host, rules project.Registry, words []string, limit int) (*SearchResult,
	error) {
	w := workspace.Empty(h, "")
	w.Config.Registry = rules
	s := &registrySearch{client: w.Registry(), limit: min(cmp.Or(limit, registry.DefaultLimit), MaxSearchHits)}
	for _, word := range words {
		s.words = append(s.words, strings.ToLower(word))
	}
	longest := slices.MaxFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	query := registry.Query{Search: longest, Version: registry.Latest, Limit: registry.MaxLimit}
	out := &SearchResult{}
	err := s.each(query, func(q registry.Query) (hits []SearchHit, next string, err error) {
		page, err := s.client.List(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for _, envelope := range page.Servers {
			hits = append(hits, serverHit(envelope))
		}
		return hits, page.Metadata.NextCursor, nil
	}, out)
	for _, kind := range []ledger.Kind{ledger.Facet, ledger.Artifact} {
		if err != nil {
			break
		}
		err = s.each(query, func(q registry.Query) (hits []SearchHit, next string, err error) {
			page, err := s.client.ListArchives(ctx, string(kind), q)
			if trail.IsNotFound(err) { // a registry of servers only
				return nil, "", nil
			}
			if err != nil {
				return nil, "", err
			}
			for _, rec := range page.Archives {
				hits = append(hits, archiveHit(rec))
			}
			return hits, page.Metadata.NextCursor, nil
		}, out)
	}
	if err != nil {
		return nil, explainRegistry(rules.Name(), err)
	}
	return out, nil
}

// registrySearch is a search under way.
type registrySearch struct {
	client *client.Client
	words  []string // in lower case
	limit  int      // of each kind
}

// each adds the hits of one kind to out, page by page.
func (s *registrySearch) each(q registry.Query, page func(registry.Query) ([]SearchHit, string, error),
	out *SearchResult) error {
	found := 0
	for range maxSearchPages {
		hits, next, err := page(q)
		if err != nil {
			return err
		}
		for _, hit := range hits {
			if !s.has(hit) {
				continue
			}
			if found++; found > s.limit {
				out.More = true
				return nil
			}
			out.Hits = append(out.Hits, hit)
		}
		if next == "" || next == q.Cursor {
			return nil
		}
		q.Cursor = next
	}
	out.More = true
	return nil
}

// has reports whether a hit has all words.
func (s *registrySearch) has(hit SearchHit) bool {
	text := strings.ToLower(hit.Name + "\n" + hit.Description)
	return !slices.ContainsFunc(s.words, func(word string) bool { return !strings.Contains(text, word) })
}

// serverHit is what a listing says of a server; its name alone if its document cannot be read.
func serverHit(envelope registry.Envelope) SearchHit {
	hit := SearchHit{Kind: ledger.Server}
	if o := envelope.Meta.Official; o != nil {
		hit.Status = o.Status
	}
	if doc, err := document.Parse("the registry's record", envelope.Server); err == nil {
		hit.Name, hit.Version = doc.Name, doc.Version
		hit.Description = strings.TrimSpace(doc.Title + "  " + doc.Description)
	} else {
		hit.Name, hit.Version, _ = registry.ReadName(envelope.Server)
	}
	return hit
}

// archiveHit is what a listing says of an archive.
func archiveHit(rec registry.ArchiveRecord) SearchHit {
	return SearchHit{Kind: ledger.Kind(rec.Kind), Name: rec.Name, Version: rec.Version, Status: rec.Status,
		Description: describeArchive(rec.Kind, rec.Manifest)}
}

// describeArchive is the description in the manifest of an archive; "" if it cannot be read.
func describeArchive(kind string, manifest json.RawMessage) string {
	if ledger.Kind(kind) == ledger.Facet {
		if m, err := facet.ParseManifest(manifest); err == nil {
			return m.Description
		}
		return ""
	}
	if source, err := facet.ParseSource(manifest); err == nil {
		return source.Description
	}
	return ""
}

// explainRegistry is the error of a request, with the class of the registry's answer.
func explainRegistry(subject string, err error) error {
	if refusal := host.NoAnswer(subject, err); evidence.ClassOf(refusal) == evidence.Refused {
		return refusal
	}
	return client.ExplainAnswer(subject, evidence.Validation, err)
}
