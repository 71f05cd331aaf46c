package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// benchLog measures a monitor that replays a log of many entries from a directory, and the
// verification of a proof in it. The reference of the monitor is the mere reading and
// hashing of the same entries with the packages of transparency-dev.
func benchLog(ctx context.Context, o options, t *table) error {
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	key, proof, err := writeLog(dir, int64(o.log))
	if err != nil {
		return err
	}
	h := &host.Host{Places: host.Places{State: filepath.Join(dir, "state")}, Sending: new(host.Sending),
		Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	var ours, reference []float64
	for range o.rounds {
		began := time.Now()
		m, err := monitor.Monitor(ctx, h, monitor.Options{From: dir, Log: trail.Options{Key: key}})
		if err != nil {
			return err
		}
		if m.Read != int64(o.log) {
			return fmt.Errorf("the monitor read %d entries", m.Read)
		}
		ours = append(ours, float64(o.log)/time.Since(began).Seconds())
		began = time.Now()
		if err := rehash(dir, int64(o.log)); err != nil {
			return err
		}
		reference = append(reference, float64(o.log)/time.Since(began).Seconds())
	}
	a, b := median(ours), median(reference)
	t.add(fmt.Sprintf("LOG monitor, %d entries", o.log), fmt.Sprintf("%.0f/s", a),
		fmt.Sprintf("%.0f/s read and hashed only", b), fmt.Sprintf("%.2f×", a/b), "–")

	trust, err := ledger.NewTrust(key, nil, 0)
	if err != nil {
		return err
	}
	text := proof.Marshal()
	checked, opened := 0, 0
	for end := time.Now().Add(o.time); time.Now().Before(end); checked++ {
		p, err := ledger.ParseProof(text)
		if err == nil {
			_, err = p.Verify(trust)
		}
		if err != nil {
			return err
		}
	}
	for end := time.Now().Add(o.time); time.Now().Before(end); opened++ {
		if _, err := trust.Open(proof.Checkpoint); err != nil {
			return err
		}
	}
	t.add(fmt.Sprintf("LOG proof verified, %d entries", o.log),
		fmt.Sprintf("%.0f/s, %d bytes", float64(checked)/o.time.Seconds(), len(text)),
		fmt.Sprintf("%.0f/s its signature only", float64(opened)/o.time.Seconds()),
		fmt.Sprintf("%.2f×", float64(checked)/float64(opened)), "–")
	return nil
}

// writeLog writes a log's files, and returns its verifier key and a proof.
func writeLog(dir string, size int64) (key string, proof ledger.Proof, err error) {
	secret, _, err := ledger.GenerateKey(rand.Reader, "log.example.com")
	if err != nil {
		return "", proof, err
	}
	signer, err := ledger.ParseKey(secret)
	if err != nil {
		return "", proof, err
	}
	put := func(path string, data []byte) error { return put(filepath.Join(dir, filepath.FromSlash(path)), data) }
	hashes := memory{}
	var bundle []byte
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for i := range size {
		name := fmt.Sprintf("io.github.acme%d/notes", i/4)
		leaf, err := ledger.Leaf{
			Kind: ledger.Server, Name: name, Version: fmt.Sprintf("1.0.%d", i%4),
			Document: digest.FromBytes([]byte(name)), Publisher: "github:acme", At: at,
		}.Marshal()
		if err != nil {
			return "", proof, err
		}
		if i == size/3 {
			proof.Leaf, proof.Index = leaf, i
		}
		more, err := tlog.StoredHashes(i, leaf, &hashes)
		if err != nil {
			return "", proof, err
		}
		hashes = append(hashes, more...)
		if bundle, err = ledger.AppendEntry(bundle, leaf); err != nil {
			return "", proof, err
		}
		if (i+1)%ledger.TileWidth == 0 || i+1 == size {
			t, _ := ledger.NewTile(ledger.Entries, i/ledger.TileWidth, size)
			if err := put(ledger.TilePath(t), bundle); err != nil {
				return "", proof, err
			}
			bundle = bundle[:0]
		}
	}
	for level := range 8 {
		for n := int64(0); ; n++ {
			t, ok := ledger.NewTile(level, n, size)
			if !ok {
				break
			}
			data, err := tlog.ReadTileData(t, &hashes)
			if err == nil {
				err = put(ledger.TilePath(t), data)
			}
			if err != nil {
				return "", proof, err
			}
		}
	}
	root, err := tlog.TreeHash(size, &hashes)
	if err != nil {
		return "", proof, err
	}
	if proof.Hashes, err = tlog.ProveRecord(size, proof.Index, &hashes); err != nil {
		return "", proof, err
	}
	if proof.Checkpoint, err = (ledger.Checkpoint{Origin: signer.Name(), Size: size, Root: root}).Sign(
		signer); err != nil {
		return "", proof, err
	}
	return signer.VerifierKey, proof, put("checkpoint", proof.Checkpoint)
}

// memory holds the stored hashes of a tree.
type memory []tlog.Hash

func (m *memory) ReadHashes(indexes []int64) (out []tlog.Hash, err error) {
	for _, i := range indexes {
		out = append(out, (*m)[i])
	}
	return out, nil
}

// rehash reads every entry and computes the root.
func rehash(dir string, size int64) error {
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for n := int64(0); ; n++ {
		t, ok := ledger.NewTile(ledger.Entries, n, size)
		if !ok {
			_, err := tree.GetRootHash(nil)
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(ledger.TilePath(t))))
		if err != nil {
			return err
		}
		leaves, err := ledger.SplitBundle(data, t.W)
		if err != nil {
			return err
		}
		for _, leaf := range leaves {
			if err := tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil); err != nil {
				return err
			}
		}
	}
}
