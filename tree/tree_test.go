package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// memory is a tree held in memory.
type memory map[string]entry

type entry struct {
	content []byte
	exec    bool
}

func (m memory) files() []File {
	var out []File
	for path, e := range m {
		out = append(out, File{path, int64(len(e.content)), e.exec})
	}
	return out
}

func (m memory) open(path string) (io.ReadCloser, error) {
	e, ok := m[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(e.content)), nil
}

func (m memory) v1(t rapid.TB, width int) string {
	t.Helper()
	d, size, err := V1(context.Background(), m.files(), m.open, width)
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, e := range m {
		want += int64(len(e.content))
	}
	if size != want {
		t.Fatalf("size %d, want %d", size, want)
	}
	return d.String()
}

// reference is the definition, written as plainly as it can be.
func (m memory) reference() string {
	var paths []string
	for path := range m {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	h := sha256.New()
	io.WriteString(h, "hallmark-tree-v1\x00")
	for _, path := range paths {
		e := m[path]
		binary.Write(h, binary.BigEndian, uint64(len(path)))
		io.WriteString(h, path)
		binary.Write(h, binary.BigEndian, e.exec)
		binary.Write(h, binary.BigEndian, uint64(len(e.content)))
		h.Write(e.content)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// vectors is the shape of spec/tree.json.
type vectors struct {
	Trees []struct {
		Name  string `json:"name"`
		Files []struct {
			Path   string `json:"path"`
			Text   string `json:"text"`
			Base64 string `json:"base64"`
			Repeat int    `json:"repeat"`
			Exec   bool   `json:"exec"`
		} `json:"files"`
		Tree  string `json:"hallmark-tree-v1"`
		Error string `json:"error"`
	} `json:"trees"`
	Different [][2]string `json:"different"`
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../spec/tree.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var v vectors
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range v.Trees {
		t.Run(c.Name, func(t *testing.T) {
			var files []File
			m := memory{}
			for _, f := range c.Files {
				content := []byte(f.Text)
				if f.Base64 != "" {
					if content, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
						t.Fatal(err)
					}
				}
				content = bytes.Repeat(content, max(f.Repeat, 1))
				m[f.Path] = entry{content, f.Exec}
				files = append(files, File{f.Path, int64(len(content)), f.Exec})
			}
			d, _, err := V1(t.Context(), files, m.open, 0)
			if c.Error != "" {
				if err == nil || !strings.Contains(err.Error(), c.Error) {
					t.Fatalf("got %v, %v; want an error that holds %q", d, err, c.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d.String() != c.Tree {
				t.Errorf("got  %s\nwant %s", d, c.Tree)
			}
			seen[c.Name] = d.String()
		})
	}
	for _, pair := range v.Different {
		a, b := seen[pair[0]], seen[pair[1]]
		if a == "" || b == "" || a == b {
			t.Errorf("%s and %s: %q and %q are to be two fingerprints", pair[0], pair[1], a, b)
		}
	}
}

func drawTree(t *rapid.T) memory {
	segment := rapid.StringMatching(`[a-zA-Z0-9 _.é~-]{1,6}`).Filter(func(s string) bool {
		return s != "." && s != ".."
	})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/")
	})
	content := rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 19).Draw(t, "kind") == 0 { // near the edges of a buffer
			n := jobSize*rapid.IntRange(1, 2).Draw(t, "buffers") - rapid.IntRange(0, 64).Draw(t, "less")
			return bytes.Repeat([]byte{'x'}, n)
		}
		return rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "content")
	})
	m := memory{}
	for range rapid.IntRange(0, 12).Draw(t, "files") {
		m[path.Draw(t, "path")] = entry{content.Draw(t, "bytes"), rapid.Bool().Draw(t, "exec")}
	}
	return m
}

