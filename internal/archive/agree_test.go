package archive

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/forge"
)

// readZip reads every file of a zip.
func readZip(data []byte) (map[string]string, error) {
	files, open, err := openZip(data, Limits{})
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, f := range files {
		r, err := open(f.Path)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		got[f.Path] = string(content)
	}
	return got, nil
}

// TestZipContradictions: a zip is refused if one of two places that hold the same value differs.
func TestZipContradictions(t *testing.T) {
	second := func() []byte {
		return (&forge.Zip{Entries: []forge.Entry{forge.NewEntry("a", []byte("other"), true)}}).Bytes()
	}
	for name, c := range map[string]struct {
		change  func(z *forge.Zip)
		problem Problem
	}{
		"two zips":                  {func(z *forge.Zip) { z.Trailing = second() }, ProblemTrailingData},
		"behind another zip":        {func(z *forge.Zip) { z.Entries[0].Before = second() }, ProblemGap},
		"data between files":        {func(z *forge.Zip) { z.Entries[1].Before = []byte("x") }, ProblemGap},
		"a hidden file":             {func(z *forge.Zip) { z.Entries[1].Hidden = true }, ProblemGap},
		"a hidden file at the end":  {func(z *forge.Zip) { z.Entries[2].Hidden = true }, ProblemGap},
		"data before the directory": {func(z *forge.Zip) { z.Before = []byte("x") }, ProblemGap},
		"data after the directory":  {func(z *forge.Zip) { z.Between = []byte("x") }, ProblemTrailingData},
		"data counted to it": {func(z *forge.Zip) { z.Between, z.Size = make([]byte, 50), 50 },
			ProblemContradiction},
		"a longer directory":           {func(z *forge.Zip) { z.Size = 1 }, ProblemTruncated},
		"more entries":                 {func(z *forge.Zip) { z.Count = 1 }, ProblemContradiction},
		"fewer entries":                {func(z *forge.Zip) { z.Count = -1 }, ProblemContradiction},
		"another order":                {func(z *forge.Zip) { z.Order = []int{1, 0, 2} }, ProblemGap},
		"an end record in the comment": {func(z *forge.Zip) { z.Comment = string(second()) }, ProblemTrailingData},
		"a record in the comment":      {func(z *forge.Zip) { z.Comment = "PK\x03\x04" }, ProblemContradiction},
		"several disks":                {func(z *forge.Zip) { z.Disk = 1 }, ProblemMultiDisk},
		"a file of another disk":       {func(z *forge.Zip) { z.Entries[0].Central.Disk = 1 }, ProblemMultiDisk},
		"64 bits, not needed":          {func(z *forge.Zip) { z.Zip64 = true }, ProblemContradiction},
		"64 bits, disagreeing":         {func(z *forge.Zip) { z.Zip64, z.Wrong64 = true, 1 }, ProblemContradiction},
		"64 bits, elsewhere": {func(z *forge.Zip) { z.Zip64, z.Saturated, z.Wrong64 = true, true, -1 },
			ProblemTrailingData},
		"64 bits, missing": {func(z *forge.Zip) { z.Saturated = true }, ProblemContradiction},
		"64 bits, located elsewhere": {func(z *forge.Zip) { z.Zip64, z.Saturated, z.Shift64 = true, true, 1 },
			ProblemContradiction},
		"64 bits, with more": {func(z *forge.Zip) {
			z.Zip64, z.Saturated, z.After64 = true, true, []byte("x")
		}, ProblemContradiction},
		"another name":        {func(z *forge.Zip) { z.Entries[0].Local.Name = "A" }, ProblemContradiction},
		"other flags":         {func(z *forge.Zip) { z.Entries[0].Local.Flags = 2 }, ProblemContradiction},
		"another method":      {func(z *forge.Zip) { z.Entries[1].Local.Method = 0 }, ProblemContradiction},
		"another size":        {func(z *forge.Zip) { z.Entries[1].Local.Size++ }, ProblemContradiction},
		"another packed size": {func(z *forge.Zip) { z.Entries[1].Local.Packed++ }, ProblemContradiction},
		"another checksum":    {func(z *forge.Zip) { z.Entries[1].Local.CRC++ }, ProblemContradiction},
		"another place":       {func(z *forge.Zip) { z.Entries[1].Central.Shift = -1 }, ProblemOverlap},
		"stored in two sizes": {func(z *forge.Zip) { z.Entries[0].Local.Size++; z.Entries[0].Central.Size++ },
			ProblemContradiction},
		"a wrong descriptor": {func(z *forge.Zip) { z.Entries[1].Stream(); z.Entries[1].After[8]++ },
			ProblemContradiction},
		"a descriptor of 64 bits": {func(z *forge.Zip) {
			e := &z.Entries[1]
			e.Stream()
			e.After = append(e.After[:8:8], forge.Wide(uint64(e.Central.Packed), uint64(e.Central.Size))[4:]...)
		}, ProblemContradiction},
		"a descriptor without signature": {func(z *forge.Zip) {
			z.Entries[1].Stream()
			z.Entries[1].After = z.Entries[1].After[4:]
		}, ProblemContradiction},
		"a descriptor inside": {func(z *forge.Zip) {
			z.Entries[0] = forge.NewEntry("a", []byte("x PK\x07\x08 y"), false)
			z.Entries[0].Stream()
		}, ProblemContradiction},
		"a comment of a file": {func(z *forge.Zip) { z.Entries[0].Central.Comment = "c" }, ProblemContradiction},
		"another second name": {func(z *forge.Zip) { z.Entries[0].Central.Extra = forge.UnicodePath("a", "evil.js") },
			ProblemContradiction},
		"another second name in both": {func(z *forge.Zip) {
			z.Entries[0].Local.Extra, z.Entries[0].Central.Extra = forge.UnicodePath("a", "evil.js"),
				forge.UnicodePath("a", "evil.js")
		}, ProblemContradiction},
		"a second name of another": {func(z *forge.Zip) {
			z.Entries[0].Local.Extra, z.Entries[0].Central.Extra = forge.UnicodePath("b", "a"),
				forge.UnicodePath("b", "a")
		}, ProblemContradiction},
		"a second name in one": {func(z *forge.Zip) { z.Entries[0].Central.Extra = forge.UnicodePath("a", "a") },
			ProblemContradiction},
		"a second name, and sizes that follow": {func(z *forge.Zip) {
			z.Entries[0].Local.Extra, z.Entries[0].Central.Extra = forge.UnicodePath("a", "a"),
				forge.UnicodePath("a", "a")
			z.Entries[1].Stream()
		}, ProblemExtraField},
		"an unknown field": {func(z *forge.Zip) { z.Entries[0].Local.Extra = forge.Field(0xbeef, nil) },
			ProblemExtraField},
		"a field with a link": {func(z *forge.Zip) {
			z.Entries[0].Central.Extra = forge.Field(0x756e, make([]byte, 14))
		}, ProblemExtraField},
		"a field twice": {func(z *forge.Zip) {
			z.Entries[0].Local.Extra = append(forge.Field(0xa220, nil), forge.Field(0xa220, nil)...)
		}, ProblemExtraField},
		"a field cut off": {func(z *forge.Zip) { z.Entries[0].Local.Extra = []byte{1, 0, 9, 0} },
			ProblemExtraField},
		"a size of 64 bits": {func(z *forge.Zip) { z.Entries[0].Local.Extra = forge.Wide(7, 8) },
			ProblemContradiction},
		"one of 64 bits": {func(z *forge.Zip) {
			z.Entries[0].Local.Size = 1<<32 - 1
			z.Entries[0].Local.Extra = forge.Wide(7)
		}, ProblemContradiction},
		"an old alphabet": {func(z *forge.Zip) {
			z.Entries[2].Local.Flags, z.Entries[2].Central.Flags = 0, 0
		}, ProblemNotUTF8},
		"the alphabet of DOS": {func(z *forge.Zip) {
			z.Entries[2].Central.MadeBy, z.Entries[2].Central.External = 20, 0
		}, ProblemNotUTF8},
		"encrypted": {func(z *forge.Zip) {
			z.Entries[0].Local.Flags, z.Entries[0].Central.Flags = 1, 1
		}, ProblemMethod},
		"a masked header": {func(z *forge.Zip) {
			z.Entries[0].Local.Flags, z.Entries[0].Central.Flags = 1<<13, 1<<13
		}, ProblemMethod},
		"a newer version": {func(z *forge.Zip) { z.Entries[0].Central.Version = 63 }, ProblemMethod},
		"set user":        {func(z *forge.Zip) { z.Entries[0].Central.External = 0o104755 << 16 }, ProblemSetID},
		"set group, of a DOS": {func(z *forge.Zip) {
			z.Entries[0].Central.MadeBy, z.Entries[0].Central.External = 20, 0o102755<<16
		}, ProblemSetID},
		"a link, of a DOS": {func(z *forge.Zip) {
			z.Entries[0].Central.MadeBy, z.Entries[0].Central.External = 20, 0o120777<<16
		}, ProblemLink},
		"of another system": {func(z *forge.Zip) { z.Entries[0].Central.MadeBy = 5 << 8 }, ProblemSpecial},
		"a directory of DOS": {func(z *forge.Zip) {
			z.Entries[0].Central.MadeBy, z.Entries[0].Central.External = 20, 0x10
		}, ProblemSpecial},
		"a volume": {func(z *forge.Zip) {
			z.Entries[0].Central.MadeBy, z.Entries[0].Central.External = 20, 0x08
		}, ProblemSpecial},
		"data after the stream": {func(z *forge.Zip) { lengthen(&z.Entries[1], []byte("x")) }, ProblemTrailingData},
		"a second stream": {func(z *forge.Zip) { lengthen(&z.Entries[1], forge.Deflate([]byte("x"))) },
			ProblemTrailingData},
		"more than declared": {func(z *forge.Zip) { z.Entries[1].Local.Size--; z.Entries[1].Central.Size-- },
			ProblemTrailingData},
		"less than declared": {func(z *forge.Zip) { z.Entries[1].Local.Size++; z.Entries[1].Central.Size++ },
			ProblemTruncated},
		"a bare repository": {func(z *forge.Zip) {
			for _, name := range []string{"x/HEAD", "x/objects/o", "x/refs/r"} {
				z.Entries = append(z.Entries, forge.NewEntry(name, nil, false))
			}
		}, ProblemRepository},
	} {
		z := &forge.Zip{Entries: []forge.Entry{forge.NewEntry("a", []byte("content"), false),
			forge.NewEntry("b", bytes.Repeat([]byte("b"), 500), true), forge.NewEntry("é", nil, false)}}
		if _, err := readZip(z.Bytes()); err != nil {
			t.Fatal(err)
		}
		c.change(z)
		_, err := readZip(z.Bytes())
		if e, ok := errors.AsType[*Error](err); !ok || e.Problem != c.problem {
			t.Errorf("%s: %v; want %s", name, err, c.problem)
		}
	}
}

