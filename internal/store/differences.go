package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// maxDifferences is how many files a report names.
const maxDifferences = 20

// compareFiles compares each file with the sidecar's list and returns what does not match, in byte
// order of the paths. Without a sidecar it returns only the entries that no tree may hold.
func (a *audit) compareFiles(ctx context.Context, in tree.Inventory, open tree.Open) (evidence.Report, error) {
	var out evidence.Report
	seen := map[string]bool{}
	for _, e := range in.Refused {
		seen[e.Path] = true
		out = append(out, a.unexpectedEntry(a.contentPath(e.Path), e.Path, "is "+e.Kind))
	}
	if a.sidecar != nil {
		if err := a.sidecar.decodeFiles(); err != nil {
			out = append(out, a.unexpectedEntry(filepath.Join(a.dir, sidecarName), sidecarName, err.Error()))
			a.sidecar = nil
		}
	}
	if a.sidecar != nil {
		for _, f := range in.Files {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			seen[f.Path] = true
			if f.Exec && a.claim.Scheme == evidence.FacetTar && f.Path != a.executableFile(open) {
				out = append(out, a.unexpectedEntry(a.contentPath(f.Path), f.Path,
					"is executable, as no file of its archive is"))
				continue
			}
			if e := a.compareFile(f, open); e.Outcome != evidence.Match {
				out = append(out, e)
			}
		}
		for path, note := range a.sidecar.Files {
			if !seen[path] {
				out = append(out, mismatch(a.fileClaim(path, note), "missing", a.contentPath(path)))
			}
		}
	}
	for _, entry := range in.Unhashed {
		// the files of a listed directory are reported as missing
		if entry.Mode != fs.ModeDir || !a.listsBelow(entry.Path) {
			out = append(out, a.unexpectedEntry(a.contentPath(entry.Path), entry.Path, "is "+entry.Kind))
		}
	}
	slices.SortStableFunc(out, func(x, y evidence.Evidence) int { return strings.Compare(x.Subject, y.Subject) })
	return out, nil
}

// listsBelow reports whether the sidecar lists a file below dir.
func (a *audit) listsBelow(dir string) bool {
	if a.sidecar != nil {
		for path := range a.sidecar.Files {
			if strings.HasPrefix(path, dir+"/") {
				return true
			}
		}
	}
	return false
}

// compareFile compares f with the sidecar's note of it: its digest, then its size and mode.
func (a *audit) compareFile(f tree.File, open tree.Open) evidence.Evidence {
	note, listed := a.sidecar.Files[f.Path]
	if !listed {
		return a.unexpectedEntry(a.contentPath(f.Path), f.Path, "not in the slot's list")
	}
	claim := a.fileClaim(f.Path, note)
	r, err := open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return mismatch(claim, "missing", a.contentPath(f.Path))
	}
	if err != nil {
		return evidence.CannotVerify(claim, evidence.Unreadable, err.Error())
	}
	defer r.Close()
	sum, size, err := digest.FromReader(r)
	if err != nil {
		return evidence.CannotVerify(claim, evidence.Unreadable, err.Error())
	}
	e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{sum}, Size: size,
		From: a.contentPath(f.Path)})
	if e.Outcome == evidence.Match && f.Exec != note.Exec {
		claim.Want, claim.Text = nil, executableText(note.Exec)
		return mismatch(claim, executableText(f.Exec), a.contentPath(f.Path))
	}
	if e.Outcome == evidence.Match && size != note.Size {
		claim.Want, claim.Text = nil, evidence.Group(note.Size)+" bytes"
		return mismatch(claim, evidence.Group(size)+" bytes", a.contentPath(f.Path))
	}
	return e
}

// executableText names the mode of a file in a report.
func executableText(yes bool) string {
	if yes {
		return "executable"
	}
	return "not executable"
}

// contentPath is the absolute path of a file of the slot.
func (a *audit) contentPath(path string) string {
	return filepath.Join(a.dir, contentDir, filepath.FromSlash(path))
}

// fileClaim is what the sidecar claims about a file.
func (a *audit) fileClaim(path string, note fileNote) evidence.Claim {
	return evidence.Claim{
		Subject: a.claim.Subject + ": " + path, Scheme: evidence.File, Want: []digest.Digest{note.SHA256},
		Authority: evidence.Sidecar, Where: sidecarName + ", files",
	}
}

// shorten cuts a long list and ends it with the number of those left out.
func shorten(subject string, r evidence.Report) evidence.Report {
	if len(r) <= maxDifferences {
		return r
	}
	rest := fmt.Sprintf("%d more files differ", len(r)-maxDifferences)
	return append(r[:maxDifferences:maxDifferences], evidence.Fact(evidence.Claim{
		Subject: subject, Scheme: evidence.File, Authority: evidence.Sidecar, Where: sidecarName + ", files",
	}, rest))
}
