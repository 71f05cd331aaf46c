package plugins

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// The limits.
const (
	maxImportFile  = 4 << 20 // bytes of one file; what does not fit is scanned
	maxImportFiles = 256     // of which the oldest give way
)

const (
	importDir     = "imports"
	importKeyFile = "imports.key"
	importKeySize = 32
)

// ImportScanner is the scanner whose results are remembered.
type ImportScanner struct {
	Scan plugin.Scan

	// Key is a digest of all that a result depends on but the scanner itself: the script's bytes, of
	// which sum is the digest, and what its name says of it.
	Key func(path string, sum digest.Digest) ScriptKey

	// Version changes whenever the scanner may find something else. If it is empty nothing is
	// kept on disk.
	Version string
}

// ScriptKey addresses the record of a script.
type ScriptKey [sha256.Size]byte

func (r result) give() ([]plugin.Import, error) {
	if r.Failure != "" {
		return nil, errors.New(r.Failure)
	}
	return slices.Clone(r.Imports), nil
}

// ImportCache is a scanner that remembers, in this process and on disk, so that a script which this machine has
// scanned is not parsed again:
//
//	cache/imports/HASH    what one version of the scanner found in the scripts of one plugin; HASH is of both
//	                      their names
//	state/imports.key     32 random bytes, for this user alone
//
// A record is found by the digest of the script's bytes, which the caller hashes at each use, as everything in the
// store is. Other than there, nobody claims what a record says: a forged one would make a script look as if it
// imported nothing. A file therefore has a MAC under a key that is in the state directory and not in the cache, which
// people share, restore and copy. The MAC covers the version of the scanner, the form of a record and the name of the
// plugin, too. A file that is missing, damaged, of another scanner or of another machine holds nothing, and is
// replaced. Anyone who reads the key may write records; it is a file of the user's, as the program is.
//
// Nothing fails here: where the directories cannot be read or written, each script is scanned.
//
// Its methods may be called by several goroutines at once, and several processes may use its files.
type ImportCache struct {
	scanner    ImportScanner
	dir        string // "" if nothing is kept
	keyFile    string
	mu         sync.Mutex
	key        []byte // of MACs; nil if there is none yet
	inProgress map[ScriptKey]func() result
}

// OpenImportCache returns a cache with files below the directories cache and state. It makes none of them.
func OpenImportCache(cache, state string, scanner ImportScanner) *ImportCache {
	c := &ImportCache{scanner: scanner, inProgress: map[ScriptKey]func() result{}}
	if scanner.Version != "" && filepath.IsAbs(cache) && filepath.IsAbs(state) {
		c.dir, c.keyFile = filepath.Join(cache, importDir), filepath.Join(state, importKeyFile)
	}
	c.key = readKey(c.keyFile)
	return c
}

// For returns a scanner for the plugin called name, and a function to call when all scripts of the
// plugin were scanned, which keeps what is new. The digests of the scripts are taken of the bytes that
// are scanned: a script without one is always scanned.
func (c *ImportCache) For(name string, sums map[string]digest.Digest) (scan plugin.Scan, done func()) {
	known := c.read(name)
	var (
		mu    sync.Mutex
		used  = make(map[ScriptKey]result, len(sums))
		fresh bool
	)
	scan = func(path string, content []byte) ([]plugin.Import, error) {
		sum, ok := sums[path]
		if !ok {
			return c.scanner.Scan(path, content)
		}
		k := c.scanner.Key(path, sum)
		r, ok := known[k]
		if !ok {
			r = c.scanOnce(k, path, content)
		}
		mu.Lock()
		used[k] = r
		fresh = fresh || !ok
		mu.Unlock()
		return r.give()
	}
	return scan, func() {
		if fresh {
			c.write(name, used, known)
		}
	}
}