// lengthen adds bytes to the packed content of an entry.
func lengthen(e *forge.Entry, more []byte) {
	e.Body = append(slices.Clone(e.Body), more...)
	e.Local.Packed += uint32(len(more))
	e.Central.Packed += uint32(len(more))
}

// TestZipOfStreams: a zip of a program that did not know the sizes beforehand, or expected large
// ones, gives the same files.
func TestZipOfStreams(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 50)
	for name, change := range map[string]func(z *forge.Zip){
		"as it is":          func(*forge.Zip) {},
		"sizes that follow": func(z *forge.Zip) { z.Entries[0].Stream() },
		"sizes twice":       func(z *forge.Zip) { z.Entries[0].Stream(); z.Entries[0].Local = z.Entries[0].Central },
		"one size known": func(z *forge.Zip) {
			z.Entries[0].Stream()
			z.Entries[0].Local.Size = uint32(len(content))
		},
		"large, as it seemed": func(z *forge.Zip) { large(&z.Entries[0], false) },
		"large, that follow":  func(z *forge.Zip) { large(&z.Entries[0], true) },
		"a comment":           func(z *forge.Zip) { z.Comment = "0123456789abcdef" },
		"64 bits at the end":  func(z *forge.Zip) { z.Zip64, z.Saturated = true, true },
		"times": func(z *forge.Zip) {
			z.Entries[0].Local.Extra = forge.Field(0x5455, []byte{1, 0, 0, 0, 0})
		},
		"the same second name": func(z *forge.Zip) {
			z.Entries[0].Local.Extra, z.Entries[0].Central.Extra = forge.UnicodePath("a", "a"),
				forge.UnicodePath("a", "a")
		},
	} {
		z := &forge.Zip{Entries: []forge.Entry{forge.NewEntry("a", content, true)}}
		change(z)
		got, err := readZip(z.Bytes())
		if want := map[string]string{"a": string(content)}; err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// large gives an entry its local sizes in 64 bits; with stream zeros, and the true ones after
// the content.
func large(e *forge.Entry, stream bool) {
	e.Local.Extra = forge.Wide(uint64(e.Local.Size), uint64(e.Local.Packed))
	if stream {
		e.Stream()
		e.Local.Extra = forge.Wide(0, 0)
		e.After = append(e.After[:8:8], forge.Wide(uint64(e.Central.Packed), uint64(e.Central.Size))[4:]...)
	}
	e.Local.Size, e.Local.Packed = 1<<32-1, 1<<32-1
}

// TestZipErrorComesWithLastBytes: who reads a file to its declared size and no further has seen
// every error of it.
func TestZipErrorComesWithLastBytes(t *testing.T) {
	z := &forge.Zip{Entries: []forge.Entry{forge.NewEntry("a", []byte("content"), false)}}
	z.Entries[0].Body = []byte("contenT")
	_, open, err := openZip(z.Bytes(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := open("a")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(r, make([]byte, 7)); n == 7 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestTarContradictions: a tar that belongs to several dialects at once is refused.
func TestTarContradictions(t *testing.T) {
	long := func(name string) *forge.Member { return forge.NewMember("././@LongLink", 'L', []byte(name)) }
	pax := func(pairs ...string) *forge.Member { return forge.NewMember("x", 'x', forge.Records(pairs...)) }
	file := func(at int, text string) *forge.Member {
		m := forge.NewMember("file", '0', []byte("12345"))
		m.Set(at, text)
		return m
	}
	plain := func() *forge.Member { return file(0, "f") }
	gnu := func(at int, text string) *forge.Member { m := file(257, "ustar  \x00"); m.Set(at, text); return m }
	kind := func(c byte) *forge.Member { m := plain(); m.Head[156] = c; return m }
	signed := func() *forge.Member { m := file(265, "\xe9"); m.Signed = true; return m }
	for name, c := range map[string]struct {
		members []*forge.Member
		problem Problem
	}{
		"two long names":      {[]*forge.Member{long("a\x00"), long("b\x00"), plain()}, ProblemExtended},
		"a long name and PAX": {[]*forge.Member{long("a\x00"), pax("path", "b"), plain()}, ProblemExtended},
		"PAX and a long name": {[]*forge.Member{pax("path", "b"), long("a\x00"), plain()}, ProblemExtended},
		"two of PAX":          {[]*forge.Member{pax("path", "b"), pax("path", "a"), plain()}, ProblemExtended},
		"PAX over a global one": {[]*forge.Member{pax("path", "b"),
			forge.NewMember("g", 'g', forge.Records("comment", "c")), plain()}, ProblemExtended},
		"PAX and no file":    {[]*forge.Member{pax("path", "b")}, ProblemTruncated},
		"a path twice":       {[]*forge.Member{pax("path", "b", "path", "c"), plain()}, ProblemExtended},
		"an empty path":      {[]*forge.Member{pax("path", ""), plain()}, ProblemExtended},
		"a path with a NUL":  {[]*forge.Member{pax("path", "a\x00b"), plain()}, ProblemExtended},
		"another size":       {[]*forge.Member{pax("size", "6"), plain()}, ProblemContradiction},
		"a size with a sign": {[]*forge.Member{pax("size", "+5"), plain()}, ProblemExtended},
		"sparse by PAX":      {[]*forge.Member{pax("GNU.sparse.name", "b"), plain()}, ProblemExtended},
		"another alphabet":   {[]*forge.Member{pax("hdrcharset", "BINARY"), plain()}, ProblemExtended},
		"unknown record":     {[]*forge.Member{pax("VENDOR.path", "b"), plain()}, ProblemExtended},
		"a record cut off": {[]*forge.Member{forge.NewMember("x", 'x', []byte("99 path=a\n")),
			plain()}, ProblemExtended},
		"a record with zeros": {[]*forge.Member{forge.NewMember("x", 'x', []byte("010 path=a\n")),
			plain()}, ProblemExtended},
		"a global path": {[]*forge.Member{forge.NewMember("g", 'g', forge.Records("path", "b")),
			plain()}, ProblemExtended},
		"a prefix of GNU":    {[]*forge.Member{gnu(345, "p")}, ProblemExtended},
		"a real size of GNU": {[]*forge.Member{gnu(483, "00000000009")}, ProblemExtended},
		"a prefix, old": {[]*forge.Member{func() *forge.Member {
			m := file(257, "\x00\x00\x00\x00\x00\x00\x00\x00")
			m.Set(345, "p")
			return m
		}()}, ProblemHeader},
		"data behind a short prefix": {[]*forge.Member{file(476, "x")}, ProblemHeader},
		"data behind a prefix":       {[]*forge.Member{file(345, "p\x00q")}, ProblemHeader},
		"data after the prefix":      {[]*forge.Member{file(508, "tar\x00")}, ProblemHeader},
		"a long name without NUL":    {[]*forge.Member{long("a"), plain()}, ProblemExtended},
		"a long name with two":       {[]*forge.Member{long("a\x00b\x00"), plain()}, ProblemExtended},
		"a link":                     {[]*forge.Member{kind('2')}, ProblemLink},
		"a hard link":                {[]*forge.Member{kind('1')}, ProblemLink},
		"sparse":                     {[]*forge.Member{kind('S')}, ProblemExtended},
		"contiguous":                 {[]*forge.Member{kind('7')}, ProblemExtended},
		"a volume":                   {[]*forge.Member{kind('V')}, ProblemExtended},
		"a directory with content":   {[]*forge.Member{kind('5')}, ProblemDirectory},
		"a file that ends in /":      {[]*forge.Member{file(0, "dir/\x00")}, ProblemHeader},
		"a size in base 256": {[]*forge.Member{file(124,
			"\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05")}, ProblemBase256},
		"a negative size":                     {[]*forge.Member{file(124, "-0000000005\x00")}, ProblemHeader},
		"a size with an underscore":           {[]*forge.Member{file(124, "00000_00005\x00")}, ProblemHeader},
		"no size":                             {[]*forge.Member{file(124, "            ")}, ProblemHeader},
		"an owner that is none":               {[]*forge.Member{file(108, "x000000\x00")}, ProblemHeader},
		"a signed checksum":                   {[]*forge.Member{signed()}, ProblemChecksum},
		"set user":                            {[]*forge.Member{file(100, "0004755\x00")}, ProblemSetID},
		"sticky":                              {[]*forge.Member{file(100, "0001644\x00")}, ProblemSetID},
		"the name of a link":                  {[]*forge.Member{file(157, "target")}, ProblemHeader},
		"not UTF-8":                           {[]*forge.Member{file(0, "\xff\x00\x00\x00")}, ProblemNotUTF8},
		"zeros between files":                 {[]*forge.Member{plain(), {Sealed: true}, file(0, "g")}, ProblemTrailingData},
		"a repository":                        {[]*forge.Member{file(0, ".git/config")}, ProblemRepository},
		"a path that leaves, beside a prefix": {[]*forge.Member{pax("path", "../b"), file(345, "p")}, ProblemParent},
	} {
		tar := forge.Tar{Members: c.members, End: make([]byte, 1024)}
		_, err := Walk(bytes.NewReader(tar.Bytes()), Tar, Limits{}, discard)
		if e, ok := errors.AsType[*Error](err); !ok || e.Problem != c.problem {
			t.Errorf("%s: %v; want %s", name, err, c.problem)
		}
	}
	for name, end := range map[string][]byte{"no end": nil, "one block": make([]byte, 512),
		"many": make([]byte, 10240)} {
		tar := forge.Tar{Members: []*forge.Member{plain()}, End: end}
		if _, err := Walk(bytes.NewReader(tar.Bytes()), Tar, Limits{}, discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	timed := file(476, "15270546233\x0015270546233")
	if _, err := Walk(bytes.NewReader((&forge.Tar{Members: []*forge.Member{pax("NODETAR.follow", "1"),
		timed}}).Bytes()), Tar, Limits{}, discard); err != nil {
		t.Error("node-tar:", err)
	}
	for _, before := range []*forge.Member{pax("path", "d/b"), long("d/b\x00")} { // as node-tar writes a long path, and others read it
		var got []string
		_, err := Walk(bytes.NewReader((&forge.Tar{Members: []*forge.Member{before, file(345, "d")}}).Bytes()), Tar, Limits{},
			func(e Entry, _ io.Reader) error { got = append(got, e.Path); return nil })
		if err != nil || !slices.Equal(got, []string{"d/b"}) {
			t.Errorf("a path beside a prefix: %q, %v", got, err)
		}
	}
	tar := forge.Tar{Members: []*forge.Member{plain()}, End: make([]byte, 1000)}
	_, err := Walk(bytes.NewReader(tar.Bytes()), Tar, Limits{}, discard)
	refused(t, err, ProblemTruncated, layerTar)
}
