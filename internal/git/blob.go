package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Of what is kept at once, to be opened without starting git: how many files, their bytes, and those of one; to start
// git for a large file matters less. And how many bytes of it are read of git, and are in memory, together.
const (
	prepareLimit  = 20000
	prepareBytes  = 128 << 20
	prepareFile   = 1 << 20
	prepareMemory = 32 << 20
)

// Prepare keeps files of the commit each as a file of its own, so that Open reads them without starting git; those
// beyond a limit are left.
func (c *Commit) Prepare(ctx context.Context, files iter.Seq[File]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var (
		left []File
		size int64
	)
	for f := range files {
		_, tried := c.tried[f.ID]
		if tried || f.Kind == kindSubmodule || f.Size > prepareFile || !objectID().MatchString(f.ID) {
			continue
		}
		if size += f.Size; size > prepareBytes || len(left) == prepareLimit {
			break
		}
		c.tried[f.ID] = false
		left = append(left, f)
	}
	if len(left) == 0 || c.size()+size > maxSize {
		return nil
	}
	for len(left) > 0 {
		n := 0
		for size = 0; n < len(left) && size < prepareMemory; n++ {
			size += left[n].Size
		}
		if err := c.keep(ctx, left[:n]); err != nil {
			return err
		}
		left = left[n:]
	}
	return nil
}

// keep keeps files, which one git gives.
func (c *Commit) keep(ctx context.Context, files []File) error {
	if err := os.MkdirAll(filepath.Dir(c.keptName(files[0].ID)), 0o700); err != nil {
		return err
	}
	var ids bytes.Buffer
	for _, f := range files {
		ids.WriteString(f.ID + "\n")
	}
	out, err := c.repo.runWith(ctx, c.dir, &ids, "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, f := range files {
		content, rest, err := cutBlob(out, f.ID)
		if err == nil {
			err = os.WriteFile(c.keptName(f.ID), content, 0o600)
		}
		if err != nil {
			return err
		}
		c.tried[f.ID], out = true, rest
	}
	return nil
}

// isPrepared reports whether a file was kept by Prepare.
func (c *Commit) isPrepared(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tried[id]
}

// keptName is where Prepare keeps a file.
func (c *Commit) keptName(id string) string { return filepath.Join(c.dir, "prepared", id) }

// cutBlob takes the content of a file off the front of what 'git cat-file --batch' printed.
func cutBlob(out []byte, id string) (content, rest []byte, err error) {
	head, out, _ := bytes.Cut(out, []byte("\n"))
	text, ok := strings.CutPrefix(string(head), id+" blob ")
	size, err := strconv.Atoi(text)
	if !ok || err != nil || size < 0 || size >= len(out) {
		return nil, nil, fmt.Errorf("git object %s: git gives no file, but %.100q", id, head)
	}
	return out[:size], out[size+1:], nil
}

// checkBlob compares the content of a file with the name that git has for it.
func checkBlob(content []byte, id string) error {
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(content))
	sum.Write(content)
	if got := hex.EncodeToString(sum.Sum(nil)); got != id {
		return fmt.Errorf("git object %s: has the bytes of %s", id, got)
	}
	return nil
}
