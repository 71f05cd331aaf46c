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

// differences sets each file beside the sidecar's list and returns what does not
// match, in byte order of the paths. Without a sidecar it returns what no tree may hold.
func (a *audit) differences(ctx context.Context, in tree.Inventory, open tree.Open) (evidence.Report, error) {
	var out evidence.Report
	seen := map[string]bool{}
	for _, e := range in.Refused {
		seen[e.Path] = true
		out = append(out, a.odd(a.from(e.Path), e.Path, "is "+e.Kind))
	}
	if a.note != nil {
		if err := a.note.list(); err != nil {
			out = append(out, a.odd(filepath.Join(a.dir, sidecarName), sidecarName, err.Error()))
			a.note = nil
		}
	}
	if a.note != nil {
		for _, f := range in.Files {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			seen[f.Path] = true
			if f.Exec && a.claim.Scheme == evidence.FacetTar && f.Path != a.program(open) {
				out = append(out, a.odd(a.from(f.Path), f.Path, "is executable, as no file of its archive is"))
				continue
			}
			if e := a.difference(f, open); e.Outcome != evidence.Match {
				out = append(out, e)
			}
		}
		for path, note := range a.note.Files {
			if !seen[path] {
				out = append(out, text(a.fileClaim(path, note), "missing", a.from(path)))
			}
		}
	}
	for _, odd := range in.Odd {
		if odd.Mode != fs.ModeDir || !a.lists(odd.Path) { // of which the files are named as missing
			out = append(out, a.odd(a.from(odd.Path), odd.Path, "is "+odd.Kind))
		}
	}
	slices.SortStableFunc(out, func(x, y evidence.Evidence) int { return strings.Compare(x.Subject, y.Subject) })
	return out, nil
}

// lists reports whether the sidecar lists a file below dir.
func (a *audit) lists(dir string) bool {
	if a.note != nil {
		for path := range a.note.Files {
			if strings.HasPrefix(path, dir+"/") {
				return true
			}
		}
	}
	return false
}

// difference sets f beside the sidecar's note of it.
func (a *audit) difference(f tree.File, open tree.Open) evidence.Evidence {
	note, listed := a.note.Files[f.Path]
	if !listed {
		return a.odd(a.from(f.Path), f.Path, "not in the slot's list")
	}
	claim := a.fileClaim(f.Path, note)
	r, err := open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return text(claim, "missing", a.from(f.Path))
	}
	if err != nil {
		return evidence.CannotVerify(claim, evidence.Unreadable, err.Error())
	}
	defer r.Close()
	sum, size, err := digest.FromReader(r)
	if err != nil {
		return evidence.CannotVerify(claim, evidence.Unreadable, err.Error())
	}
	e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{sum}, Size: size, From: a.from(f.Path)})
	if e.Outcome == evidence.Match && f.Exec != note.Exec {
		claim.Want, claim.Text = nil, executable(note.Exec)
		return text(claim, executable(f.Exec), a.from(f.Path))
	}
	if e.Outcome == evidence.Match && size != note.Size {
		claim.Want, claim.Text = nil, evidence.Group(note.Size)+" bytes"
		return text(claim, evidence.Group(size)+" bytes", a.from(f.Path))
	}
	return e
}

func executable(yes bool) string {
	if yes {
		return "executable"
	}
	return "not executable"
}

func (a *audit) from(path string) string {
	return filepath.Join(a.dir, contentDir, filepath.FromSlash(path))
}

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

func splitPath(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }
