package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Profile names one way to compute a dist hash.
type Profile string

// The profiles. Guide is what Hallmark writes; OD is read because plugins were published with it.
const (
	Guide Profile = "guide"
	OD    Profile = "od"
)

// Profiles lists the profiles in the order in which they are tried.
func Profiles() []Profile { return []Profile{Guide, OD} }

// ErrEmpty is wrapped by the error for a dist without a file that its profile hashes.
var ErrEmpty = errors.New("no file to hash")

// rules are what a profile consists of.
type rules struct {
	compare  func(a, b string) int
	dotfiles bool // paths with a segment that begins with a dot are hashed
	icu      bool // the order is known for printable ASCII only
}

func (p Profile) rules() (rules, error) {
	switch p {
	case Guide:
		return rules{compare: strings.Compare}, nil
	case OD:
		return rules{compare: CompareICU, dotfiles: true, icu: true}, nil
	}
	return rules{}, fmt.Errorf("unknown hash profile %+q", string(p))
}

// Known reports whether p is one of [Profiles].
func (p Profile) Known() bool { return slices.Contains(Profiles(), p) }

// SelectFiles returns those of files that p hashes: all, or all without dotfiles.
func (p Profile) SelectFiles(files []File) []File {
	if r, err := p.rules(); err != nil || r.dotfiles {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return hasDotSegment(f.Path) })
}

// hasDotSegment reports whether a segment of path begins with a dot.
func hasDotSegment(path string) bool {
	return strings.HasPrefix(path, ".") || strings.Contains(path, "/.")
}

// Dist is the dist hash of files under a profile. Paths are relative to the dist
// directory; files may come in any order. Those that the profile leaves out are not
// opened. Up to width files are read at once (0: one for each processor). Without a file
// to hash the error wraps [ErrEmpty]; a path that the profile cannot order wraps [ErrPath].
func Dist(ctx context.Context, p Profile, files []File, open Open, width int) (digest.Digest, error) {
	return source{files: files, open: open, width: width}.dist(ctx, p)
}

// DistHeld is [Dist] of files whose contents are in memory, by path.
func DistHeld(ctx context.Context, p Profile, files []File, contents map[string][]byte) (digest.Digest, error) {
	return source{files: files, held: nonNil(contents)}.dist(ctx, p)
}

func (s source) dist(ctx context.Context, p Profile) (digest.Digest, error) {
	r, err := p.rules()
	if err != nil {
		return digest.Digest{}, err
	}
	s.files, err = sortFiles(p.SelectFiles(s.files), r.compare)
	if err != nil {
		return digest.Digest{}, err
	}
	if len(s.files) == 0 {
		return digest.Digest{}, ErrEmpty
	}
	if r.icu {
		for _, f := range s.files {
			if !isPlainASCII(f.Path) {
				return digest.Digest{}, fmt.Errorf("%w: %+q is not printable ASCII, and profile %s orders nothing else",
					ErrPath, f.Path, p)
			}
		}
	}
	h := digest.NewHasher()
	head := func(dst []byte, f File) []byte { return append(append(dst, f.Path...), '\n') }
	if _, err := s.stream(ctx, framing{head: head}, h); err != nil {
		return digest.Digest{}, err
	}
	return h.Digest(digest.SHA256), nil
}

// icuOrder is the order of printable ASCII in the root collation; each letter stands
// for both of its cases.
const icuOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

// icuRank is the place of a character in icuOrder, from 1, in either case.
var icuRank = func() (rank [128]byte) {
	for i := range len(icuOrder) {
		c := icuOrder[i]
		rank[c] = byte(i + 1)
		if 'a' <= c && c <= 'z' {
			rank[c-'a'+'A'] = byte(i + 1)
		}
	}
	return rank
}()

// CompareICU orders printable ASCII as the root collation of ICU does: by the ranks of
// the characters without regard to case, a shorter one first, and at last by case,
// lower before upper at the first difference. Other characters have no rank.
func CompareICU(a, b string) int {
	tie := 0
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if c := cmp.Compare(icuRank[x&0x7f], icuRank[y&0x7f]); c != 0 {
			return c
		}
		if tie == 0 {
			tie = cmp.Compare(y, x) // lower-case letters have the greater codes
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), tie)
}