// scanOnce scans a script, unless this process has done so before.
func (c *ImportCache) scanOnce(k ScriptKey, path string, content []byte) result {
	c.mu.Lock()
	get, ok := c.inProgress[k]
	if !ok {
		get = sync.OnceValue(func() result {
			imports, err := c.scanner.Scan(path, content)
			if err != nil {
				return result{Failure: err.Error()}
			}
			return result{Imports: imports}
		})
		c.inProgress[k] = get
	}
	c.mu.Unlock()
	return get()
}

// read returns what is known of the scripts of the plugin called name.
func (c *ImportCache) read(name string) map[ScriptKey]result {
	key := c.keyOf(false)
	if key == nil {
		return nil
	}
	data, err := durable.ReadFile(c.file(name), maxImportFile)
	if err != nil || len(data) < len(magic)+sha256.Size || string(data[:len(magic)]) != magic {
		return nil
	}
	mac, body := data[len(magic):len(magic)+sha256.Size], data[len(magic)+sha256.Size:]
	if !hmac.Equal(mac, c.sum(key, name, body)) {
		return nil
	}
	return decode(body)
}

// write keeps what was used, and what was known besides if there is room.
func (c *ImportCache) write(name string, used, known map[ScriptKey]result) {
	key := c.keyOf(true)
	body := encode(maxImportFile-len(magic)-sha256.Size, used, known)
	if key == nil || body == nil {
		return
	}
	data := slices.Concat([]byte(magic), c.sum(key, name, body), body)
	if os.MkdirAll(c.dir, 0o700) == nil {
		c.makeRoom(c.file(name))
		replace(c.dir, c.file(name), data)
	}
}

// replace writes a file by renaming another one over it. A power cut may leave it damaged, which the MAC
// tells: syncing would take longer than scanning.
func replace(dir, path string, data []byte) {
	f, err := os.CreateTemp(dir, ".*.tmp")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}

// makeRoom removes the oldest files, if path is to be one more than there may be.
func (c *ImportCache) makeRoom(path string) {
	if _, err := os.Lstat(path); err == nil {
		return
	}
	files := listFiles(c.dir)
	slices.SortFunc(files, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range files[:max(0, len(files)-maxImportFiles+1)] {
		os.Remove(f.path)
	}
}

// PruneImportCache removes the files below the directory cache that were written before a time.
func PruneImportCache(cache string, before time.Time) {
	for _, f := range listFiles(filepath.Join(cache, importDir)) {
		if f.at.Before(before) {
			os.Remove(f.path)
		}
	}
}

// file is a file of a cache, and when it was written.
type file struct {
	path string
	at   time.Time
}

func listFiles(dir string) (files []file) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, file{filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	return files
}

// file is the path of the records of the plugin called name.
func (c *ImportCache) file(name string) string {
	sum := sha256.Sum256([]byte(c.scanner.Version + "\x00" + name))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:]))
}

// sum is the MAC of a file's body.
func (c *ImportCache) sum(key []byte, name string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, text := range []string{magic, layout, c.scanner.Version, name} {
		sum := sha256.Sum256([]byte(text))
		mac.Write(sum[:])
	}
	mac.Write(body)
	return mac.Sum(nil)
}

// keyOf returns the key, which it makes if there is none and it is to; nil if there is none then.
func (c *ImportCache) keyOf(toWrite bool) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key == nil && c.dir != "" && toWrite {
		c.key = newKey(c.keyFile)
	}
	return c.key
}

// readKey reads the key; nil if there is none that nobody else could read.
func readKey(path string) []byte {
	if path == "" {
		return nil
	}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() != importKeySize || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil
	}
	key := make([]byte, importKeySize)
	if n, err := f.ReadAt(key, 0); n != importKeySize || err != nil {
		return nil
	}
	return key
}

// newKey makes a key and keeps it; nil if it cannot be kept.
func newKey(path string) []byte {
	key := make([]byte, importKeySize)
	rand.Read(key)
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil || durable.WriteFile(path, key, 0o600) != nil {
		return nil
	}
	return key
}

const magic = "hallmark imports 2\n"
