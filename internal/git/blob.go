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

// Of what is read of git at once, and kept to be opened without starting it: how many files, their bytes, and those of
// one. All of it is in memory meanwhile, and to start git for a large file matters less.
const (
	prepareLimit = 20000
	prepareBytes = 32 << 20
	prepareFile  = 1 << 20
)

// Prepare keeps files of the commit each as a file of its own, so that Open reads them without starting git; those
// beyond a limit are left.
func (c *Commit) Prepare(ctx context.Context, files iter.Seq[File]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var (
		ids  []string
		size int64
	)
	for f := range files {
		_, tried := c.tried[f.ID]
		if tried || f.Kind == kindSubmodule || f.Size > prepareFile || !objectID().MatchString(f.ID) {
			continue
		}
		if size += f.Size; size > prepareBytes || len(ids) == prepareLimit {
			break
		}
		c.tried[f.ID] = false
		ids = append(ids, f.ID)
	}
	if len(ids) == 0 || c.size()+size > maxSize {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.keptName(ids[0])), 0o700); err != nil {
		return err
	}
	out, err := c.repo.runWith(ctx, c.dir, strings.NewReader(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, id := range ids {
		content, rest, err := cutBlob(out, id)
		if err == nil {
			err = os.WriteFile(c.keptName(id), content, 0o600)
		}
		if err != nil {
			return err
		}
		c.tried[id], out = true, rest
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
