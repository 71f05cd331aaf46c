package digest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFromReader(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), BufferSize/5) // more than one buffer
	for name, r := range map[string]io.Reader{
		"whole":    bytes.NewReader(data),
		"one byte": iotest.OneByteReader(bytes.NewReader(data)),
		"half":     iotest.HalfReader(bytes.NewReader(data)),
		"data+EOF": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		d, n, err := FromReader(r)
		if err != nil || n != int64(len(data)) || !Equal(d, FromBytes(data)) {
			t.Errorf("%s: %s, %d bytes, %v", name, d, n, err)
		}
	}
	// What was read before an error is never hashed as if whole.
	d, n, err := FromReader(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if !d.IsZero() || n != 3 || err != io.ErrUnexpectedEOF {
		t.Errorf("cut short: %s, %d, %v", d, n, err)
	}
}

// readers give the same bytes in different ways.
var readers = map[string]func(io.Reader) io.Reader{
	"whole":    func(r io.Reader) io.Reader { return r },
	"one byte": iotest.OneByteReader,
	"half":     iotest.HalfReader,
	"data+EOF": iotest.DataErrReader,
	"empty reads": func(r io.Reader) io.Reader {
		idle := false
		return readerFunc(func(p []byte) (int, error) {
			if idle = !idle; idle {
				return 0, nil
			}
			return r.Read(p)
		})
	},
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestVerifier(t *testing.T) {
	const text = "the bytes that were published"
	size := int64(len(text))
	want := FromBytes([]byte(text))
	sha1 := NewHasher(SHA1)
	sha1.Write([]byte(text))
	for _, c := range []struct {
		name string
		data string
		want Digest
		size int64
		ok   bool
		text string // in the error
	}{
		{"exact", text, want, size, true, ""},
		{"any size", text, want, -1, true, ""},
		{"largest size", text, want, math.MaxInt64, false, "size mismatch"},
		{"another algorithm", text, sha1.Digest(SHA1), size, true, ""},
		{"short by one byte", text[:size-1], want, size, false, "size mismatch: expected 29 bytes, got 28"},
		{"long by one byte", text + "!", want, size, false, "size mismatch: expected 29 bytes, got 30"},
		{"much longer", strings.Repeat(text, 100), want, size, false, "size mismatch: expected 29 bytes, got 30"},
		{"other bytes", strings.ToUpper(text), want, size, false, "sha256 mismatch: expected " + want.String()},
		{"other bytes, any size", text + "!", want, -1, false, "sha256 mismatch"},
		{"nothing", "", want, -1, false, "sha256 mismatch"},
		{"nothing, wanted", "", FromBytes(nil), 0, true, ""},
		{"one byte, none wanted", "x", FromBytes(nil), 0, false, "size mismatch: expected 0 bytes, got 1"},
		{"no digest", text, Digest{}, size, false, "mismatch"},
		{"no digest, nothing", "", Digest{}, 0, false, "mismatch"},
	} {
		for how, reader := range readers {
			r := NewVerifier(reader(strings.NewReader(c.data)), c.want, c.size)
			got, err := io.ReadAll(r)
			if (err == nil) != c.ok {
				t.Errorf("%s, %s: error %v", c.name, how, err)
				continue
			}
			if c.ok {
				if string(got) != c.data {
					t.Errorf("%s, %s: read %q", c.name, how, got)
				}
				continue
			}
			e, is := errors.AsType[*MismatchError](err)
			if !is || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s, %s: error %v, want %q", c.name, how, err, c.text)
				continue
			}
			if e.WantSize != c.size || e.Want.String() != c.want.String() || c.want.IsZero() != e.Got.IsZero() {
				t.Errorf("%s, %s: error %+v", c.name, how, e)
			}
			if c.size >= 0 && int64(len(got)) > c.size {
				t.Errorf("%s, %s: %d bytes were let through of %d", c.name, how, len(got), c.size)
			}
			// The error stays.
			if n, again := r.Read(make([]byte, 9)); n != 0 || again != err {
				t.Errorf("%s, %s: then %d, %v", c.name, how, n, again)
			}
		}
	}
}

// At most one byte more than the size is taken from a stream that never ends.
func TestVerifierStopsReading(t *testing.T) {
	var taken int64
	endless := readerFunc(func(p []byte) (int, error) { taken += int64(len(p)); return len(p), nil })
	if _, err := io.Copy(io.Discard, NewVerifier(endless, FromBytes(nil), 1000)); err == nil || taken != 1001 {
		t.Errorf("%v after %d bytes", err, taken)
	}
}

func TestVerifierErrorPassthrough(t *testing.T) {
	broken := errors.New("connection reset")
	for _, text := range []string{"", "all", "all of it"} {
		r := NewVerifier(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), FromBytes([]byte("all")), 3)
		_, err := io.ReadAll(r)
		if long := len(text) > 3; long == errors.Is(err, broken) {
			t.Errorf("%q: error %v", text, err)
		}
	}
	if err := iotest.TestReader(NewVerifier(strings.NewReader("all"), FromBytes([]byte("all")), 3),
		[]byte("all")); err != nil {
		t.Error(err)
	}
}

func TestVerifierEmptyBuffer(t *testing.T) {
	r := NewVerifier(strings.NewReader("all"), FromBytes([]byte("all")), 3)
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got, err := io.ReadAll(r); string(got) != "all" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func BenchmarkHasher(b *testing.B) {
	buf := make([]byte, BufferSize)
	b.SetBytes(int64(len(buf)))
	h := NewHasher()
	for b.Loop() {
		h.Write(buf)
	}
}
