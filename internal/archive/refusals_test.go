package archive

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// refusedRow is one thing that a .facet may not hold, forged into either layer.
type refusedRow struct {
	name    string
	problem Problem
	detail  string // of the message
	inOuter string // of the message for the outer layer, where it is another
	outer   []byte // a .facet
	inner   []byte // a canonical tar
}

// refusedRows are the refusals of .facet files, in the order in which the format lists
// them. The outer layer has two members with fixed names, so that a bad path is that of a
// third one there.
func refusedRows(t *testing.T) []refusedRow {
	build, archived := file(t, BuildManifest, "{}"),
		file(t, FacetTarGzip, string(zipped(t, ending(file(t, "a.md", "x")))))
	header := func(name string, p Problem, detail string, change ...func([]byte)) refusedRow {
		return refusedRow{name, p, detail, "", ending(file(t, BuildManifest, "{}", change...), archived),
			ending(file(t, "a.md", "x", change...))}
	}
	path := func(name string, p Problem, path, detail string) refusedRow {
		return refusedRow{name, p, "path " + detail, "", ending(build, archived, file(t, path, "x")),
			ending(file(t, path, "x"))}
	}
	pair := func(name string, p Problem, third, a, b, inOuter, detail string) refusedRow {
		return refusedRow{name, p, detail, inOuter, ending(build, archived, file(t, third, "x")),
			ending(file(t, a, "1"), file(t, b, "2"))}
	}
	raw := func(name string, p Problem, detail string, change func([]byte) []byte) refusedRow {
		good := header("", "", "")
		return refusedRow{name, p, detail, "", change(good.outer), change(good.inner)}
	}
	kind := func(c string) func([]byte) { return set(156, c) }
	return []refusedRow{
		header("symbolic link", ProblemLink, "a link; only regular files may be there", kind("2"),
			set(157, "/etc/passwd")),
		header("hard link", ProblemLink, "a link; only regular files may be there", kind("1"), set(157, "a.md")),
		header("directory", ProblemDirectory, "a directory; only regular files may be there", kind("5")),
		header("character device", ProblemSpecial, "neither a regular file nor a directory", kind("3")),
		header("block device", ProblemSpecial, "neither a regular file nor a directory", kind("4")),
		header("pipe", ProblemSpecial, "neither a regular file nor a directory", kind("6")),
		header("contiguous file", ProblemHeader, `a regular file of another type than "0"`, kind("7")),
		header("PAX header", ProblemExtended, "a PAX header", kind("x")),
		header("global PAX header", ProblemExtended, "a PAX header", kind("g")),
		header("GNU long name", ProblemExtended, "a GNU header", kind("L")),
		header("GNU magic", ProblemExtended, "a GNU header", set(257, "ustar  \x00")),
		header("prefix field", ProblemPrefix, "a prefix field", set(345, "..")),
		path("absolute path", ProblemAbsolute, "/etc/passwd", "is absolute"),
		path("drive", ProblemDrive, "C:/x", "begins with a drive"),
		path("backslash", ProblemBackslash, `a\b`, "holds a backslash"),
		path("parent", ProblemParent, "a/../../x", "leaves the archive"),
		header("NUL in a path", ProblemHeader, "data after the end of the name", set(30, "x")),
		path("control byte", ProblemControl, "a\x07", "holds a control character"),
		path("less than", ProblemReserved, "a<", "holds a character that Windows reserves"),
		path("greater than", ProblemReserved, "a>", "holds a character that Windows reserves"),
		path("colon", ProblemReserved, "a.md:stream", "holds a character that Windows reserves"),
		path("quotation mark", ProblemReserved, `a"`, "holds a character that Windows reserves"),
		path("bar", ProblemReserved, "a|", "holds a character that Windows reserves"),
		path("question mark", ProblemReserved, "a?", "holds a character that Windows reserves"),
		path("asterisk", ProblemReserved, "a*", "holds a character that Windows reserves"),
		path("device name", ProblemDeviceName, "aux.md", "has a segment that Windows takes for a device"),
		path("trailing dot", ProblemTrailingDot, "a.", "has a segment that ends with a dot or a space"),
		path("trailing space", ProblemTrailingDot, "a /b", "has a segment that ends with a dot or a space"),
		path("empty segment", ProblemUnclean, "a//b", "has an empty segment or one that is a dot"),
		pair("duplicate", ProblemDuplicate, BuildManifest, "a.md", "a.md", "", "path is there twice"),
		pair("alias by case", ProblemAlias, "Build-Manifest.json", "A.md", "a.md",
			`path differs only in spelling from "build-manifest.json"`, `path differs only in spelling from "A.md"`),
		pair("alias by folding or NFC", ProblemAlias, "build-manife\u017ft.json", "e\u0301", "\u00e9",
			`path differs only in spelling from "build-manifest.json"`,
			"path differs only in spelling from \"e\u0301\""),
		pair("file that is a directory", ProblemFileAndDir, FacetTarGzip+"/x", "a.md", "a.md/b",
			`"archive.tar.gz" is a file and a directory`, `"a.md" is a file and a directory`),
		path("invalid UTF-8", ProblemNotUTF8, "a\xff", "is not UTF-8"),
		raw("checksum", ProblemChecksum, "the checksum of the header is wrong",
			func(b []byte) []byte { b[148] ^= 1; return b }),
		header("base-256 size", ProblemBase256, "a size in base 256",
			set(124, "\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01")),
		header("size that is not octal", ProblemHeader, "a size that is not octal", set(124, "0000000000x")),
		header("mode", ProblemMetadata, "permissions other than canonical", set(100, "0000755")),
		header("uid", ProblemMetadata, "an owner other than canonical", set(108, "0001000")),
		header("gid", ProblemMetadata, "a group other than canonical", set(116, "0001000")),
		header("mtime", ProblemMetadata, "a time other than canonical", set(136, "14371234567")),
		header("owner's name", ProblemMetadata, "an owner's or group's name other than canonical", set(265, "root")),
		header("another header", ProblemHeader, "the header is not canonical", set(505, "x")),
		{"unsorted", ProblemUnsorted, `path comes before "b" in the canonical order`, "", nil,
			ending(file(t, "b", "x"), file(t, "a", "x"))},
		{"swapped", ProblemNotFacet, "found where build-manifest.json belongs", "", ending(archived, build), nil},
		{"a third member", ProblemNotFacet, "a third member", "", ending(build, archived, file(t, "a.md", "x")), nil},
		{"a member less", ProblemNotFacet, "archive.tar.gz is missing", "", ending(build), nil},
		raw("truncated header", ProblemTruncated, "ends inside a header", func(b []byte) []byte { return b[:200] }),
		raw("truncated file", ProblemTruncated, "ends inside this file",
			func(b []byte) []byte { return b[:tree.TarBlock] }),
		raw("truncated padding", ProblemTruncated, "ends inside its padding",
			func(b []byte) []byte { return b[:len(b)-1] }),
		raw("padding of a file", ProblemPadding, "the padding of this file is not zero",
			func(b []byte) []byte { b[2*tree.TarBlock-1] = 1; return b }),
		raw("trailing data", ProblemTrailingData, "data after the end",
			func(b []byte) []byte { return append(b, 'x') }),
		raw("trailing record", ProblemTrailingData, "data after the end",
			func(b []byte) []byte { return append(b, make([]byte, tree.TarRecord)...) }),
		raw("data in the padding", ProblemTrailingData, "data after the end",
			func(b []byte) []byte { b[len(b)-1] = 'x'; return b }),
	}
}

