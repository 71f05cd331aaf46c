package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" // the name of an object of git
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Of what is written at once, to be read without starting git: how many files, their bytes, and those of one. There are
// three copies of them meanwhile, and to start git for a large file matters less.
const (
	prepareLimit = 20000
	prepareBytes = 128 << 20
	prepareFile  = 1 << 20
)

// Prepare writes files that came in a pack as a file each, so that Open reads them without starting git; those beyond a
// limit are left.
func (c *Commit) Prepare(ctx context.Context, files iter.Seq[File]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var (
		ids  bytes.Buffer
		size int64
	)
	for f := range files {
		_, err := os.Stat(looseName(c.dir, f.ID))
		if f.Kind == kindSubmodule || f.Size > prepareFile || c.tried[f.ID] || err == nil {
			continue
		}
		if size += f.Size; size > prepareBytes || ids.Len() == prepareLimit*(len(f.ID)+1) {
			break
		}
		c.tried[f.ID] = true
		ids.WriteString(f.ID + "\n")
	}
	if ids.Len() == 0 {
		return nil
	}
	ctx, stop := c.boundSize(ctx)
	defer stop()
	to := c.loose()
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if _, err := c.repo.run(ctx, to, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	packs, err := c.repo.runWith(ctx, c.dir, &ids, "pack-objects", "--quiet", "--window=0", filepath.Join(to, "pack"))
	if err != nil {
		return err
	}
	for sum := range strings.FieldsSeq(string(packs)) {
		if err := c.unpack(ctx, filepath.Join(to, "pack-"+sum+".pack")); err != nil {
			return err
		}
	}
	return nil
}

// loose is the repository of files that were prepared: git writes none that its own repository has.
func (c *Commit) loose() string { return filepath.Join(c.dir, "loose") }

// unpack writes the objects of a pack as a file each.
func (c *Commit) unpack(ctx context.Context, pack string) error {
	f, err := os.Open(pack)
	if err != nil {
		return err
	}
	_, err = c.repo.runWith(ctx, c.loose(), f, "unpack-objects", "-q")
	return errors.Join(err, f.Close(), os.Remove(pack), os.Remove(strings.TrimSuffix(pack, ".pack")+".idx"))
}

// looseName is the file of an object that has one of its own.
func looseName(dir, id string) string { return filepath.Join(dir, "objects", id[:2], id[2:]) }

// openLoose opens a blob as it was fetched, or as it was prepared. The error is that of a missing file if it was
// neither.
func (c *Commit) openLoose(id string) (io.ReadCloser, error) {
	if !objectID().MatchString(id) {
		return nil, fs.ErrNotExist
	}
	r, err := openLoose(c.dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return openLoose(c.loose(), id)
	}
	return r, err
}

// openLoose opens a blob that has a file of its own. The error is that of a missing file if it has none.
func openLoose(dir, id string) (io.ReadCloser, error) {
	f, err := os.Open(looseName(dir, id))
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