// Whatever the order of the list and the number of readers, the fingerprint is
// the one of the definition.
func TestEqualsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawTree(t)
		want := m.reference()
		files := rapid.Permutation(m.files()).Draw(t, "order")
		before := slices.Clone(files)
		d, _, err := V1(context.Background(), files, m.open, rapid.IntRange(0, 5).Draw(t, "width"))
		if err != nil {
			t.Fatal(err)
		}
		if d.String() != want {
			t.Fatalf("got %s, want %s", d, want)
		}
		if !slices.Equal(files, before) {
			t.Fatal("the argument was reordered")
		}
	})
}

func TestAnyChangeChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawTree(t)
		m["some/file"] = entry{rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "content"), rapid.Bool().Draw(t, "exec")}
		before := m.v1(t, 2)
		var paths []string
		for p := range m {
			paths = append(paths, p)
		}
		slices.Sort(paths)
		path := rapid.SampledFrom(paths).Draw(t, "victim")
		e := m[path]
		switch kind := rapid.SampledFrom(
			[]string{"byte", "longer", "shorter", "exec", "path", "add", "remove", "move a byte"}).Draw(t,
			"change"); kind {
		case "byte":
			if len(e.content) == 0 {
				t.Skip()
			}
			e.content = bytes.Clone(e.content)
			i := rapid.IntRange(0, len(e.content)-1).Draw(t, "at")
			e.content[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
			m[path] = e
		case "longer":
			m[path] = entry{append(bytes.Clone(e.content), 0), e.exec}
		case "shorter":
			if len(e.content) == 0 {
				t.Skip()
			}
			m[path] = entry{e.content[:len(e.content)-1], e.exec}
		case "exec":
			m[path] = entry{e.content, !e.exec}
		case "path":
			delete(m, path)
			m[path+"0"] = e
		case "add":
			m[path+".new"] = entry{}
		case "remove":
			delete(m, path)
		case "move a byte": // from one file's end to the next one's start
			i := slices.Index(paths, path)
			if i+1 == len(paths) || len(e.content) == 0 {
				t.Skip()
			}
			last := e.content[len(e.content)-1]
			next := m[paths[i+1]]
			m[path] = entry{e.content[:len(e.content)-1], e.exec}
			m[paths[i+1]] = entry{append([]byte{last}, next.content...), next.exec}
		}
		if after := m.v1(t, 2); after == before {
			t.Fatal("the fingerprint is the same")
		}
	})
}

// oddReader gives few bytes at a time, sometimes none, sometimes the end with bytes.
type oddReader struct {
	rest []byte
	rand *rand.Rand
}

func (r *oddReader) Read(p []byte) (int, error) {
	n := min(len(p), len(r.rest), r.rand.IntN(4000))
	copy(p, r.rest[:n])
	r.rest = r.rest[n:]
	if len(r.rest) == 0 && (n == 0 || r.rand.IntN(2) == 0) {
		return n, io.EOF
	}
	return n, nil
}

func (r *oddReader) Close() error { return nil }

func TestShortReads(t *testing.T) {
	m := memory{}
	for i, size := range []int{0, 1, jobSize - 40, jobSize - 20, jobSize, jobSize + 1, 2 * jobSize, 3*jobSize + 7,
		100} {
		m[fmt.Sprintf("f%d", i)] = entry{bytes.Repeat([]byte{byte(i)}, size), i%2 == 0}
	}
	want := m.reference()
	for seed := range uint64(20) {
		open := func(path string) (io.ReadCloser, error) {
			return &oddReader{m[path].content, rand.New(rand.NewPCG(seed, uint64(len(m[path].content))))}, nil
		}
		d, _, err := V1(t.Context(), m.files(), open, 3)
		if err != nil || d.String() != want {
			t.Fatalf("got %s, %v; want %s", d, err, want)
		}
		sums, err := Digests(t.Context(), m.files(), open, 3)
		if err != nil || len(sums) != len(m) {
			t.Fatal(len(sums), err)
		}
		for path, e := range m {
			if want := fmt.Sprintf("sha256:%x", sha256.Sum256(e.content)); sums[path].String() != want {
				t.Errorf("%s: got %s, want %s", path, sums[path], want)
			}
		}
	}
}

