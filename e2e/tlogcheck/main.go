// Tlogcheck verifies the log of a running registry with none of this module's packages:
// with those of transparency-dev and the specifications of C2SP only. It reads every
// entry, rebuilds the tree, compares the root with the checkpoint and every tile with the
// tree, and prints the entries, a line each. With more arguments it verifies files that
// hold proofs (C2SP tlog-proof) too.
//
//	tlogcheck URL KEY [PROOF...]
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: tlogcheck URL KEY [PROOF...]")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "tlogcheck:", err)
		os.Exit(1)
	}
}

var client = &http.Client{Timeout: 30 * time.Second}

func get(base, path string) ([]byte, error) {
	res, err := client.Get(base + "/" + path)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 32<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", path, res.StatusCode)
	}
	return body, err
}

// tilePath is the path of a tile: three digits at a time, an x before all but the last.
func tilePath(level string, n uint64, width uint64) string {
	path := fmt.Sprintf("%03d", n%1000)
	for n /= 1000; n > 0; n /= 1000 {
		path = fmt.Sprintf("x%03d/%s", n%1000, path)
	}
	if width < 256 {
		path += fmt.Sprintf(".p/%d", width)
	}
	return "tile/" + level + "/" + path
}

func check(base, key string, proofs []string) error {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	signed, err := get(base, "checkpoint")
	if err != nil {
		return err
	}
	head, _, _, err := log.ParseCheckpoint(signed, verifier.Name(), verifier)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	hasher := rfc6962.DefaultHasher
	tree := (&compact.RangeFactory{Hash: hasher.HashChildren}).NewEmptyRange(0)
	levels := make([][][]byte, 8) // hashes of each level of tiles
	visit := func(id compact.NodeID, hash []byte) {
		if id.Level%8 == 0 {
			levels[id.Level/8] = append(levels[id.Level/8], hash)
		}
	}
	for n := uint64(0); n*256 < head.Size; n++ {
		width := min(256, head.Size-n*256)
		bundle, err := get(base, tilePath("entries", n, width))
		if err != nil {
			return err
		}
		for range width {
			if len(bundle) < 2 || len(bundle) < 2+int(binary.BigEndian.Uint16(bundle)) {
				return fmt.Errorf("bundle %d ends early", n)
			}
			size := 2 + int(binary.BigEndian.Uint16(bundle))
			entry := bundle[2:size]
			bundle = bundle[size:]
			fmt.Printf("%s\n", entry)
			hash := hasher.HashLeaf(entry)
			visit(compact.NewNodeID(0, tree.End()), hash)
			if err := tree.Append(hash, func(id compact.NodeID, hash []byte) {
				if id.Level > 0 {
					visit(id, hash)
				}
			}); err != nil {
				return err
			}
		}
		if len(bundle) > 0 {
			return fmt.Errorf("bundle %d is too long", n)
		}
	}
	root := hasher.EmptyRoot()
	if head.Size > 0 {
		if root, err = tree.GetRootHash(nil); err != nil {
			return err
		}
	}
	if !bytes.Equal(root, head.Hash) {
		return fmt.Errorf("the entries make the root %x, the checkpoint says %x", root, head.Hash)
	}
	for level, hashes := range levels {
		for n := 0; n*256 < len(hashes); n++ {
			want := bytes.Join(hashes[n*256:min(len(hashes), (n+1)*256)], nil)
			tile, err := get(base, tilePath(strconv.Itoa(level), uint64(n), uint64(len(want)/32)))
			if err != nil {
				return err
			}
			if !bytes.Equal(tile, want) {
				return fmt.Errorf("tile %d of level %d is not made of the entries", n, level)
			}
		}
	}
	for _, name := range proofs {
		if err := checkProof(name, verifier); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Fprintf(os.Stderr, "tlogcheck: %d entries, %d proofs\n", head.Size, len(proofs))
	return nil
}

// checkProof verifies a tlog-proof whose extra line is the entry.
func checkProof(name string, verifier note.Verifier) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	body, signed, ok := strings.Cut(string(text), "\n\n")
	lines := strings.Split(body, "\n")
	if !ok || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return fmt.Errorf("no tlog-proof")
	}
	entry, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil {
		return err
	}
	index, err := strconv.ParseUint(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		return err
	}
	var hashes [][]byte
	for _, line := range lines[3:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			return err
		}
		hashes = append(hashes, h)
	}
	head, _, _, err := log.ParseCheckpoint([]byte(signed), verifier.Name(), verifier)
	if err != nil {
		return err
	}
	return proof.VerifyInclusion(rfc6962.DefaultHasher, index, head.Size, rfc6962.DefaultHasher.HashLeaf(entry), hashes,
		head.Hash)
}
