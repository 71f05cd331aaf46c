package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// refused checks that err is a refusal for the reason problem in layer.
func refused(t testing.TB, err error, problem Problem, layer string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Problem != problem || layer != "" && e.Layer != layer {
		t.Errorf("got %+v (%v); want %s in the %s", e, err, problem, layer)
		return
	}
	if evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("%v has class %v", err, evidence.ClassOf(err))
	}
	if strings.ContainsAny(err.Error(), "\n\x1b\x7f\u0085") || strings.Contains(err.Error(), "\xff") {
		t.Errorf("%q is not escaped", err)
	}
}

// TestForgedHeaders: each forgery is refused in a tar of its own, inside a .facet, and where it
// fits as the outer layer of one.
func TestForgedHeaders(t *testing.T) {
	said := map[Problem]string{}
	for _, c := range headers() {
		t.Run(c.name, func(t *testing.T) {
			b := c.forge(t, "a.md")
			_, err := Walk(bytes.NewReader(b), Canonical, Limits{}, discard)
			refused(t, err, c.problem, layerTar)
			if e, ok := errors.AsType[*Error](err); ok {
				for p, detail := range said {
					if p != e.Problem && detail == e.Detail {
						t.Errorf("%s says %q, as does %s", e.Problem, e.Detail, p)
					}
				}
				said[e.Problem] = e.Detail
			}
			_, err = Walk(bytes.NewReader(facetOf(t, zipped(t, b))), Facet, Limits{}, discard)
			refused(t, err, c.problem, layerInner)
			_, err = Walk(bytes.NewReader(c.forge(t, BuildManifest)), Facet, Limits{}, discard)
			refused(t, err, c.problem, layerOuter)
		})
	}
}

func TestForgedPaths(t *testing.T) {
	for _, c := range badPaths {
		refused(t, CheckPath(c.path), c.problem, "")
		b := ending(file(t, c.path, "x"))
		_, err := Walk(bytes.NewReader(b), Canonical, Limits{}, discard)
		refused(t, err, c.problem, layerTar)
		_, err = Walk(bytes.NewReader(facetOf(t, zipped(t, b))), Facet, Limits{}, discard)
		refused(t, err, c.problem, layerInner)
		_, err = Walk(bytes.NewReader(b), Facet, Limits{}, discard)
		refused(t, err, c.problem, layerOuter)
	}
	for _, p := range []string{"a", "a/b", ".hidden", "a b", "a..b", "..a", "con1", "console.md", "com", "com10",
		"nul-x", "é/日本.md", "-", "a$", "\U0001f600", strings.Repeat("x", MaxPath)} {
		if err := CheckPath(p); err != nil {
			t.Error(err)
		}
	}
	refused(t, CheckPath(strings.Repeat("x", MaxPath+1)), ProblemLongPath, "")
	refused(t, CheckPath(strings.Repeat("x/", MaxDepth+1)+"x"), ProblemLongPath, "")
	refused(t, CheckPath(""), ProblemUnclean, "")
	refused(t, CheckPath("a\x00b"), ProblemControl, "") // which a header cannot hold
}

func TestForgedSets(t *testing.T) {
	for _, c := range sets {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			var n Names
			if err := n.Add(pair[0]); err != nil {
				t.Fatal(err)
			}
			refused(t, n.Add(pair[1]), c.problem, "")
		}
		paths := []string{c.a, c.b}
		slices.SortFunc(paths, tree.CompareUTF16)
		b := ending(file(t, paths[0], "1"), file(t, paths[1], "2"))
		_, err := Walk(bytes.NewReader(b), Canonical, Limits{}, discard)
		refused(t, err, c.problem, layerTar)
		_, err = Walk(bytes.NewReader(facetOf(t, zipped(t, b))), Facet, Limits{}, discard)
		refused(t, err, c.problem, layerInner)
	}
	var n Names
	for _, p := range []string{"a", "b/a", "b/c/a", "b/c/d", "é", "e", "ss", "日"} {
		if err := n.Add(p); err != nil {
			t.Error(err)
		}
	}
}

