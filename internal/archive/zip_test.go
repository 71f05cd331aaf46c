package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

type zipEntry struct {
	name    string
	content string
	mode    fs.FileMode
	change  func(h *zip.FileHeader)
}

func zipOf(t testing.TB, entries ...zipEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		if e.change != nil {
			e.change(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func openZip(data []byte, limits Limits) ([]tree.File, tree.Open, error) {
	return OpenZip(bytes.NewReader(data), int64(len(data)), limits)
}

func TestZip(t *testing.T) {
	data := zipOf(t, zipEntry{name: "dist/"}, zipEntry{name: "dist/run.js", content: "run", mode: 0o755},
		zipEntry{name: "a", content: strings.Repeat("a", 5000)},
		zipEntry{name: "empty"})
	files, open, err := openZip(data, Limits{})
	want := []tree.File{{Path: "a", Size: 5000}, {Path: "dist/run.js", Size: 3, Exec: true}, {Path: "empty"}}
	for i := range files {
		if files[i].Path != "dist/run.js" {
			files[i].Exec = false // what a zip without permissions says
		}
	}
	if err != nil || !slices.Equal(files, want) {
		t.Fatal(files, err)
	}
	// The same code as for any tree, several files at once.
	if _, _, err := tree.FacetTar(t.Context(), files, open, 3); err != nil {
		t.Error(err)
	}
	if _, err := open("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := openZip(zipOf(t), Limits{}); err != nil {
		t.Error("an empty zip:", err)
	}
}

func TestForgedZip(t *testing.T) {
	a := zipEntry{name: "a", content: "content"}
	stored := zipOf(t, zipEntry{name: "a", content: "content",
		change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	encrypted := slices.Clone(stored)
	binary.LittleEndian.PutUint16(encrypted[bytes.LastIndex(encrypted, []byte("PK\x01\x02"))+8:], 9)
	for name, c := range map[string]struct {
		data    []byte
		problem Problem
	}{
		"link": {zipOf(t,
			zipEntry{name: "a", content: "/etc", mode: fs.ModeSymlink | 0o777}), ProblemLink},
		"device":             {zipOf(t, zipEntry{name: "a", mode: fs.ModeDevice | 0o600}), ProblemSpecial},
		"pipe":               {zipOf(t, zipEntry{name: "a", mode: fs.ModeNamedPipe | 0o600}), ProblemSpecial},
		"parent":             {zipOf(t, zipEntry{name: "../a"}), ProblemParent},
		"parent directory":   {zipOf(t, zipEntry{name: "../"}), ProblemParent},
		"absolute":           {zipOf(t, zipEntry{name: "/a"}), ProblemAbsolute},
		"drive":              {zipOf(t, zipEntry{name: "c:a"}), ProblemDrive},
		"backslash":          {zipOf(t, zipEntry{name: `a\b`}), ProblemBackslash},
		"not UTF-8":          {zipOf(t, zipEntry{name: "a\xff"}), ProblemNotUTF8},
		"no name":            {zipOf(t, zipEntry{name: ""}), ProblemUnclean},
		"twice":              {zipOf(t, a, a), ProblemDuplicate},
		"alias":              {zipOf(t, a, zipEntry{name: "A"}), ProblemAlias},
		"file and directory": {zipOf(t, a, zipEntry{name: "a/b"}), ProblemFileAndDir},
		"data before":        {append([]byte("#!/bin/sh\n"), zipOf(t, a)...), ProblemTrailingData},
		"data after":         {append(zipOf(t, a), "x"...), ProblemTrailingData},
		"encrypted":          {encrypted, ProblemMethod},
		"method":             {zipRaw(t, 14), ProblemMethod},
		"no zip":             {[]byte(strings.Repeat("text ", 100)), ProblemNotZip},
		"nothing":            {nil, ProblemNotZip},
		"overlap":            {overlapping(t), ProblemOverlap},
	} {
		_, _, err := openZip(c.data, Limits{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Problem != c.problem {
			t.Errorf("%s: %v; want %s", name, err, c.problem)
		}
	}

	body := bytes.Index(stored, []byte("content"))
	flipped := slices.Clone(stored)
	flipped[body] ^= 1
	_, open, err := openZip(flipped, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := open("a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(r)
	refused(t, err, ProblemChecksum, layerZip)
}

// zipRaw is a zip with a file stored under another method's number.
func zipRaw(t testing.TB, method uint16) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "a", Method: method, CompressedSize64: 1, UncompressedSize64: 1,
		CRC32: crc32.ChecksumIEEE([]byte("x"))})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "x")
	w.Close()
	return b.Bytes()
}

// overlapping is a zip whose directory names the same bytes twice.
func overlapping(t testing.TB) []byte {
	data := zipOf(t, zipEntry{name: "a", content: "12345", change: func(h *zip.FileHeader) { h.Method = zip.Store }},
		zipEntry{name: "b", content: "12345", change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	second := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[second+42:], 0)
	return data
}

func TestZipLimits(t *testing.T) {
	data := zipOf(t, zipEntry{name: "a", content: strings.Repeat("0", 1000)}, zipEntry{name: "b", content: "1"})
	for name, c := range map[string]struct {
		limits  Limits
		problem Problem
	}{
		"packed":   {Limits{Packed: int64(len(data)) - 1}, ProblemTooLarge},
		"unpacked": {Limits{Unpacked: 1000}, ProblemTooLarge},
		"entries":  {Limits{Entries: 1}, ProblemTooManyEntries},
	} {
		_, _, err := openZip(data, c.limits)
		if e, ok := errors.AsType[*Error](err); !ok || e.Problem != c.problem {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := openZip(data, Limits{Packed: int64(len(data)), Unpacked: 1001, Entries: 2}); err != nil {
		t.Error(err)
	}
	bomb := zipOf(t, zipEntry{name: "a", content: strings.Repeat("\x00", 8<<20)})
	_, _, err := openZip(bomb, Limits{})
	refused(t, err, ProblemTooCompressed, layerZip)
	// A directory that lies about its length is not held in memory.
	var many []zipEntry
	for range 40_000 {
		many = append(many,
			zipEntry{name: strings.Repeat("n", 200), change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	}
	data = zipOf(t, many...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err = openZip(data, Limits{Entries: 100})
	runtime.ReadMemStats(&after)
	refused(t, err, ProblemTooManyEntries, layerZip)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

func FuzzZip(f *testing.F) {
	f.Add(zipOf(f, zipEntry{name: "a/b", content: "x", mode: 0o755}, zipEntry{name: "c/"}))
	f.Add(overlapping(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, open, err := openZip(data, Limits{Unpacked: 1 << 22})
		if err != nil {
			return
		}
		for _, file := range files {
			if err := CheckPath(file.Path); err != nil {
				t.Fatal(err)
			}
			r, err := open(file.Path)
			if err != nil {
				continue
			}
			n, err := io.Copy(io.Discard, r)
			if err == nil && n != file.Size {
				t.Fatalf("%d bytes of %v", n, file)
			}
		}
	})
}

// TestWriteZipNames: OpenZip reads what WriteZip writes, in any alphabet of a name.
func TestWriteZipNames(t *testing.T) {
	files := []tree.File{{Path: "dist/a.js", Size: 1}, {Path: "dist/é.js", Size: 1}, {Path: "dist/日本.js", Size: 1}}
	var b bytes.Buffer
	if err := WriteZip(&b, files,
		func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }); err != nil {
		t.Fatal(err)
	}
	got, _, err := openZip(b.Bytes(), Limits{})
	if err != nil || !slices.Equal(got, files) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestZipReaderReused: a file that is closed gives nothing more, also when its reader reads another one, and one that is
// broken or closed early leaves nothing to the next.
func TestZipReaderReused(t *testing.T) {
	data := zipOf(t, zipEntry{name: "a", content: strings.Repeat("a", 5000)}, zipEntry{name: "b", content: "text of b"})
	_, open, err := openZip(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		a, err := open("a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(a, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(a.Close(), a.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := open("b")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := a.Read(make([]byte, 10)); n != 0 || !errors.Is(err, fs.ErrClosed) {
			t.Fatal(n, err)
		}
		got, err := io.ReadAll(b)
		if err != nil || string(got) != "text of b" || b.Close() != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
}
