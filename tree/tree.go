// Package tree computes fingerprints of file trees.
//
// A tree is given as a list of files and a function that opens one of them, so
// that a directory, an archive and memory share the same code.
//
// # hallmark-tree-v1
//
// The fingerprint is the SHA-256 of
//
//	"hallmark-tree-v1" 00
//
// and then, for each file in byte order of its path,
//
//	length of the path   8 bytes, big-endian
//	path                 UTF-8, segments separated by one slash
//	executable           1 byte: 01 if any execute permission is set, else 00
//	size                 8 bytes, big-endian
//	content              size bytes
//
// Every field has a fixed or a declared length, so two different trees never give
// the same bytes to hash. Directories count only through the files in them: an
// empty directory is not part of a tree. Times, owners and permissions other than
// execute are not part of it either. A file system without execute permissions
// gives 00 throughout, and so another fingerprint than one that has them.
//
// A path is relative and clean: it has no empty, "." or ".." segment, does not begin or end
// with a slash, is valid UTF-8 and holds no control character and no backslash. The empty tree
// has a fingerprint; the caller decides whether to accept it. The vectors are in
// spec/tree.json.
//
// # Canonical tar
//
// The fingerprint "facet-tar" is the SHA-256 of a tar archive that is determined by
// paths and contents alone. Regular files only, in the order of the UTF-16 code units
// of their paths; each is a header of 512 bytes and its content, padded with zeros to a
// multiple of 512; the whole is padded with zeros to a multiple of 10,240, so that
// an exact multiple gets no end block at all, and no files give no bytes.
//
//	  0  name      100  UTF-8, filled with 00; a longer one is an error
//	100  mode        8  "0000644" 00
//	108  uid, gid  2×8  "0000000" 00
//	124  size       12  11 octal digits 00; at most 8 GiB - 1
//	136  mtime      12  "00000000000" 00
//	148  checksum    8  octal without leading zeros, filled with 00
//	156  type        1  "0"
//	257  magic       6  "ustar" 00
//	263  version     2  "00"
//
// All other bytes are 00. The checksum is the sum of the header's bytes, its own field
// counted as eight spaces. Execute permissions are not part of it. The vectors are in
// spec/canonical-tar.json.
//
// # Dist hash
//
// The dist hash of a plugin is the SHA-256 of, for each file, its path, a line feed
// and its bytes. Published plugins do not agree on more, so that there are profiles:
//
//	profile  order                  dotfiles
//	guide    bytes                  left out
//	od       ICU's root collation   hashed
//
// Nothing frames the fields, so that different trees can give the same hash: {a.js:
// "x\nb.js\ny"} and {a.js: "x\n", b.js: "y"} do. The hash alone never shows that a tree
// is the one that was published; hallmark-tree-v1 or the digest of each file does. The
// vectors are in spec/dist-hash.json.
package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"
)

// File is one regular file of a tree.
type File struct {
	Path string // slash-separated, relative to the root of the tree
	Size int64  // bytes
	Exec bool   // any execute permission is set
}

// Open opens the file at a path of a tree. It is called from several goroutines
// at once.
type Open func(path string) (io.ReadCloser, error)

// OpenFS opens files of fsys.
func OpenFS(fsys fs.FS) Open {
	return func(path string) (io.ReadCloser, error) { return fsys.Open(path) }
}

// ErrPath is wrapped by the errors about paths that no tree may hold.
var ErrPath = errors.New("path not allowed in a tree")

// MaxPath is the longest path of a tree, in bytes.
const MaxPath = 4096

// CheckPath reports why path cannot be in a tree, or nil.
func CheckPath(path string) error {
	bad := func(why string) error {
		if len(path) > 256 {
			path = path[:256]
		}
		return fmt.Errorf("%w: %+q %s", ErrPath, path, why)
	}
	switch {
	case isPlainASCII(path): // nearly always
	case len(path) > MaxPath:
		return bad(fmt.Sprintf("begins a path of more than %d bytes", MaxPath))
	case !utf8.ValidString(path):
		return bad("is not UTF-8")
	case strings.ContainsFunc(path, unicode.IsControl):
		return bad("holds a control character")
	case strings.ContainsRune(path, '\\'):
		return bad("holds a backslash")
	}
	if path == "." || !fs.ValidPath(path) {
		return bad("is not a clean relative path")
	}
	return nil
}

// isPlainASCII reports whether path is short and of printable ASCII without a backslash.
func isPlainASCII(path string) bool {
	for i := range len(path) {
		if c := path[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return len(path) <= MaxPath
}
