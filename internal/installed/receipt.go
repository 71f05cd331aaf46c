package installed

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// unusual are characters that a file name cannot have on every system.
var unusual = spelling.Form(`[^A-Za-z0-9._-]+`)

// receiptPath is the file with the receipt of a project, outside of the project.
func receiptPath(w *workspace.Workspace) string {
	sum := sha256.Sum256([]byte(w.Dir))
	name := unusual().ReplaceAllString(filepath.Base(w.Dir), "_")
	return filepath.Join(w.Host.Places.State, "receipts", name[:min(64, len(name))]+"-"+hex.EncodeToString(sum[:])[:12]+
		".json")
}

// materializedPath is the file with the digests of the files that were installed into a project.
func materializedPath(w *workspace.Workspace) string {
	return filepath.Join(w.Host.Places.State, "materialized", filepath.Base(w.State)+".json")
}

// Files is what this machine knows of what was installed into a project.
type Files struct {
	Receipt *machine.Receipt
	Sums    *machine.Materialized
	Report  evidence.Report // of files that are not used
}

// forgetLinked takes files out of a receipt whose directory is a link now that is followed: what is there is in its own
// place, and is never deleted through the link.
func forgetLinked(w *workspace.Workspace, r *machine.Receipt) {
	linked := map[string]bool{".": false}
	var isLinked func(dir string) bool
	isLinked = func(dir string) bool {
		is, known := linked[dir]
		if !known {
			info, err := os.Lstat(w.Place(dir))
			is = err == nil && info.Mode()&fs.ModeSymlink != 0 || isLinked(path.Dir(dir))
			linked[dir] = is
		}
		return is
	}
	gone := func(at string) bool {
		for dir := path.Dir(at); isLinked(dir); dir = path.Dir(dir) {
			if Reached(w, dir) != dir {
				return true
			}
		}
		return false
	}
	for name, f := range r.Facets {
		assets := []machine.ReceiptAsset{}
		for _, a := range f.Assets {
			a.Files, a.Found = slices.DeleteFunc(a.Files, gone), slices.DeleteFunc(a.Found, gone)
			if len(a.Files)+len(a.Found) > 0 {
				assets = append(assets, a)
			}
		}
		f.Assets = assets
		r.Facets[name] = f
	}
}

// owns reports of a file in the project whether Hallmark wrote it, as it is now, and not into a directory that was
// adopted.
func (f *Files) owns(w *workspace.Workspace) func(at string) bool {
	written := f.Receipt.Files()
	for _, of := range f.Receipt.Facets {
		for _, dir := range of.Adopted {
			maps.DeleteFunc(written, func(at string, _ bool) bool { return strings.HasPrefix(at, dir+"/") })
		}
	}
	return func(at string) bool {
		if !written[at] {
			return false
		}
		now, exists, err := Digest(w, at)
		return err == nil && exists && evidence.Same(now, f.Sums.Sum(at))
	}
}

// ReadReceipt reads what was installed into the project. A file that was written for another
// project, or is damaged, is not used: then nothing is deleted, files that were installed count as
// edited, and the report says so.
func ReadReceipt(w *workspace.Workspace) (*Files, error) {
	var (
		out         = &Files{}
		receipt     *machine.Receipt
		sums        *machine.Materialized
		bad, badSum error
	)
	err := host.ForEach(2, 2, func(i int) error { // which takes half as long as one after the other
		data, err := host.ReadFile([]string{receiptPath(w), materializedPath(w)}[i], machine.MaxReceipt)
		switch {
		case err != nil:
			return err
		case i == 0:
			receipt, bad = machine.ParseReceipt(data, w.Dir)
		default:
			sums, badSum = machine.ParseMaterialized(data, w.Dir)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	unusable := func(file, means string, err error) {
		out.Report = append(out.Report, evidence.CannotVerify(evidence.Claim{
			Subject: file, Scheme: evidence.Installed, Authority: evidence.Machine, Where: "what was installed here",
		}, evidence.Malformed, "is not used: "+err.Error()+"; "+means))
	}
	if out.Receipt = receipt; bad != nil {
		unusable(receiptPath(w), "what it names stays where it is", bad)
		out.Receipt = machine.NewReceipt(w.Dir)
	}
	forgetLinked(w, out.Receipt)
	if out.Sums = sums; badSum != nil {
		unusable(materializedPath(w), "each installed file counts as edited", badSum)
		out.Sums = machine.NewMaterialized(w.Dir)
	}
	return out, nil
}
