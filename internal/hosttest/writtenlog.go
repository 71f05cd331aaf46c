package hosttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// WrittenLog writes the files of a log of size entries, and returns its key.
func WrittenLog(t *testing.T, dir string, size int64) ledger.Key {
	t.Helper()
	key, _, err := registry.OpenLogKey(t.Context(), filepath.Join(t.TempDir(), "log.key"), "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	var edge ledger.Edge
	var rows [8][]tlog.Hash // of each level of tiles
	var texts [][]byte
	for i := range size {
		text, err := ledger.Leaf{Kind: ledger.Server, Name: fmt.Sprintf("io.github.acme/s%d", i), Version: "1.0.0",
			Document:  digest.FromBytes(fmt.Append(nil, i)),
			Publisher: "p", At: time.Unix(1700000000, 0).UTC()}.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		texts, rows[0] = append(texts, text), append(rows[0], tlog.RecordHash(text))
		edge.Add(tlog.RecordHash(text))
	}
	for level := range 7 {
		for n := range int64(len(rows[level]) / ledger.TileWidth) {
			var top ledger.Edge
			for _, h := range rows[level][n*ledger.TileWidth : (n+1)*ledger.TileWidth] {
				top.Add(h)
			}
			rows[level+1] = append(rows[level+1], top.Root())
		}
	}
	writeTiles(t, dir, size, &rows, texts)
	note, err := ledger.Checkpoint{Origin: key.Name(), Size: size, Root: edge.Root()}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "checkpoint", note)
	return key
}

// writeTiles writes the tiles of a log of these leaves and rows of hashes.
func writeTiles(t *testing.T, dir string, size int64, rows *[8][]tlog.Hash, texts [][]byte) {
	t.Helper()
	var err error
	for level := ledger.Entries; level < 8; level++ {
		for n := int64(0); ; n++ {
			tile, ok := ledger.NewTile(level, n, size)
			if !ok {
				break
			}
			var data []byte
			for i := n * ledger.TileWidth; i < n*ledger.TileWidth+int64(tile.W); i++ {
				if level == ledger.Entries {
					if data, err = ledger.AppendEntry(data, texts[i]); err != nil {
						t.Fatal(err)
					}
					continue
				}
				data = append(data, rows[level][i][:]...)
			}
			writeFile(t, dir, ledger.TilePath(tile), data)
		}
	}
}

func writeFile(t *testing.T, dir, path string, data []byte) {
	t.Helper()
	path = filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
