package fetch

import (
	"context"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Release is what a package registry says of a version now.
type Release struct {
	Ref       artifact.Ref `json:"ref"`
	Published time.Time    `json:"published,omitzero"`   // zero: the registry does not say
	Withdrawn string       `json:"withdrawn,omitempty"`  // what its publisher says against it, "" for nothing
	Gone      bool         `json:"unpublished,omitzero"` // the registry has no such version any more
}

// TakenBack reports whether the publisher, or the registry, took the version back.
func (r Release) TakenBack() bool { return r.Gone || r.Withdrawn != "" }

// HasReleases reports whether [Client.Releases] can ask about refs of a kind.
func HasReleases(kind artifact.Kind) bool {
	_, ok := ecosystemOfKind(kind).(releasing)
	return ok
}

// releasing is an ecosystem whose registries say more of a version than its files.
type releasing interface {
	// releases asks about refs, which are versions of one package.
	releases(ctx context.Context, c *Client, refs []artifact.Ref) ([]Release, error)
}

// Releases asks the package registry what it says now of versions of one package, at least one. The answers have
// their order. A version that the registry does not have is no error.
func (c *Client) Releases(ctx context.Context, refs ...artifact.Ref) ([]Release, error) {
	of, ok := ecosystemOfKind(refs[0].Kind()).(releasing)
	if !ok {
		return nil, unsupportedKindError(refs[0])
	}
	return asking(ctx, c, refs[0], func(ctx context.Context, c *Client) ([]Release, error) {
		return of.releases(ctx, c, refs)
	})
}
