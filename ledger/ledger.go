// Package ledger holds the formats of a registry's append-only log: leaves,
// signed checkpoints, proofs, tiles, and the replay of a whole log.
//
// # Leaf
//
// A leaf is what the log says of one event, as canonical JSON (RFC 8785) of at
// most 65,535 bytes:
//
//	v                  1
//	kind               server, artifact, facet, plugin, status or finding
//	of                 status and finding only: the kind of what they are about
//	name, version      what was published
//	content_integrity  optional, of the four publishing kinds: sha256:<hex>
//	api_surface        optional, of the four publishing kinds: sha256:<hex>
//	document           sha256:<hex> of the canonical manifest; of a status, of
//	                   {"message":…,"status":…}; of a finding, of its evidence
//	publisher          the subject that did it, never empty
//	status             status only: active, deprecated or deleted
//	at                 UTC with a second's precision, 2026-11-20T08:00:00Z
//
// There is one encoding of a leaf, and only that one is read. A log holds at
// most one leaf of a publishing kind for one (kind, name, version).
//
// # Tree, checkpoint, proof
//
// The leaves form an RFC 6962 Merkle tree with SHA-256. A checkpoint is
// a signed note (C2SP tlog-checkpoint) under the log's Ed25519 key, whose name
// is the log's origin:
//
//	registry.example.com
//	70000
//	<base64 of the root>
//
//	— registry.example.com <base64 of key id and signature>
//
// Witnesses add cosignatures (C2SP tlog-cosignature, Ed25519 or ML-DSA-44). A
// proof is a C2SP tlog-proof whose extra line is the leaf:
//
//	c2sp.org/tlog-proof@v1
//	extra <base64 of the leaf>
//	index 69999
//	<base64 of a hash>, at most 63 lines
//
//	<checkpoint>
//
// # Tiles
//
// The tree is served as C2SP tlog-tiles: tile/L/N and tile/L/N.p/W with up to
// 256 hashes, tile/entries/N and tile/entries/N.p/W with up to 256 leaves, each
// after its length as a big-endian uint16. N is written in groups of three
// digits, all but the last with an x: x001/x234/067.
//
// The vectors are in spec/ledger.json. This package does no I/O: what it needs
// to read is given as a function.
package ledger

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Limits of what is read.
const (
	MaxLeaf       = 65535    // bytes of a leaf
	MaxCheckpoint = 64 << 10 // bytes of a checkpoint with all its signatures
	MaxSize       = 1 << 53  // leaves of a log
	MaxHashes     = 63       // hashes of a proof
	MaxProof      = 256 << 10
)

// ErrMalformed is wrapped by every error about bytes that cannot be read.
var ErrMalformed = errors.New("malformed")

// ErrFork is wrapped by every error that says that a log contradicts itself or
// what it said before: bytes that do not hash to what a checkpoint commits to,
// and checkpoints that no one tree has.
var ErrFork = errors.New("the log is not append-only")

// ErrSignature says that a checkpoint is not signed as it must be.
var ErrSignature = errors.New("not signed as required")

func malformedError(format string, args ...any) error {
	return fmt.Errorf("%w %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// parseSize reads a number as the C2SP formats write it: decimal, no sign and
// no leading zero, at most [MaxSize].
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > MaxSize || strconv.FormatInt(n, 10) != s {
		return 0, malformedError("number %+.40q", s)
	}
	return n, nil
}

// parseHash reads a hash as the C2SP formats write it, in its one encoding.
func parseHash(s string) (tlog.Hash, error) {
	raw, ok := decodeBase64(s)
	if !ok || len(raw) != tlog.HashSize {
		return tlog.Hash{}, malformedError("hash %+.60q", s)
	}
	return tlog.Hash(raw), nil
}

// decodeBase64 reads the one encoding that bytes have: padded, with nothing in the bits
// that are left over, and without the line ends that the decoder would pass over.
func decodeBase64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	return raw, err == nil
}
