package archive

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

func TestLimits(t *testing.T) {
	noise := func(n int) string { // does not compress to less than half
		var b strings.Builder
		for i := uint32(1); b.Len() < n; i++ {
			fmt.Fprintf(&b, "%08x", i*2654435761)
		}
		return b.String()[:n]
	}
	inner := ending(file(t, "a/1", noise(3000)), file(t, "b/2", noise(3000)), file(t, "c/3", noise(3000)))
	z := zipped(t, inner)
	packed := facetOf(t, z)
	size, unpacked := int64(len(packed)), int64(len(inner))
	for name, c := range map[string]struct {
		limits  Limits
		problem Problem
		layer   string
	}{
		"exactly":  {Limits{Packed: size, Unpacked: unpacked, Entries: 3}, "", ""},
		"packed":   {Limits{Packed: size - 1}, ProblemTooLarge, layerArchive},
		"unpacked": {Limits{Unpacked: unpacked - 1}, ProblemTooLarge, layerInner},
		"entries":  {Limits{Entries: 2}, ProblemTooManyEntries, layerInner},
	} {
		_, err := Walk(bytes.NewReader(packed), Facet, c.limits, discard)
		if c.problem != "" {
			refused(t, err, c.problem, c.layer)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Walk(bytes.NewReader(inner), Canonical, Limits{Unpacked: unpacked - 1}, discard); err == nil {
		t.Error("an uncompressed tar beyond the limit is read")
	}
	deep := ending(file(t, "a/b/c/d/1", ""), file(t, "e/f/g/h/2", ""))
	_, err := Walk(bytes.NewReader(deep), Canonical, Limits{Entries: 7}, discard)
	refused(t, err, ProblemTooManyEntries, layerTar)
	if _, err := Walk(bytes.NewReader(deep), Canonical, Limits{Entries: 8}, discard); err != nil {
		t.Error(err)
	}
}

// zeroTar writes the gzip of a canonical tar whose one file is size zeros.
func zeroTar(t testing.TB, size int64) []byte {
	t.Helper()
	head, err := tree.TarHeader("a", size)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(head)
	rest := size + tree.TarPadding(size)
	rest += tree.TarEnd(rest + tree.TarBlock)
	for buf := make([]byte, 1<<16); rest > 0; rest -= int64(len(buf)) {
		z.Write(buf[:min(int64(len(buf)), rest)])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBombs: a bomb is refused after little work, and in little memory.
func TestBombs(t *testing.T) {
	bomb := zeroTar(t, 64<<20)
	facet := facetOf(t, bomb)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var given int64
	_, err := Walk(bytes.NewReader(facet), Facet, Limits{}, func(e Entry, r io.Reader) error {
		if e.Outer {
			return nil
		}
		n, err := io.Copy(io.Discard, r)
		given += n
		return err
	})
	refused(t, err, ProblemTooCompressed, layerInner)
	_, err = Walk(bytes.NewReader(bomb), TarGzip, Limits{}, discard)
	refused(t, err, ProblemTooCompressed, layerTar)
	// The ratio alone being off, the size decides.
	_, err = Walk(bytes.NewReader(facet), Facet, Limits{Ratio: 2000, Unpacked: 16 << 20}, discard)
	refused(t, err, ProblemTooLarge, layerInner)
	runtime.ReadMemStats(&after)
	if given > 2*RatioFloor {
		t.Errorf("%d bytes of the bomb were unpacked", given)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	// The floor: what small archives may do.
	if _, err := Walk(bytes.NewReader(facetOf(t, zeroTar(t, RatioFloor-4096))), Facet, Limits{}, discard); err != nil {
		t.Error(err)
	}
	_, err = Walk(bytes.NewReader(facetOf(t, zeroTar(t, 2*RatioFloor))), Facet, Limits{}, discard)
	refused(t, err, ProblemTooCompressed, layerInner)
}

// TestRatioIsSteady: the refusal does not depend on the sizes in which the archive is read.
func TestRatioIsSteady(t *testing.T) {
	for _, size := range []int64{RatioFloor, RatioFloor + 200_000, RatioFloor + 1<<18,
		RatioFloor + 300_000, 3 * RatioFloor} {
		data := facetOf(t, zeroTar(t, size))
		var first string
		for i, r := range []io.Reader{bytes.NewReader(data), &slow{data, 1}, &slow{data, 700}} {
			_, err := Walk(r, Facet, Limits{}, func(_ Entry, r io.Reader) error {
				_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 1+i*1000))
				return err
			})
			if got := fmt.Sprint(err); i == 0 {
				first = got
			} else if got != first {
				t.Errorf("%d bytes: %s; and %s", size, first, got)
			}
		}
	}
}

// TestRatioIsExact: the ratio is refused exactly beyond the limit.
func TestRatioIsExact(t *testing.T) {
	const size = 16 << 20
	packed := zeroTar(t, size)
	ratio := int64((size - RatioFloor) / len(packed))
	if _, err := Walk(bytes.NewReader(facetOf(t, packed)), Facet, Limits{Ratio: ratio * 11 / 10}, discard); err != nil {
		t.Error(err)
	}
	_, err := Walk(bytes.NewReader(facetOf(t, packed)), Facet, Limits{Ratio: ratio * 9 / 10}, discard)
	refused(t, err, ProblemTooCompressed, layerInner)
}

// slow gives at most n bytes at once.
type slow struct {
	data []byte
	n    int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.n)], s.data)
	s.data = s.data[n:]
	return n, nil
}

// TestManyNames: the largest set of long and deep names takes little memory.
func TestManyNames(t *testing.T) {
	var b bytes.Buffer
	for i := range 20_001 {
		b.Write(file(t, fmt.Sprintf("%05d/%s", i, strings.Repeat("d/", 40)+"f"), ""))
	}
	data := append(b.Bytes(), make([]byte, tree.TarEnd(int64(b.Len())))...)
	_, err := Walk(bytes.NewReader(data), Canonical, Limits{}, discard)
	refused(t, err, ProblemTooManyEntries, layerTar)
}
