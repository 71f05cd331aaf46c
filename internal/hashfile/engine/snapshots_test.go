package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestSnapshots edits files at random and asks for every state that may still be known:
// it has the bytes that it had.
func TestSnapshots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := new(snapshots)
		states := map[string][]byte{}
		files := map[string][]byte{"a": nil, "b": []byte("line\n")}
		for range 40 {
			path := string(rune('a' + r.IntN(2)))
			data := bytes.Clone(files[path])
			at := r.IntN(len(data) + 1)
			end := at + r.IntN(len(data)-at+1)
			data = append(append(data[:at:at], strings.Repeat(string(rune('x'+r.IntN(3))), r.IntN(5))...),
				data[end:]...)
			files[path] = data
			hash := digest.FromBytes(data)
			states[path+hash.String()] = data
			s.add(snapshotKey{path: path}, hash, data, nil)
			if got, known, ok := s.latest(snapshotKey{path: path}); !ok || got.String() != hash.String() ||
				!bytes.Equal(known, data) {
				t.Fatalf("the latest state is %s %q", got, known)
			}
		}
		for of, want := range states {
			if got, _, ok := s.get(snapshotKey{path: of[:1]}, of[1:], ""); !ok || !bytes.Equal(got, want) {
				t.Fatalf("%q, %v, want %q", got, ok, want)
			}
		}
	}
}

// TestSnapshotsForget holds a file that is edited again and again once, and no more in
// all than is allowed: what was not used for the longest time is not known any more.
func TestSnapshotsForget(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	s := new(snapshots)
	body := bytes.Repeat([]byte("a line that stays\n"), 10<<20/18)
	for i := range 50 {
		data := append(fmt.Appendf(nil, "%d\n", i), body...)
		s.add(snapshotKey{path: "a"}, digest.FromBytes(data), data, nil)
	}
	if s.size > 11<<20 {
		t.Errorf("50 states of 10 MiB that differ in a line take %d bytes", s.size)
	}
	first := digest.FromBytes(append([]byte("0\n"), body...)).String()
	if data, _, ok := s.get(snapshotKey{path: "a"}, first, ""); !ok || !bytes.HasPrefix(data, []byte("0\na line")) || len(data) != len(body)+2 {
		t.Error("the first state is not known")
	}
	other := func(name string, size int) string {
		data := bytes.Repeat([]byte(name), size)
		hash := digest.FromBytes(data)
		s.add(snapshotKey{path: name}, hash, data, nil)
		return hash.String()
	}
	b, c := other("b", 16<<20), other("c", 16<<20)
	s.latest(snapshotKey{path: "a"})
	other("d", 16<<20)
	other("e", 16<<20)
	for path, c := range map[string]struct {
		hash string
		want bool
	}{"a": {first, true}, "b": {b, false}, "c": {c, true}} {
		if _, _, ok := s.get(snapshotKey{path: path}, c.hash, ""); ok != c.want {
			t.Errorf("%s: known is %v", path, ok)
		}
	}
	large := other("f", maxSnapshot+1)
	if _, _, ok := s.get(snapshotKey{path: "f"}, large, ""); ok || s.size > maxSnapshots {
		t.Errorf("what is too large is known, or too much: %d", s.size)
	}
	// The states of one file are forgotten one after the other, and the count is right at the end.
	for i := range 6 {
		data := bytes.Repeat([]byte{byte('0' + i)}, maxSnapshot)
		s.add(snapshotKey{path: "g"}, digest.FromBytes(data), data, nil)
	}
	if s.size > maxSnapshots {
		t.Errorf("%d bytes are held", s.size)
	}
	for s.order.Len() > 0 {
		s.drop(s.order.Back())
	}
	if s.size != 0 || len(s.files) != 0 {
		t.Errorf("%d bytes, %d files are left of nothing", s.size, len(s.files))
	}
}

// TestSnapshotsAgain forgets a state that the file had twice only with the second one.
func TestSnapshotsAgain(t *testing.T) {
	s := new(snapshots)
	add := func(text string) { s.add(snapshotKey{path: "f"}, digest.FromBytes([]byte(text)), []byte(text), nil) }
	known := func(text string) bool {
		data, _, ok := s.get(snapshotKey{path: "f"}, digest.FromBytes([]byte(text)).String(), "")
		return ok && string(data) == text
	}
	for _, text := range []string{"one", "two", "one", "three", "one"} {
		add(text)
	}
	for left := 4; left > 0; left-- {
		if !known("one") || known("two") != (left > 3-1) || known("three") != (left > 0) {
			t.Errorf("%d earlier states: one is known %v, two %v, three %v", left, known("one"), known("two"),
				known("three"))
		}
		s.drop(s.order.Front())
	}
	if !known("one") || known("two") || known("three") {
		t.Error("only the latest state was to be left")
	}
	add("three")
	add("one")
	add("four") // the earlier ones are one, three, one
	s.drop(s.order.Front())
	if !known("one") || !known("three") || !known("four") {
		t.Error("a state that the file had again is forgotten with its first time")
	}
}

// TestGrows reads a file that grew, or shrank, after its size was looked at: all of it, and
// no more than is allowed.
func TestGrows(t *testing.T) {
	d := t.TempDir()
	path := filepath.Join(d, "f")
	must(t, os.WriteFile(path, []byte("1234567890"), 0o600))
	info, err := os.Stat(path)
	must(t, err)
	for _, test := range []struct {
		text  string
		limit int64
		fine  bool
	}{{"1234567890", 10, true}, {"12345678901", 11, true}, {"12345678901", 10, false},
		{strings.Repeat("x", 100_000), 99_999, false}, {strings.Repeat("x", 100_000), 100_000, true}, {"", 10, true}} {
		for _, known := range []string{"", "1234567890", "123456789x", "x234567890"} {
			r := newReader(test.limit)
			p := &place.Place{Asked: "f", Root: &place.Root{Path: d}, Rel: "f"}
			r.Remember(p, digest.FromBytes([]byte(known)), []byte(known))
			must(t, os.WriteFile(path, []byte(test.text), 0o600))
			f, err := os.Open(path)
			must(t, err)
			data, hash, err := r.readAndHash(t.Context(), p, f, info, nil)
			f.Close()
			if test.fine &&
				(err != nil || string(data) != test.text || hash.String() != digest.FromBytes(data).String()) ||
				!test.fine && (err == nil || place.RefusalOf("f", err).Code != hashline.TooLarge) {
				t.Errorf("%.20q of at most %d: %.20q, %s, %v", test.text, test.limit, data, hash, err)
			}
		}
	}
}
