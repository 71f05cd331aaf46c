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

// checkTreeCounts reports packages and hashes of which a tree, before it is read, holds more
// than the limits. Members may be of any type. If there are issues nothing else is read.
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

// checkLimits reports packages, hashes and files of which a document names more than the
// limits, and reports whether they are few enough to be looked at.
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
			files[h.Ref.Normal()], claimed[h.Ref.Release()] = true, true
		}
	}
	for _, p := range d.Packages {
		if ref, err := p.Ref(); err == nil && !claimed[ref.Release()] {
			files[ref.Normal()] = true
		}
	}
	return v.checkCount("/file_hashes", tooManyFiles, "files, with those of packages without an entry", len(files),
		MaxFiles)
}

// checkCount reports whether n is at most limit, and an error at path if it is not.
func (v *validation) checkCount(path, reference, what string, n, limit int) bool {
	if n > limit {
		v.fail(path, reference, "has %d %s; the limit is %d", n, what, limit)
	}
	return n <= limit
}
