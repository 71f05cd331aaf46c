package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// publish is the leaf of one version of a server, as a registry would log it.
func publish(version string) []byte {
	leaf, err := ledger.Leaf{
		Kind: ledger.Server, Name: "io.github.acme/notes", Version: version, Publisher: "github:acme",
		Document: digest.FromBytes([]byte(version)), At: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
	}.Marshal()
	if err != nil {
		panic(err)
	}
	return leaf
}

// memoryLog holds the hashes of a log's tree by their indexes.
type memoryLog struct {
	entries [][]byte
	hashes  []tlog.Hash
}

// newLog is a log of these versions.
func newLog(versions ...string) *memoryLog {
	l := new(memoryLog)
	for i, v := range versions {
		leaf := publish(v)
		hashes, err := tlog.StoredHashes(int64(i), leaf, l)
		if err != nil {
			panic(err)
		}
		l.entries, l.hashes = append(l.entries, leaf), append(l.hashes, hashes...)
	}
	return l
}

func (l *memoryLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		out[i] = l.hashes[index]
	}
	return out, nil
}

// checkpoint is the head of the log when it had its first size entries.
func (l *memoryLog) checkpoint(size int64) ledger.Checkpoint {
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		panic(err)
	}
	return ledger.Checkpoint{Origin: "registry.example.com", Size: size, Root: root}
}

// Check that a version was logged, by a proof that needs neither the log nor a network.
func ExampleProof_Verify() {
	key, err := ledger.NewKey("registry.example.com", bytes.Repeat([]byte{7}, 32))
	if err != nil {
		fmt.Println(err)
		return
	}
	log := newLog("1.0.0", "1.1.0", "1.2.0")
	hashes, err := tlog.ProveRecord(3, 1, log)
	if err != nil {
		fmt.Println(err)
		return
	}
	checkpoint, err := log.checkpoint(3).Sign(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	text := ledger.Proof{Leaf: log.entries[1], Index: 1, Hashes: hashes, Checkpoint: checkpoint}.Marshal()

	// Whoever verifies the proof knows the log's public key only.
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	proof, err := ledger.ParseProof(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	proven, err := proof.Verify(trust)
	fmt.Println(proven.Leaf.Subject(), "is entry", proven.Index, err)

	proof.Index = 2
	_, err = proof.Verify(trust)
	fmt.Println(errors.Is(err, ledger.ErrFork))
	// Output:
	// server io.github.acme/notes@1.1.0 is entry 1 <nil>
	// true
}

// Check that a log only grew since it was seen last.
func ExampleCheckConsistency() {
	log := newLog("1.0.0", "1.1.0", "1.2.0")
	proof, err := tlog.ProveTree(3, 2, log)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ledger.CheckConsistency(log.checkpoint(2), log.checkpoint(3), proof))

	rewritten := newLog("1.0.0", "1.1.1", "1.2.0")
	fmt.Println(ledger.CheckConsistency(log.checkpoint(2), rewritten.checkpoint(3), proof))
	// Output:
	// <nil>
	// the log is not append-only: the tree of 3 entries does not begin with that of 2
}

// Read a whole log, find what it must not hold, and compare it with its checkpoint.
func ExampleReplay() {
	log := newLog("1.0.0", "1.1.0", "1.0.0")
	var replay ledger.Replay
	for _, entry := range log.entries {
		if _, fault := replay.Add(entry); fault != nil {
			fmt.Println(fault)
		}
	}
	fmt.Println(replay.Check(log.checkpoint(3)))
	index, ok := replay.Find(ledger.Server, "io.github.acme/notes", "1.1.0")
	fmt.Println(index, ok)
	// Output:
	// entry 2: "server io.github.acme/notes@1.0.0" was published before, in entry 0
	// <nil>
	// 1 true
}