// TestRefusals: each row is refused in both layers for its own reason and with its own message;
// no two problems share one.
func TestRefusals(t *testing.T) {
	said := map[string]Problem{}
	for _, c := range refusedRows(t) {
		t.Run(c.name, func(t *testing.T) {
			var inner []byte
			if c.inner != nil {
				inner = facetOf(t, zipped(t, c.inner))
			}
			for layer, data := range map[string][]byte{layerOuter: c.outer, layerInner: inner} {
				if data == nil {
					continue // the other layer cannot be so
				}
				want := c.detail
				if layer == layerOuter && c.inOuter != "" {
					want = c.inOuter
				}
				_, err := Walk(bytes.NewReader(data), Facet, Limits{}, discard)
				refused(t, err, c.problem, layer)
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Detail != want {
					t.Errorf("%s: got %v, want %s", layer, err, want)
				}
				if p, ok := said[want]; ok && p != c.problem {
					t.Errorf("%s and %s say %q", p, c.problem, want)
				}
				said[want] = c.problem
			}
		})
	}
}

// TestRefusalsOfGzip: the problems of the compressed layer, and the limits, have their own
// messages too.
func TestRefusalsOfGzip(t *testing.T) {
	inner := ending(file(t, "a.md", "x"))
	z := zipped(t, inner)
	for name, c := range map[string]struct {
		inner  []byte
		limits Limits
		want   string
	}{
		"second member":         {append(bytes.Clone(z), z...), Limits{}, "inner tar: a second gzip member"},
		"data after the member": {append(bytes.Clone(z), 0), Limits{}, "inner tar: data after the gzip member"},
		"no gzip":               {inner, Limits{}, "inner tar: not gzip, or corrupt"},
		"cut":                   {z[:len(z)-4], Limits{}, "inner tar: the gzip member ends early"},
		"checksum": {append(bytes.Clone(z[:len(z)-8]), make([]byte, 8)...), Limits{},
			"inner tar: the gzip checksum is wrong"},
		"packed":   {z, Limits{Packed: 1000}, "archive: more than 1000 bytes"},
		"unpacked": {z, Limits{Unpacked: 1000}, "inner tar: more than 1000 bytes unpacked"},
		"entries": {zipped(t, ending(file(t, "a", "x"), file(t, "b", "x"))), Limits{Entries: 1},
			"inner tar: more than 1 entries or directories"},
	} {
		_, err := Walk(bytes.NewReader(facetOf(t, c.inner)), Facet, c.limits, discard)
		if _, ok := errors.AsType[*Error](err); !ok || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
