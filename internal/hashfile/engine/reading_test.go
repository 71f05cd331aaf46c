package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// looked is a context that is cancelled when it was looked at often enough. One look allows one piece.
type looked struct {
	context.Context
	looks, most int
}

func (l *looked) Err() error {
	if l.looks++; l.looks > l.most {
		return context.Canceled
	}
	return nil
}

// placeOf returns the place of a file with data, or of size NULs if data is nil.
func placeOf(t *testing.T, data []byte, size int64) (p *place.Place, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "f")
	must(t, errors.Join(os.WriteFile(path, data, 0o600), os.Truncate(path, max(size, int64(len(data))))))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	info, err := root.Lstat("f")
	must(t, err)
	p = place.In(root, "f", info)
	p.Root, p.Rel = &place.Root{Path: dir}, "f"
	return p, path
}

// goroutines fails the test unless all that it starts end.
func goroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		hang.Until(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// readers are the ways to read a file.
var readers = map[string]func(*reader, context.Context, *place.Place) error{
	"read": func(r *reader, ctx context.Context, p *place.Place) error { _, err := r.Read(ctx, p); return err },
	"whole": func(r *reader, ctx context.Context, p *place.Place) error {
		_, err := r.Survey(ctx, p, &hashline.Survey{First: 1, MaxBytes: 64 << 20})
		return err
	},
	"range": func(r *reader, ctx context.Context, p *place.Place) error {
		_, err := r.Survey(ctx, p, &hashline.Survey{First: 5, Last: 5})
		return err
	},
}

// TestReadStops cancels a call while a file is read, from the disk or with a snapshot: no more than one piece is read
// after that, and nothing is left running.
func TestReadStops(t *testing.T) {
	goroutines(t)
	for _, size := range []int{12 << 20, maxSnapshot + 4<<20} {
		data := bytes.Repeat([]byte("a line of text\n"), size/15)
		p, _ := placeOf(t, data, 0)
		for name, read := range readers {
			r := newReader(64 << 20)
			for range 2 {
				for _, most := range []int{0, 1, 7} {
					ctx := &looked{Context: t.Context(), most: most}
					if err := read(r, ctx, p); err == nil || !strings.Contains(err.Error(), "canceled") ||
						ctx.looks != most+1 {
						t.Errorf("%s: %v after %d looks, want %d", name, err, ctx.looks, most+1)
					}
				}
				if err := read(r, t.Context(), p); err != nil { // the next time there is a snapshot
					t.Fatal(err)
				}
			}
		}
	}
}

// TestBinaryAtOnce refuses a binary file without reading the rest of it.
func TestBinaryAtOnce(t *testing.T) {
	goroutines(t)
	for _, size := range []int64{maxSnapshot, 64 << 20} {
		p, _ := placeOf(t, nil, size)
		for _, name := range []string{"whole", "range"} {
			ctx := &looked{Context: t.Context(), most: 1 << 20}
			err := readers[name](newReader(64<<20), ctx, p)
			if err == nil || place.RefusalOf("f", err).Code != hashline.Binary || ctx.looks > 1 {
				t.Errorf("%s: %v after %d pieces", name, err, ctx.looks)
			}
		}
	}
}

// TestChangedWhileRead grows, shrinks, overwrites and replaces a file while it is read: the bytes are bounded, the hash
// is theirs, and the survey is of them.
func TestChangedWhileRead(t *testing.T) {
	goroutines(t)
	const limit = 4 << 20
	data := bytes.Repeat([]byte("0123456789abcde\n"), 2<<20/16)
	for name, test := range map[string]struct {
		change func(path string) error
		size   int // of what is read
	}{
		"grows": {func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write(data[:1<<20])
			return err
		}, len(data) + 1<<20},
		"shrinks": {func(path string) error { return os.Truncate(path, 1<<20+5) }, 1<<20 + 5},
		"empties": {func(path string) error { return os.Truncate(path, 0) }, pieceSize},
		"replaced": {func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("x"), 0o600))
		}, len(data)},
	} {
		p, path := placeOf(t, data, 0)
		f, info, err := p.Open(os.O_RDONLY)
		must(t, err)
		survey, once := &hashline.Survey{First: 1}, false
		got, hash, err := newReader(limit).readAndHash(t.Context(), p, f, info, func(data []byte) error {
			if !once {
				once = true
				must(t, test.change(path))
			}
			return survey.Extend(data)
		})
		f.Close()
		if err = errors.Join(err, survey.Close()); err != nil || len(got) != test.size {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		kept, lines, _ := survey.Kept()
		if hash.String() != digest.FromBytes(got).String() || !bytes.Equal(kept, got) || lines != survey.Lines() {
			t.Errorf("%s: %d bytes with hash %s, %d kept in %d lines", name, len(got), hash, len(kept), lines)
		}
	}
}

// TestReadPast has the same answer as reading whole, for a file that is too large for a snapshot.
func TestReadPast(t *testing.T) {
	goroutines(t)
	data := bytes.Repeat([]byte("a line of text\r\n"), (maxSnapshot+3<<20)/16)
	p, _ := placeOf(t, data, 0)
	survey := &hashline.Survey{First: 1_000_000, Last: 1_000_001}
	hash, err := newReader(64<<20).Survey(t.Context(), p, survey)
	if kept, _, _ := survey.Kept(); err != nil || hash.String() != digest.FromBytes(data).String() ||
		string(kept) != string(data[:32]) || survey.Lines() != len(data)/16 || survey.LineEnding() != "crlf" {
		t.Errorf("%s, %q of %d, %v", hash, kept, survey.Lines(), err)
	}
	err = readers["range"](newReader(int64(len(data))-1), t.Context(), p)
	if place.RefusalOf("f", err).Code != hashline.TooLarge {
		t.Error(err)
	}
}
