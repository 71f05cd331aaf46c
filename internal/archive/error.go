package archive

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Problem is a stable name for why an archive is refused.
type Problem string

// The problems.
const (
	ProblemLink           Problem = "link"               // a symbolic or hard link
	ProblemSpecial        Problem = "special-file"       // a device, a pipe, a kind of entry that is not known
	ProblemDirectory      Problem = "directory"          // where only files may be
	ProblemExtended       Problem = "extended-header"    // PAX or GNU
	ProblemPrefix         Problem = "prefix-field"       // a path cut in two
	ProblemAbsolute       Problem = "absolute-path"      //
	ProblemDrive          Problem = "drive-path"         // "C:…"
	ProblemBackslash      Problem = "backslash"          //
	ProblemParent         Problem = "parent-path"        // a segment ".."
	ProblemUnclean        Problem = "unclean-path"       // an empty segment or "."
	ProblemControl        Problem = "control-character"  // NUL included
	ProblemReserved       Problem = "reserved-character" // <>:"|?*
	ProblemDeviceName     Problem = "device-name"        // of Windows: con, nul, com1…
	ProblemTrailingDot    Problem = "trailing-dot"       // or a space at the end of a segment
	ProblemNotUTF8        Problem = "not-utf8"           //
	ProblemLongPath       Problem = "long-path"          //
	ProblemDuplicate      Problem = "duplicate"          // the same path twice
	ProblemConflict       Problem = "conflict"           // the same path twice in a tar, with other bytes
	ProblemAlias          Problem = "alias"              // another spelling under NFC or case folding
	ProblemFileAndDir     Problem = "file-and-directory" // "a" beside "a/b"
	ProblemChecksum       Problem = "checksum"           // of a header, of gzip or of a zip's file
	ProblemBase256        Problem = "base-256"           // a number that is not octal
	ProblemMetadata       Problem = "metadata"           // other permissions, owner or time than canonical
	ProblemHeader         Problem = "header"             // not canonical, or no header at all
	ProblemUnsorted       Problem = "unsorted"           //
	ProblemPadding        Problem = "padding"            // nonzero
	ProblemTruncated      Problem = "truncated"          //
	ProblemTrailingData   Problem = "trailing-data"      //
	ProblemSecondMember   Problem = "second-gzip-member" //
	ProblemNotGzip        Problem = "gzip"               // corrupt, or no gzip at all
	ProblemNotZip         Problem = "zip"                // corrupt, or no zip at all
	ProblemNotFacet       Problem = "facet-members"      // other members than those of a .facet
	ProblemMethod         Problem = "compression-method" // of a zip's file; or encrypted
	ProblemOverlap        Problem = "overlap"            // two files of a zip share bytes
	ProblemContradiction  Problem = "contradiction"      // two places of an archive say different things
	ProblemGap            Problem = "gap"                // bytes of a zip that belong to no file
	ProblemExtraField     Problem = "extra-field"        // of a zip's entry: broken, twice, or not known
	ProblemMultiDisk      Problem = "multi-disk"         // a part of a zip
	ProblemSetID          Problem = "set-id"             // set user, set group or sticky
	ProblemRepository     Problem = "repository"         // what git or another program takes for a repository
	ProblemInvisible      Problem = "invisible"          // invisible characters, or those that change how others look
	ProblemTooLarge       Problem = "too-large"          // packed or unpacked
	ProblemTooCompressed  Problem = "compression-ratio"  //
	ProblemTooManyEntries Problem = "too-many-entries"   //
)

// Layers of an archive, as messages name them.
const (
	layerArchive = "archive"
	layerOuter   = "outer tar"
	layerInner   = "inner tar"
	layerTar     = "tar"
	layerZip     = "zip"
)

// Error says why an archive is refused.
type Error struct {
	Problem Problem
	Layer   string // "archive", "outer tar", "inner tar", "tar" or "zip"; empty for a path alone
	Path    string // of the entry, as found; may be empty
	Detail  string // one line; text from outside is escaped
}

// Error says what is wrong with the archive, and with which name in it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Layer != "" {
		b.WriteString(e.Layer + ": ")
	}
	if e.Path != "" {
		b.WriteString(quote(e.Path) + ": ")
	}
	b.WriteString(e.Detail)
	return b.String()
}

// Class is validation: the archive is malformed, whatever is claimed of it. Only two contents for
// one path are of class integrity: some program runs bytes that another did not see.
func (e *Error) Class() evidence.Class {
	if e.Problem == ProblemConflict {
		return evidence.Integrity
	}
	return evidence.Validation
}

// tooLarge is the error of a layer that has more than limit bytes.
func tooLarge(layer string, limit int64) *Error {
	return &Error{Problem: ProblemTooLarge, Layer: layer, Detail: fmt.Sprintf("more than %d bytes", limit)}
}

// quote returns a path from outside for a message, at most 256 bytes of it.
func quote(path string) string {
	if len(path) > 256 {
		path = path[:256] + "…"
	}
	return `"` + surface.Escape(path) + `"`
}

// withLayer sets the layer of err, an [*Error] about a path.
func withLayer(layer string, err error) error {
	if e, ok := err.(*Error); ok {
		e.Layer = layer
	}
	return err
}