// A file that is not as long as declared is an error, never a fingerprint.
func TestDeclaredSize(t *testing.T) {
	for _, size := range []int{0, 1, 100, jobSize - 30, jobSize - 1, jobSize, 2*jobSize - 1, 2 * jobSize, 3 * jobSize} {
		for _, off := range []int{-1, 1, -size, jobSize, 3 * jobSize} {
			if size+off < 0 || off == 0 {
				continue
			}
			m := memory{"a": {content: make([]byte, size+off)}, "b": {}}
			files := []File{{Path: "a", Size: int64(size)}, {Path: "b"}}
			if _, _, err := V1(t.Context(), files, m.open, 2); !errors.Is(err, ErrChanged) {
				t.Errorf("V1: %d bytes declared as %d: %v", size+off, size, err)
			} else if !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("%v does not name the file", err)
			}
			if _, err := Digests(t.Context(), files, m.open, 2); !errors.Is(err, ErrChanged) {
				t.Errorf("Digests: %d bytes declared as %d: %v", size+off, size, err)
			}
		}
	}
}

func TestErrorsEnd(t *testing.T) {
	m := memory{}
	for i := range 3000 {
		m[fmt.Sprintf("d/%04d", i)] = entry{content: make([]byte, 1000)}
	}
	boom := errors.New("boom")
	open := func(path string) (io.ReadCloser, error) {
		if path == "d/1500" {
			return nil, boom
		}
		return m.open(path)
	}
	for _, width := range []int{1, 2, 8} {
		if _, _, err := V1(t.Context(), m.files(), open, width); !errors.Is(err, boom) ||
			!strings.Contains(err.Error(), "d/1500") {
			t.Errorf("V1: %v", err)
		}
		if _, err := Digests(t.Context(), m.files(), open, width); !errors.Is(err, boom) {
			t.Errorf("Digests: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		stopping := func(path string) (io.ReadCloser, error) {
			if n++; n == 100 { // width 1 below: no race
				cancel()
			}
			return m.open(path)
		}
		if _, _, err := V1(ctx, m.files(), stopping, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("V1 after cancel: %v", err)
		}
		if _, err := Digests(ctx, m.files(), m.open, width); !errors.Is(err, context.Canceled) {
			t.Errorf("Digests after cancel: %v", err)
		}
	}
}

// BenchmarkV1 alternates the fingerprint with plain reading and hashing of the same
// files on all processors, and reports the ratio of the medians.
func BenchmarkV1(b *testing.B) {
	dir := b.TempDir()
	var names []string
	r := rand.New(rand.NewPCG(1, 2))
	for d := range 200 {
		os.MkdirAll(fmt.Sprintf("%s/pkg%03d/lib", dir, d), 0o700)
		for i := range 100 {
			name := fmt.Sprintf("pkg%03d/lib/file%03d.js", d, i)
			content := make([]byte, 2300+r.IntN(4600)) // 92 MB in all
			for j := range content {
				content[j] = byte(r.Uint32())
			}
			os.WriteFile(dir+"/"+name, content, 0o600)
			names = append(names, name)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	var walk, ours, reference []time.Duration
	for b.Loop() {
		start := time.Now()
		files, err := Walk(root.FS(), Limits{})
		if err != nil || len(files) != len(names) {
			b.Fatal(err)
		}
		walked := time.Now()
		open := func(path string) (io.ReadCloser, error) { return root.Open(path) }
		if _, _, err := V1(b.Context(), files, open, 0); err != nil {
			b.Fatal(err)
		}
		walk = append(walk, walked.Sub(start))
		ours = append(ours, time.Since(walked))
		start = time.Now()
		plain(b, dir, names)
		reference = append(reference, time.Since(start))
	}
	b.ReportMetric(float64(median(walk).Microseconds())/1000, "walk-ms")
	b.ReportMetric(float64(median(ours).Microseconds())/1000, "v1-ms")
	b.ReportMetric(float64(median(reference).Microseconds())/1000, "plain-ms")
	b.ReportMetric(float64(median(ours))/float64(median(reference)), "v1/plain")
	b.ReportMetric(float64(median(ours)+median(walk))/float64(median(reference)), "walk+v1/plain")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
