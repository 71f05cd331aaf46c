package git

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1" // the name of an object of git
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// unpackLimit is up to how many objects of a fetch are written as a file each, which are read without starting git.
const unpackLimit = 20000

// unpack writes the objects of what was fetched as a file each, unless they are too many.
func (c *Commit) unpack(ctx context.Context) error {
	packs, err := filepath.Glob(filepath.Join(c.dir, "objects", "pack", "*.pack"))
	if err != nil {
		return err
	}
	for _, pack := range packs {
		if err := c.unpackOne(ctx, pack); err != nil {
			return err
		}
	}
	return nil
}

// unpackOne unpacks a file whose head says how many objects it has. git leaves out those that it knows: so the pack is
// moved away first.
func (c *Commit) unpackOne(ctx context.Context, pack string) error {
	if n, err := countObjects(pack); err != nil || n > unpackLimit {
		return err
	}
	away := filepath.Join(c.dir, filepath.Base(pack))
	if err := os.Rename(pack, away); err != nil {
		return err
	}
	beside, err := filepath.Glob(strings.TrimSuffix(pack, ".pack") + ".*") // its index
	if err != nil {
		return err
	}
	for _, name := range beside {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	f, err := os.Open(away)
	if err != nil {
		return err
	}
	_, err = c.repo.runWith(ctx, c.dir, f, "unpack-objects", "-q")
	return errors.Join(err, f.Close(), os.Remove(away))
}

// countObjects is how many objects a pack says that it has.
func countObjects(pack string) (uint32, error) {
	f, err := os.Open(pack)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, 12) // "PACK", version, objects
	_, err = io.ReadFull(f, head)
	return binary.BigEndian.Uint32(head[8:]), err
}

// openLoose opens a blob that has a file of its own. The error is that of a missing file if it has none.
func openLoose(dir, id string) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(dir, "objects", id[:2], id[2:]))
	if err != nil {
		return nil, err
	}
	b := &blob{file: f, id: id, sum: sha1.New()}
	z, err := zlib.NewReader(bufio.NewReader(f))
	if err == nil {
		b.r = bufio.NewReader(z)
		err = b.readHead()
	}
	if err != nil {
		return nil, errors.Join(b.bad(err), f.Close())
	}
	return b, nil
}

// blob is a blob that is read, and compared with its name at its end.
type blob struct {
	file *os.File
	r    *bufio.Reader
	id   string
	sum  hash.Hash
	left int64
}

// readHead reads "blob SIZE" and the zero byte behind it.
func (b *blob) readHead() error {
	head := make([]byte, 0, 32)
	for len(head) < cap(head) {
		c, err := b.r.ReadByte()
		if err != nil {
			return err
		}
		if head = append(head, c); c != 0 {
			continue
		}
		size, ok := strings.CutPrefix(string(head[:len(head)-1]), "blob ")
		if b.left, err = strconv.ParseInt(size, 10, 64); err != nil || !ok || b.left < 0 {
			return errors.New("its head is none of a file")
		}
		b.sum.Write(head)
		return nil
	}
	return errors.New("its head does not end")
}

// Read reads on, and at the end compares everything with the name.
func (b *blob) Read(p []byte) (int, error) {
	if b.left == 0 {
		if _, err := b.r.ReadByte(); err != io.EOF {
			return 0, b.bad(errors.New("is longer than it says"))
		}
		if got := hex.EncodeToString(b.sum.Sum(nil)); got != b.id {
			return 0, b.bad(fmt.Errorf("has the bytes of %s", got))
		}
		return 0, io.EOF
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.sum.Write(p[:n])
	b.left -= int64(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		return n, b.bad(err)
	}
	return n, nil
}

func (b *blob) bad(err error) error { return fmt.Errorf("git object %s: %w", b.id, err) }

// Close closes the file.
func (b *blob) Close() error { return b.file.Close() }
