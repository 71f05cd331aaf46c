// Package forge makes archives that programs may read differently: honest ones of many
// kinds, and those with something about them changed. It is deterministic, knows nothing of
// how Hallmark reads, and no program but tests uses it.
package forge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Archive is one archive that was made.
type Archive struct {
	What string // how it was made
	Tar  bool   // else a zip
	Data []byte
}

// Archives makes n archives of a seed, zips and tars in turn.
func Archives(seed uint64, n int) []Archive {
	all := make([]Archive, n)
	for i := range all {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		if i%2 == 0 {
			all[i] = forgeZip(r, i/2)
		} else {
			all[i] = forgeTar(r, i/2)
		}
	}
	return all
}

// names are taken from honest archives; each is below no other.
var names = []string{"a", "b.txt", "dist/index.js", "dist/lib/x.mjs", "é.md",
	"long/" + strings.Repeat("segment-of-a-path/", 7) + "file", "Z", "c d", "日本/語"}

// odd are names that some programs change, skip or take for others.
var odd = []string{"../x", "/x", "a/../b", "./a", "a//b", `a\b`, "C:x", "a\x00b", "a.", "a ", "A", "B.TXT", "dist",
	"a/", "a/b", "é.md", ".git/config", ".GIT/HEAD", "git~1/x",
	".g\u200cit/config", "HEAD", "objects/x", "refs/x", "con", "a:b", "\xff", "b\u202etxt", "-rf", "~", "a\nb", "#x",
	"%41", "DIST/index.js", "dist/index.js/x", "b.txt/"}

// content is a content that is made for r.
func content(r *rand.Rand) []byte {
	switch r.IntN(5) {
	case 0:
		return nil
	case 1:
		return []byte(strings.Repeat("text ", r.IntN(500)))
	case 2:
		b := make([]byte, r.IntN(2000))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return b
	case 3:
		return make([]byte, r.IntN(3)*512)
	}
	return fmt.Appendf(nil, "content %d\n", r.IntN(1000))
}

// some are n different elements of all.
func some(r *rand.Rand, all []string, n int) []string {
	all = slices.Clone(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// flip changes a few bytes of data.
func flip(r *rand.Rand, data []byte, most int) []byte {
	data = slices.Clone(data)
	for range 1 + r.IntN(most) {
		if len(data) > 0 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
	}
	return data
}