func TestForgedOrder(t *testing.T) {
	for _, paths := range [][]string{{"b", "a"}, {"a", "c", "b"}, {"a0", "a/b"}, {"\ue000", "\U0001f600"}} {
		var entries [][]byte
		for _, p := range paths {
			entries = append(entries, file(t, p, "x"))
		}
		_, err := Walk(bytes.NewReader(ending(entries...)), Canonical, Limits{}, discard)
		refused(t, err, ProblemUnsorted, layerTar)
	}
}

func TestForgedEnd(t *testing.T) {
	content := strings.Repeat("x", tree.TarRecord-2*tree.TarBlock)
	one := file(t, "a", content)                           // one block less than a record
	full := file(t, "a", content+strings.Repeat("x", 512)) // exactly a record
	for name, c := range map[string]struct {
		data    []byte
		problem Problem
	}{
		"no padding":              {one, ProblemTruncated},
		"half a block of padding": {append(slices.Clone(one), make([]byte, 256)...), ProblemTruncated},
		"a whole record more":     {append(ending(one), make([]byte, tree.TarRecord)...), ProblemTrailingData},
		"a byte more":             {append(ending(one), 0), ProblemTrailingData},
		"text after the end":      {append(ending(one), "text"...), ProblemTrailingData},
		"a file after the end":    {append(ending(one), ending(file(t, "b", "x"))...), ProblemTrailingData},
		"an end block too many":   {append(ending(full), make([]byte, tree.TarRecord)...), ProblemTrailingData},
		"one end block too many": {append(slices.Clone(full), make([]byte, tree.TarBlock)...),
			ProblemTrailingData},
		"a file in the padding": {append(append(file(t, "a", "x"), make([]byte, 512)...),
			ending(file(t, "b", "x"))...), ProblemTrailingData},
		"padding ends early":          {ending(file(t, "a", "x"))[:tree.TarRecord-512], ProblemTruncated},
		"padding ends inside a block": {ending(file(t, "a", "x"))[:tree.TarRecord-100], ProblemTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Walk(bytes.NewReader(c.data), Canonical, Limits{}, discard)
			refused(t, err, c.problem, layerTar)
			_, err = Walk(bytes.NewReader(facetOf(t, zipped(t, c.data))), Facet, Limits{}, discard)
			refused(t, err, c.problem, layerInner)
		})
	}
	if _, err := Walk(bytes.NewReader(ending(full)), Canonical, Limits{}, discard); err != nil {
		t.Error("a full record needs no end:", err)
	}
	if _, err := Walk(bytes.NewReader(nil), Canonical, Limits{}, discard); err != nil {
		t.Error("no files are no bytes:", err)
	}
}

func TestForgedFacet(t *testing.T) {
	inner := ending(file(t, "a.md", "x"))
	z := zipped(t, inner)
	build, archived := file(t, BuildManifest, "{}"), file(t, FacetTarGzip, string(z))
	flipped := func(i int) []byte {
		b := slices.Clone(z)
		b[(i+len(b))%len(b)] ^= 1
		return b
	}
	good := facetOf(t, z)
	for name, c := range map[string]struct {
		data    []byte
		problem Problem
		layer   string
	}{
		"nothing":           {nil, ProblemNotFacet, layerOuter},
		"one member":        {ending(build), ProblemNotFacet, layerOuter},
		"the other member":  {ending(archived), ProblemNotFacet, layerOuter},
		"swapped":           {ending(archived, build), ProblemNotFacet, layerOuter},
		"a third member":    {ending(build, archived, file(t, "c", "x")), ProblemNotFacet, layerOuter},
		"a second manifest": {ending(build, archived, build), ProblemDuplicate, layerOuter},
		"an alias":          {ending(build, archived, file(t, "Archive.tar.gz", "x")), ProblemAlias, layerOuter},
		"a member below one": {ending(build, archived, file(t, FacetTarGzip+"/x", "x")),
			ProblemFileAndDir, layerOuter},
		"another name":  {ending(build, file(t, "archive.tgz", string(z))), ProblemNotFacet, layerOuter},
		"data after it": {append(slices.Clone(good), "x"...), ProblemTrailingData, layerOuter},
		"a record after it": {append(slices.Clone(good), make([]byte, tree.TarRecord)...),
			ProblemTrailingData, layerOuter},
		"cut":                  {good[:len(good)-1], ProblemTruncated, layerOuter},
		"not compressed":       {facetOf(t, inner), ProblemNotGzip, layerInner},
		"empty inner":          {facetOf(t, nil), ProblemTruncated, layerInner},
		"a second gzip member": {facetOf(t, append(slices.Clone(z), z...)), ProblemSecondMember, layerInner},
		"an empty second one": {facetOf(t, append(slices.Clone(z), zipped(t, nil)...)),
			ProblemSecondMember, layerInner},
		"data after gzip": {facetOf(t, append(slices.Clone(z), 0)), ProblemTrailingData, layerInner},
		"gzip checksum":   {facetOf(t, flipped(-8)), ProblemChecksum, layerInner},
		"gzip size":       {facetOf(t, flipped(-1)), ProblemChecksum, layerInner},
		"gzip magic":      {facetOf(t, flipped(0)), ProblemNotGzip, layerInner},
		"gzip cut":        {facetOf(t, z[:len(z)-4]), ProblemTruncated, layerInner},
		"deflate cut":     {facetOf(t, z[:len(z)/2]), ProblemTruncated, layerInner},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Walk(bytes.NewReader(c.data), Facet, Limits{}, discard)
			refused(t, err, c.problem, c.layer)
		})
	}
}

