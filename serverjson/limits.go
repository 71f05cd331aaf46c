package serverjson

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Limits of what a document may have us fetch.
const (
	MaxPackages = 64 // packages
	MaxFiles    = 64 // entries of a file_hashes; and files that these and the packages name together
)

const (
	tooManyPackages = "too-many-packages"
	tooManyHashes   = "too-many-file-hashes"
	tooManyFiles    = "too-many-files"
)

// checkTreeCounts reports what there is too much of in a tree that was not yet read; then
// nothing else of it is. The members may be of any type.
func checkTreeCounts(tree map[string]any) Issues {
	v := &validation{}
	list, _ := tree["packages"].([]any)
	v.checkCount("/packages", tooManyPackages, "packages", len(list), MaxPackages)
	hashes, _ := tree["file_hashes"].(map[string]any)
	v.checkCount("/file_hashes", tooManyHashes, "entries", len(hashes), MaxFiles)
	meta, _ := tree["_meta"].(map[string]any)
	provided, _ := meta[publisherMeta].(map[string]any)
	hashes, _ = provided["file_hashes"].(map[string]any)
	v.checkCount(metaPointer+"/file_hashes", tooManyHashes, "entries", len(hashes), MaxFiles)
	return v.issues
}

// checkLimits is crowded for a document, with the number of files that it names. It reports
// whether the packages and hashes are few enough to be looked at.
func (v *validation) checkLimits(d *Document) bool {
	inMeta := 0
	for _, h := range d.FileHashes {
		if strings.HasPrefix(h.Pointer, metaPointer) {
			inMeta++
		}
	}
	few := v.checkCount("/packages", tooManyPackages, "packages", len(d.Packages), MaxPackages)
	few = v.checkCount("/file_hashes", tooManyHashes, "entries", len(d.FileHashes)-inMeta, MaxFiles) && few
	few = v.checkCount(metaPointer+"/file_hashes", tooManyHashes, "entries", inMeta, MaxFiles) && few
	if !few {
		return false
	}
	files, claimed := map[artifact.Ref]bool{}, map[artifact.Ref]bool{}
	for _, h := range d.FileHashes {
		if !h.Ref.IsZero() {
			files[h.Ref.Normal()], claimed[wholeRelease(h.Ref)] = true, true
		}
	}
	for _, p := range d.Packages {
		if ref, err := p.Ref(); err == nil && !claimed[wholeRelease(ref)] {
			files[ref.Normal()] = true
		}
	}
	return v.checkCount("/file_hashes", tooManyFiles, "files, with those of packages without an entry", len(files), MaxFiles)
}

func (v *validation) checkCount(path, reference, what string, n, limit int) bool {
	if n > limit {
		v.fail(path, reference, "has %d %s; the limit is %d", n, what, limit)
	}
	return n <= limit
}
