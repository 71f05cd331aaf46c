package pin

import (
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// VersionOf is the name and the version of what an entry runs, and whose order its versions
// have: a record, an archive or a package. Of an image it is the digest, which has none.
func VersionOf(entry project.ServerLock) (name, version string, kind artifact.Kind) {
	switch {
	case entry.Launch.Server != "":
		name, version, _ = host.CutLast(entry.Launch.Server, "@")
	case entry.Source == project.KindArtifact:
		name, version, _ = host.CutLast(entry.Ref, "@")
	case entry.Source == "image":
		version = entry.Digest.String()
	default:
		if ref, err := artifact.Parse(entry.Ref); err == nil {
			name, version, kind = ref.Name(), ref.Version(), ref.Kind()
		}
	}
	return name, version, kind
}

// addRollback adds evidence if what is pinned is an older version of what is locked: a registry
// that hides newer versions can cause that. If the older version is refused for its status, the
// reason of that refusal names the rollback too.
func (p *Pinning) addRollback() {
	if p.Result.Before == nil {
		return
	}
	was, from, kind := VersionOf(*p.Result.Before)
	name, to, other := VersionOf(p.Result.Entry)
	if was != name || kind != other || !artifact.IsOlder(kind, to, from) {
		return
	}
	back := evidence.Fact(evidence.Claim{
		Subject: name, Scheme: evidence.Pin, Authority: evidence.Lock, Text: from, Where: project.LockFile,
	}, to)
	back.Reason = "rollback: " + to + " is older than " + from + ", which is locked"
	for i, e := range p.report {
		if e.Scheme == evidence.Status && e.Outcome == evidence.Mismatch {
			p.report[i].Reason = back.Reason
		}
	}
	p.report = append(p.report, back)
}