// TestEveryByteCounts: after a change of any single byte of a .facet, reading refuses it or
// computes another sum: always another one of the archive, and of the tar if contents changed.
func TestEveryByteCounts(t *testing.T) {
	inner := ending(file(t, "a.md", "content A"), file(t, "b.md", "content B"))
	good := facetOf(t, zipped(t, inner))
	want, err := Walk(bytes.NewReader(good), Facet, Limits{}, discard)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x20
		got, err := Walk(bytes.NewReader(bad), Facet, Limits{}, discard)
		if err == nil && got.Packed.String() == want.Packed.String() {
			t.Errorf("byte %d can change", i)
		}
		if err == nil && (i < 512 || i >= 1024 && i < 1024+512) {
			t.Errorf("byte %d of a header can change", i)
		}
	}
}

func TestWalkAgreesWithWriter(t *testing.T) {
	segment := rapid.StringMatching(`[a-z][a-zA-Z0-9é\x{e000}\x{1F600}_-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		contents := map[string][]byte{}
		var files []tree.File
		var names Names
		for range rapid.IntRange(0, 8).Draw(t, "files") {
			path := strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "path"), "/")
			if names.Add(path) != nil {
				names = Names{}
				for _, f := range files {
					if err := names.Add(f.Path); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			size := rapid.OneOf(rapid.IntRange(0, 2000),
				rapid.SampledFrom([]int{512, 10240, 10240 - 512, 70_000})).Draw(t, "size")
			contents[path] = bytes.Repeat([]byte(path), size/len(path)+1)[:size]
			files = append(files, tree.File{Path: path, Size: int64(size)})
		}
		open := func(path string) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(contents[path])), nil
		}
		var z, packed bytes.Buffer
		fingerprint, size, err := WriteTarGzip(t.Context(), &z, files, open, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteFacet(&packed, []byte(`{"a":1}`), &z, int64(z.Len())); err != nil {
			t.Fatal(err)
		}
		whole := digest.FromBytes(packed.Bytes())
		seen := 0
		partial := rapid.Bool().Draw(t, "partial")
		sums, err := Walk(&packed, Facet, Limits{}, func(e Entry, r io.Reader) error {
			if partial {
				return nil
			}
			got, err := io.ReadAll(r)
			if e.Outer {
				if e.Path != BuildManifest || string(got) != `{"a":1}` {
					t.Fatal(e, string(got))
				}
				return err
			}
			seen++
			if !bytes.Equal(got, contents[e.Path]) || e.Size != int64(len(got)) {
				t.Fatal(e)
			}
			return err
		})
		if err != nil || !partial && seen != len(files) {
			t.Fatal(seen, err)
		}
		if sums.Tar.String() != fingerprint.String() || sums.TarSize != size || sums.Packed.String() != whole.String() {
			t.Fatal(sums)
		}
	})
}

// TestGeneralTar: tars of other programs are read, unless they hold what could do harm.
func TestGeneralTar(t *testing.T) {
	long := strings.Repeat("directory/", 20) + "file"
	write := func(headers ...tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
				h.Mode = 0o644
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, strings.Repeat("x", int(h.Size)))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	good := write(
		tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "a commit"}},
		tar.Header{Name: "./", Typeflag: tar.TypeDir},
		tar.Header{Name: "./package/", Typeflag: tar.TypeDir},
		tar.Header{Name: "package/run.js", Size: 600, Mode: 0o755, Uname: "root"},
		tar.Header{Name: long, Size: 1, Format: tar.FormatPAX},
		tar.Header{Name: "a.md", Size: 1, Format: tar.FormatGNU},
	)
	var got []Entry
	collect := func(e Entry, r io.Reader) error {
		got = append(got, e)
		n, err := io.Copy(io.Discard, r)
		if n != e.Size {
			t.Error(e, n)
		}
		return err
	}
	want := []Entry{{Path: "package/run.js", Size: 600, Exec: true}, {Path: long, Size: 1}, {Path: "a.md", Size: 1}}
	for _, f := range []Format{Tar, TarGzip} {
		data := good
		if f == TarGzip {
			data = zipped(t, good)
		}
		got = nil
		if _, err := Walk(bytes.NewReader(data), f, Limits{}, collect); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	for name, c := range map[string]struct {
		data    []byte
		problem Problem
	}{
		"link": {write(tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), ProblemLink},
		"hard link": {write(tar.Header{Name: "a"},
			tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}), ProblemLink},
		"device":           {write(tar.Header{Name: "a", Typeflag: tar.TypeChar}), ProblemSpecial},
		"parent":           {write(tar.Header{Name: "../a"}), ProblemParent},
		"parent by PAX":    {write(tar.Header{Name: "../" + long, Format: tar.FormatPAX}), ProblemParent},
		"absolute":         {write(tar.Header{Name: "/a"}), ProblemAbsolute},
		"parent directory": {write(tar.Header{Name: "a/../../", Typeflag: tar.TypeDir}), ProblemParent},
		"file and directory": {write(tar.Header{Name: "a"}, tar.Header{Name: "a/", Typeflag: tar.TypeDir}),
			ProblemFileAndDir},
		"alias":              {write(tar.Header{Name: "a"}, tar.Header{Name: "A"}), ProblemAlias},
		"data after the end": {append(write(tar.Header{Name: "a"}), "x"...), ProblemTrailingData},
		"cut":                {write(tar.Header{Name: "a", Size: 9000})[:5000], ProblemTruncated},
		"no tar":             {bytes.Repeat([]byte("text "), 300), ProblemHeader},
	} {
		_, err := Walk(bytes.NewReader(c.data), Tar, Limits{}, discard)
		if e, ok := errors.AsType[*Error](err); !ok || e.Problem != c.problem {
			t.Errorf("%s: %v; want %s", name, err, c.problem)
		}
	}
	stop := errors.New("stop")
	if _, err := Walk(bytes.NewReader(good), Tar, Limits{}, func(Entry, io.Reader) error { return stop }); err != stop {
		t.Error(err)
	}
}

// TestReaderFails: an error of the reader is not reported as one of the archive.
func TestReaderFails(t *testing.T) {
	good := facetOf(t, zipped(t, ending(file(t, "a", strings.Repeat("x", 3000)))))
	broken := errors.New("connection reset")
	for _, n := range []int{0, 100, 512, 800, 1100, 1600, len(good) - 1} {
		_, err := Walk(io.MultiReader(bytes.NewReader(good[:n]),
			readerFunc(func([]byte) (int, error) { return 0, broken })), Facet, Limits{}, discard)
		if !errors.Is(err, broken) || evidence.ClassOf(err) != evidence.Operation {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	if _, err := Walk(bytes.NewReader(good), "rar", Limits{}, discard); err == nil {
		t.Error("an unknown format is read")
	}
}
