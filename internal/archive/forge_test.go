package archive

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// file is an entry of a canonical tar, whose header change forges; the checksum
// is made right again after it.
func file(t testing.TB, path, content string, change ...func(h []byte)) []byte {
	t.Helper()
	head, err := tree.TarHeader("x", int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	head[0] = 0
	copy(head, path)
	for _, f := range change {
		f(head)
	}
	seal(head)
	return append(append(head, content...), make([]byte, tree.TarPadding(int64(len(content))))...)
}

// seal writes the checksum of a header.
func seal(h []byte) {
	sum := fmt.Sprintf("%o", checksum(h))
	copy(h[148:156], sum+strings.Repeat("\x00", 8-len(sum)))
}

// ending completes entries to a canonical tar.
func ending(entries ...[]byte) []byte {
	all := bytes.Join(entries, nil)
	return append(all, make([]byte, tree.TarEnd(int64(len(all))))...)
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// facetOf wraps an inner archive.tar.gz.
func facetOf(t testing.TB, inner []byte) []byte {
	t.Helper()
	return ending(file(t, BuildManifest, "{}"), file(t, FacetTarGzip, string(inner)))
}

func set(offset int, text string) func([]byte) {
	return func(h []byte) { copy(h[offset:], text) }
}

// refusal is a forged tar and why it is refused.
type refusal struct {
	name    string
	problem Problem
	// a tar whose first file is called path, if that is not what is wrong
	forge func(t testing.TB, path string) []byte
}

// headers are forgeries of one header, for both layers: path is any path.
func headers() []refusal {
	one := func(change ...func([]byte)) func(testing.TB, string) []byte {
		return func(t testing.TB, path string) []byte {
			if path == BuildManifest { // with the second member, so that only the header is wrong
				return ending(file(t, path, "content", change...), file(t, FacetTarGzip, string(zipped(t, nil))))
			}
			return ending(file(t, path, "content", change...))
		}
	}
	kind := func(c string) func(testing.TB, string) []byte { return one(set(156, c)) }
	return []refusal{
		{"symbolic link", ProblemLink, kind("2")},
		{"hard link", ProblemLink, kind("1")},
		{"character device", ProblemSpecial, kind("3")},
		{"block device", ProblemSpecial, kind("4")},
		{"pipe", ProblemSpecial, kind("6")},
		{"unknown type", ProblemSpecial, kind("Z")},
		{"directory", ProblemDirectory, kind("5")},
		{"old regular file", ProblemHeader, kind("\x00")},
		{"contiguous file", ProblemHeader, kind("7")},
		{"PAX header", ProblemExtended, kind("x")},
		{"global PAX header", ProblemExtended, kind("g")},
		{"GNU long name", ProblemExtended, kind("L")},
		{"GNU long link", ProblemExtended, kind("K")},
		{"GNU sparse file", ProblemExtended, kind("S")},
		{"GNU magic", ProblemExtended, one(set(257, "ustar  \x00"))},
		{"no magic", ProblemHeader, one(set(257, "\x00\x00\x00\x00\x00\x00\x00\x00"))},
		{"other version", ProblemHeader, one(set(263, "01"))},
		{"prefix", ProblemPrefix, one(set(345, "dir"))},
		{"data after prefix", ProblemHeader, one(set(505, "x"))},
		{"link name", ProblemHeader, one(set(157, "target"))},
		{"device number", ProblemHeader, one(set(329, "0000001"))},
		{"owner's name", ProblemMetadata, one(set(265, "root"))},
		{"group's name", ProblemMetadata, one(set(297, "wheel"))},
		{"executable", ProblemMetadata, one(set(100, "0000755"))},
		{"setuid", ProblemMetadata, one(set(100, "0004644"))},
		{"short permissions", ProblemMetadata, one(set(100, "000644 "))},
		{"uid", ProblemMetadata, one(set(108, "0001000"))},
		{"gid", ProblemMetadata, one(set(116, "0001000"))},
		{"time", ProblemMetadata, one(set(136, "14371234567"))},
		{"base-256 size", ProblemBase256, one(set(124, "\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07"))},
		{"negative base-256 size", ProblemBase256, one(set(124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))},
		{"size that is not octal", ProblemHeader, one(set(124, "0000000000x"))},
		{"size without digits", ProblemHeader, one(set(124, strings.Repeat(" ", 12)))},
		{"size in another form", ProblemHeader, one(set(124, "         7 \x00"))},
		{"name after the name", ProblemHeader, one(set(90, "hidden"))},
		{"no name", ProblemHeader, one(set(0, strings.Repeat("\x00", 100)))},
		{"wrong checksum", ProblemChecksum, func(t testing.TB, path string) []byte {
			b := one()(t, path)
			b[100]++
			return b
		}},
		{"checksum in another form", ProblemHeader, func(t testing.TB, path string) []byte {
			b := one()(t, path)
			copy(b[148:], fmt.Sprintf("%06o\x00 ", checksum(b[:512])))
			return b
		}},
		{"no checksum", ProblemChecksum, func(t testing.TB, path string) []byte {
			b := one()(t, path)
			copy(b[148:], "\x00\x00\x00\x00\x00\x00\x00\x00")
			return b
		}},
		{"nonzero padding", ProblemPadding, func(t testing.TB, path string) []byte {
			b := one()(t, path)
			b[512+300] = 'x'
			return b
		}},
		{"cut inside a header", ProblemTruncated,
			func(t testing.TB, path string) []byte { return one()(t, path)[:200] }},
		{"cut inside a file", ProblemTruncated, func(t testing.TB, path string) []byte { return one()(t, path)[:515] }},
		{"cut inside a file's padding", ProblemTruncated,
			func(t testing.TB, path string) []byte { return one()(t, path)[:900] }},
		{"cut before a file's padding", ProblemTruncated,
			func(t testing.TB, path string) []byte { return one()(t, path)[:519] }},
		{"size beyond the end", ProblemTruncated, one(set(124, "00000777777"))},
	}
}

// badPaths are paths that no archive may hold.
var badPaths = []struct {
	path    string
	problem Problem
}{
	{"/etc/passwd", ProblemAbsolute},
	{"C:/x", ProblemDrive}, {"c:x", ProblemDrive}, {"z:", ProblemDrive},
	{`a\b`, ProblemBackslash}, {`..\x`, ProblemBackslash}, {`\\host\share`, ProblemBackslash},
	{"..", ProblemParent}, {"../x", ProblemParent}, {"a/../x", ProblemParent}, {"a/..", ProblemParent},
	{".", ProblemUnclean}, {"./a", ProblemUnclean}, {"a/./b", ProblemUnclean}, {"a//b", ProblemUnclean},
	{"a/", ProblemUnclean},
	{"a\x01b", ProblemControl}, {"a\nb", ProblemControl}, {"a\x7f", ProblemControl}, {"a\u0085", ProblemControl},
	{"\x1b[2J", ProblemControl},
	{"a<b", ProblemReserved}, {"a>b", ProblemReserved}, {"ab:c", ProblemReserved}, {"a.md:stream", ProblemReserved},
	{`a"b`, ProblemReserved}, {"a|b", ProblemReserved}, {"a?b", ProblemReserved}, {"a*b", ProblemReserved},
	{"con", ProblemDeviceName}, {"a/NUL", ProblemDeviceName}, {"aux.md", ProblemDeviceName},
	{"Prn.tar.gz", ProblemDeviceName}, {"com1", ProblemDeviceName}, {"LPT9.x/a", ProblemDeviceName},
	{"com¹.md", ProblemDeviceName}, {"CONOUT$", ProblemDeviceName}, {"con .txt", ProblemDeviceName},
	{"a.", ProblemTrailingDot}, {"a /b", ProblemTrailingDot}, {"a/...", ProblemTrailingDot}, {"a ", ProblemTrailingDot},
	{"a\xffb", ProblemNotUTF8}, {"\xed\xa0\x80", ProblemNotUTF8}, {"\xc0\xae\xc0\xae/x", ProblemNotUTF8},
}

// sets are paths that exclude each other; both orders are refused.
var sets = []struct {
	a, b    string
	problem Problem
}{
	{"a.md", "a.md", ProblemDuplicate},
	{"A.md", "a.md", ProblemAlias},
	{"\u00c9.md", "\u00e9.md", ProblemAlias},  // É, é
	{"e\u0301.md", "\u00e9.md", ProblemAlias}, // decomposed, composed
	{"E\u0301.md", "\u00e9.md", ProblemAlias}, //
	{"K.md", "\u212a.md", ProblemAlias},       // Kelvin sign
	{"SS.md", "\u00df.md", ProblemAlias},      // ß
	{"\u03c3.md", "\u03c2.md", ProblemAlias},  // σ, final ς
	{"\u1e9b\u0323", "\u017f\u0323\u0307", ProblemAlias},
	{"D/a", "d/b", ProblemAlias}, // directories that are one
	{"d", "d/a", ProblemFileAndDir},
	{"d/a", "d/a/b/c", ProblemFileAndDir},
	{"D", "d/a", ProblemAlias},
}

func discard(Entry, io.Reader) error { return nil }
