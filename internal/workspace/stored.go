package workspace

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// LockedSurface returns the surface that is stored beside the lock for a server; nil if there is none that can be read.
func LockedSurface(w *Workspace, name string) *surface.Surface {
	data, err := w.ReadFile(w.SurfacePath(name), MaxSurface)
	if err != nil || data == nil {
		return nil
	}
	s, err := surface.Read(data)
	if err != nil {
		return nil
	}
	return s
}

// storedFiles are the files beside a lock, as they were read and compared.
type storedFiles struct {
	Report  evidence.Report
	Surface *surface.Surface // nil if it is missing or no surface
	Closure *project.Closure // nil if the entry has none, or it is missing or malformed
}

// ReadStored reads the files of an entry once and compares them with its digests.
func ReadStored(w *Workspace, name string, entry project.ServerLock) (*storedFiles, error) {
	return CompareStored(name, entry, func(at string, limit int64) ([]byte, error) {
		return w.ReadFile(w.Path(at), limit)
	})
}

// CompareStored is ReadStored of files of which read gives the content, nil of a missing one; at is relative to the
// project.
func CompareStored(name string, entry project.ServerLock, read func(at string, limit int64) ([]byte, error)) (
	*storedFiles, error) {
	out := &storedFiles{}
	data, err := read(project.SurfaceFile(name), MaxSurface)
	if err != nil {
		return nil, err
	}
	claim := evidence.Claim{
		Subject: project.SurfacesDir + "/" + name + ".json", Scheme: evidence.Document, Authority: evidence.Lock,
		Want: []digest.Digest{entry.Surface}, Where: project.LockFile + ", surface",
	}
	if data == nil {
		out.Report = append(out.Report, noFileEvidence(claim))
	} else if s, err := surface.Read(data); err != nil {
		out.Report = append(out.Report, evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)),
			From: "the file, which is no canonical surface: " + err.Error(),
		}))
	} else {
		out.Surface = s
		out.Report = append(out.Report, evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{s.Digest()}, Size: int64(len(data)), From: "the file",
		}), itemsEvidence(claim, entry, s))
	}
	if entry.Closure == nil {
		return out, nil
	}
	if data, err = read(project.ClosureSubject(name), project.MaxClosure); err != nil {
		return nil, err
	}
	claim = evidence.Claim{
		Subject: project.ClosureSubject(name), Scheme: evidence.Document, Authority: evidence.Lock,
		Want: []digest.Digest{entry.Closure.Lock}, Where: project.LockFile + ", closure",
	}
	if data == nil {
		out.Report = append(out.Report, noFileEvidence(claim))
		return out, nil
	}
	out.Report = append(out.Report, evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{closureDigest(data)}, Size: int64(len(data)), From: "the file",
	}))
	if out.Closure, err = project.ParseClosure(data); err != nil {
		out.Report = append(out.Report, evidence.CannotVerify(claim, evidence.Malformed, err.Error()))
	} else if why := whyUnrooted(entry, out.Closure); why != "" {
		out.Report = append(out.Report, evidence.CannotVerify(claim, evidence.Malformed, why))
	}
	return out, nil
}

// closureDigest returns the digest of a closure as Hallmark wrote it: with git's core.autocrlf a checkout has it with
// other line ends, which no text in JSON holds.
func closureDigest(data []byte) digest.Digest {
	return digest.FromBytes(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}

// noFileEvidence returns evidence that a file beside the lock is missing although the lock has its
// digest.
func noFileEvidence(c evidence.Claim) evidence.Evidence {
	c.Want = nil // there is nothing to compare
	return evidence.Evidence{Claim: c, Outcome: evidence.Absent, Reason: "there is no such file"}
}

// itemsEvidence compares surface_items, by which the guard judges, with the surface that a person
// reads. If they differ the entry was not written by Hallmark.
func itemsEvidence(c evidence.Claim, entry project.ServerLock, s *surface.Surface) evidence.Evidence {
	c.Subject, c.Where = c.Subject+" (items)", project.LockFile+", surface_items"
	c.Want = []digest.Digest{ItemsDigest(entry.SurfaceItems)}
	return evidence.Compare(c,
		evidence.Observed{Digests: []digest.Digest{ItemsDigest(s.ItemDigests())}, From: "the file"})
}

// ItemsDigest returns one digest of the names and digests of all items of a surface.
func ItemsDigest(items map[string]digest.Digest) digest.Digest {
	h := digest.NewHasher()
	var line []byte
	for _, key := range slices.Sorted(maps.Keys(items)) {
		line = append(strconv.AppendQuote(line[:0], key), ' ')
		h.Write(append(append(line, items[key].String()...), '\n'))
	}
	return h.Digest(digest.SHA256)
}
