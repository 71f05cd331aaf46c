package cli

import (
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/facets"
)

// publishedAt says how old the version is that an upgrade takes, after a comma; "" if it takes none.
func publishedAt(s facets.ServerStatus) string {
	if r := s.WantedRelease; r != nil && s.Outdated() && !r.Published.IsZero() {
		return ", published " + formatPublished(r.Published, time.Now())
	}
	return ""
}

// takenBack says that the locked version was taken back, and why, after a comma; "" if it was not.
func takenBack(s facets.ServerStatus) string {
	switch r := s.CurrentRelease; {
	case r != nil && r.Gone:
		return ", " + s.Current + " is not in the registry any more"
	case r != nil && r.Withdrawn != "":
		return ", " + s.Current + " was taken back by its publisher: " + document.Clip(r.Withdrawn, maxSaid)
	}
	return ""
}

// maxSaid bounds a publisher's words in a line, in characters.
const maxSaid = 200

// formatPublished says when a version was published, and how long that is ago.
func formatPublished(at, now time.Time) string {
	ago, unit := int(now.Sub(at).Hours()), "hour"
	switch {
	case ago < 1:
		return at.UTC().Format("2006-01-02 15:04Z") + " (less than an hour ago)"
	case ago >= 48:
		ago, unit = ago/24, "day"
	}
	return fmt.Sprintf("%s (%s ago)", at.UTC().Format("2006-01-02 15:04Z"), evidence.Count(ago, unit))
}
