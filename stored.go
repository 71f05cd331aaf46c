package hallmark

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// storedFiles are the files beside a lock, as they were read and judged.
type storedFiles struct {
	report  evidence.Report
	surface *surface.Surface // nil if it is missing or no surface
	closure *project.Closure // nil if the entry has none, or it is missing or malformed
}

// readStored reads the files of an entry once and compares them with its digests.
func (w *workspace) readStored(name string, entry project.ServerLock) (*storedFiles, error) {
	out := &storedFiles{}
	data, err := w.stored(w.surfacePath(name), maxSurface)
	if err != nil {
		return nil, err
	}
	claim := evidence.Claim{
		Subject: project.SurfacesDir + "/" + name + ".json", Scheme: evidence.Document, Authority: evidence.Lock,
		Want: []digest.Digest{entry.Surface}, Where: project.LockFile + ", surface",
	}
	if data == nil {
		out.report = append(out.report, noFile(claim))
	} else if s, err := surface.Read(data); err != nil {
		out.report = append(out.report, evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)), From: "the file, which is no canonical surface: " + err.Error(),
		}))
	} else {
		out.surface = s
		out.report = append(out.report, evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{s.Digest()}, Size: int64(len(data)), From: "the file",
		}), itemsEvidence(claim, entry, s))
	}
	if entry.Closure == nil {
		return out, nil
	}
	if data, err = w.stored(w.closurePath(name), project.MaxClosure); err != nil {
		return nil, err
	}
	claim = evidence.Claim{
		Subject: project.ClosureSubject(name), Scheme: evidence.Document, Authority: evidence.Lock,
		Want: []digest.Digest{entry.Closure.Lock}, Where: project.LockFile + ", closure",
	}
	if data == nil {
		out.report = append(out.report, noFile(claim))
		return out, nil
	}
	out.report = append(out.report, evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)), From: "the file",
	}))
	if out.closure, err = project.ParseClosure(data); err != nil {
		out.report = append(out.report, evidence.CannotVerify(claim, evidence.Malformed, err.Error()))
	} else if why := unrooted(entry, out.closure); why != "" {
		out.report = append(out.report, evidence.CannotVerify(claim, evidence.Malformed, why))
	}
	return out, nil
}

// noFile is evidence that a file beside the lock is not there, of which the lock has a digest.
func noFile(c evidence.Claim) evidence.Evidence {
	c.Want = nil // there is nothing to compare
	return evidence.Evidence{Claim: c, Outcome: evidence.Absent, Reason: "there is no such file"}
}

// itemsEvidence compares surface_items, by which the guard judges, with the surface
// that a person can read: an entry whose two halves differ was not written by us.
func itemsEvidence(c evidence.Claim, entry project.ServerLock, s *surface.Surface) evidence.Evidence {
	c.Subject, c.Where = c.Subject+" (items)", project.LockFile+", surface_items"
	c.Want = []digest.Digest{itemsDigest(entry.SurfaceItems)}
	return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{itemsDigest(s.ItemDigests())}, From: "the file"})
}

func itemsDigest(items map[string]digest.Digest) digest.Digest {
	h := digest.NewHasher()
	var line []byte
	for _, key := range slices.Sorted(maps.Keys(items)) {
		line = append(strconv.AppendQuote(line[:0], key), ' ')
		h.Write(append(append(line, items[key].String()...), '\n'))
	}
	return h.Digest(digest.SHA256)
}
