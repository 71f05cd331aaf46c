package fetch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenZip: the list of files of a zip, which is held in memory, is bounded in bytes and in
// entries, whatever the zip announces and also in numbers of 64 bits.
func TestOpenZip(t *testing.T) {
	entries := func(n, nameLen int) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := range n {
			if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%0*d", nameLen, i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := entries(2, 5)
	// The record of 64 bits, its locator, and an end whose numbers send there: a million
	// files are announced, and one is there.
	forged := func(text string) string {
		at := strings.LastIndex(text, "PK\x05\x06")
		list := binary.LittleEndian.Uint32([]byte(text[at+16:]))
		size := binary.LittleEndian.Uint32([]byte(text[at+12:]))
		le := binary.LittleEndian
		b := []byte(text[:at])
		b = append(b, "PK\x06\x06"...)
		b = le.AppendUint64(b, 44)
		b = append(b, 45, 0, 45, 0)
		b = append(b, make([]byte, 8)...)
		b = le.AppendUint64(b, 1_000_000)
		b = le.AppendUint64(b, 1_000_000)
		b = le.AppendUint64(b, uint64(size))
		b = le.AppendUint64(b, uint64(list))
		b = append(b, "PK\x06\x07"...)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, uint64(at))
		b = le.AppendUint32(b, 1)
		b = append(b, "PK\x05\x06"...)
		b = append(b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
		b = le.AppendUint32(b, 0xffffffff)
		b = le.AppendUint32(b, 0xffffffff)
		return string(append(b, 0, 0))
	}
	hidden := entries(30_000, 200) // more than the limit, announced as nothing
	end := strings.LastIndex(hidden, "PK\x05\x06")
	hidden = hidden[:end+8] + "\x00\x00\x00\x00\x00\x00\x00\x00" + hidden[end+16:]
	for name, c := range map[string]struct {
		text  string
		files int
		fails string
	}{
		"two":             {plain, 2, ""},
		"none":            {entries(0, 0), 0, ""},
		"many":            {entries(20_000, 100), 20_000, ""},
		"too many":        {entries(60_000, 50), 0, "more than 4,194,304 bytes"},
		"long names":      {entries(100, 60_000), 0, "more than 4,194,304 bytes"},
		"many, announced": {hidden, 0, "between the directory and its end record"},
		"64 bits":         {forged(plain), 0, "more than 4,194,304 bytes"},
		"no zip":          {"x", 0, "not a zip"},
		"empty":           {"", 0, "not a zip"},
	} {
		path := filepath.Join(t.TempDir(), "z")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := openZip(f, maxZipList)
		switch {
		case c.fails == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.fails == "" && len(z.paths) != c.files:
			t.Errorf("%s: %d files", name, len(z.paths))
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
	}
}

// TestZipLargeFile: a file in a zip may be larger than its list may be.
func TestZipLargeFile(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, 2*maxZipList))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "z")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := openZip(f, maxZipList)
	if err != nil {
		t.Fatal(err)
	}
	in, err := r.open("a")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := b.ReadFrom(in); err != nil || n != 2*maxZipList {
		t.Errorf("%d bytes, %v", n, err)
	}
}
