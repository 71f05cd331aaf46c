package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/surface"
)

// askedAtOnce is how many packages the registries are asked about at once.
const askedAtOnce = 8

// needsAdvisories reports whether a locked server has packages of which a database of advisories may know something.
func needsAdvisories(w *workspace.Workspace) bool {
	return slices.ContainsFunc(w.Lock.Servers(), func(name string) bool {
		entry, _ := w.Lock.Server(name)
		ref, err := artifact.Parse(entry.Ref)
		if err != nil || entry.Closure == nil {
			return false
		}
		_, known := workspace.AdvisoryFile(ref.Kind())
		return known
	})
}

// checkReleases asks the package registries whether the versions of the locked servers were taken back, and adds what
// they say to the servers. What could not be asked, and why, is unseen: no bytes depend on the answer.
func checkReleases(ctx context.Context, w *workspace.Workspace, servers []Entry) (report evidence.Report,
	unseen []string, err error) {
	found, problems := make([]evidence.Report, len(servers)), make([]error, len(servers))
	if err := host.ForEach(askedAtOnce, len(servers), func(i int) error {
		ref, err := artifact.Parse(servers[i].What)
		if err != nil {
			return nil // a command or a URL
		}
		found[i], problems[i] = kind.ReleaseEvidence(ctx, w.Host, ref)
		return ctx.Err()
	}); err != nil {
		return nil, nil, err
	}
	why := map[string]int{} // how many packages could not be asked about, by the reason
	for i := range servers {
		found[i].About(w.ServerEntry(servers[i].Name))
		servers[i].Report, report = append(servers[i].Report, found[i]...), append(report, found[i]...)
		if problems[i] != nil {
			why[surface.Escape(problems[i].Error())]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		unseen = append(unseen, fmt.Sprintf("whether %s of servers were taken back: %s",
			evidence.Count(why[reason], "package"), reason))
	}
	return report, unseen, nil
}
