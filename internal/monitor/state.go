package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// State is what a monitor keeps of a log that it read from its first entry on.
type State struct {
	Key   string    // verifier key of the log
	Found []Anomaly // of all runs
	// Tiles holds the hashes of each level's last tile while the tile is not full.
	Tiles [8][]tlog.Hash

	replay     *ledger.Replay
	head       ledger.Signed // of all entries that were read; its note may be of a larger tree that begins with them
	documents  []byte        // 32 bytes for each entry, zeros for an unreadable one; see recordDigest
	nextReread int64         // bundle that the next round reads again
	isNew      bool          // there was no file
	statuses   []byte        // one byte for each entry: noRecord, or the status of the record that it publishes
}

// The bytes of State.statuses.
const (
	noRecord = iota
	isActive
	isDeprecated
	isDeleted
)

var statusNames = map[byte]string{isActive: "active", isDeprecated: "deprecated", isDeleted: "deleted"}

// Wire is the first line of a state file. The replay, the documents and the statuses follow it
// without anything in between: as JSON they would take several times the memory that reading the
// log takes. Every member must be present.
type Wire struct {
	Version int       `json:"monitor_version"`
	Key     string    `json:"key"`
	Found   []Anomaly `json:"found"`
	Size    int64     `json:"size"`
	Root    []byte    `json:"root"`
	Note    string    `json:"checkpoint"` // of a tree that begins with size and root
	Tiles   [8][]byte `json:"tiles"`
	Replay  int64     `json:"replay_bytes"`
	Next    int64     `json:"reread_next"` // since version 2
	// since version 2, of the file with "" here: a file that was edited is malformed
	Digest string `json:"digest"`
}

// StateVersion is the version that this build writes. It reads version 1 too, which lacks
// reread_next and digest.
const StateVersion = 2

// Members returns the names of a line's members in that version.
func (Wire) Members(version int) []string {
	all := []string{"monitor_version", "key", "found", "size", "root", "checkpoint", "tiles", "replay_bytes",
		"reread_next", "digest"}
	if version == 1 {
		return all[:8]
	}
	return all
}

// maxState bounds the state file, in bytes: about 20,000,000 entries.
const maxState = 2 << 30

// ReadState reads the state of the log with that key. Without a file the state is empty.
func ReadState(path, key string) (*State, error) {
	s := &State{Key: key, replay: new(ledger.Replay), isNew: true}
	if path == "" {
		return s, nil
	}
	data, err := host.ReadFile(path, maxState)
	if data == nil || err != nil {
		return s, err
	}
	w, parts, err := parseWire(data)
	if err == nil && w.Key != key {
		return nil, evidence.Errorf(evidence.Validation, path,
			"each log has a state of its own: name another file with --state",
			errors.New("is the state of a log with another key"))
	}
	if err == nil {
		s, err = w.parse(parts)
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path,
			"restore it from a backup; without it everything is read again, and what was found before is forgotten",
			err)
	}
	return s, nil
}

// parseWire splits a file into its line and the parts after it. A missing member is an error:
// otherwise a removed one would read as if nothing had been found.
func parseWire(data []byte) (w Wire, parts []byte, err error) {
	line, parts, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return w, nil, errors.New("it is empty or torn")
	}
	if err := surface.CheckJSON(line, surface.Limits{Size: maxState, Depth: 8}); err != nil {
		return w, nil, err
	}
	var there map[string]json.RawMessage
	if err := json.Unmarshal(line, &there); err != nil {
		return w, nil, err
	}
	if err := json.Unmarshal(there["monitor_version"], &w.Version); err != nil || w.Version < 1 ||
		w.Version > StateVersion {
		return w, nil, fmt.Errorf("monitor_version is %.20q; this build reads 1 to %d", there["monitor_version"],
			StateVersion)
	}
	for _, name := range w.Members(w.Version) {
		if raw, ok := there[name]; !ok || string(raw) == "null" && (w.Version > 1 || name != "found") {
			return w, nil, fmt.Errorf("has no %s", name)
		}
	}
	if len(there) != len(w.Members(w.Version)) {
		return w, nil, errors.New("has members that its version does not have")
	}
	var tiles []json.RawMessage
	if err := json.Unmarshal(there["tiles"], &tiles); err != nil || len(tiles) != len(w.Tiles) {
		return w, nil, errors.New("has not the tiles of each level")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return w, nil, err
	}
	if w.Version == 1 {
		return w, parts, nil
	}
	claimed := w.Digest
	w.Digest = ""
	blank, err := json.Marshal(w)
	if err != nil {
		return w, nil, err
	}
	if StateDigest(blank, parts) != claimed {
		return w, nil, errors.New("it was changed after it was written")
	}
	return w, parts, nil
}

// StateDigest is the digest of a line without one, and of the parts after it.
func StateDigest(line []byte, parts ...[]byte) string {
	h := digest.NewHasher(digest.SHA256)
	h.Write(line)
	h.Write([]byte("\n"))
	for _, part := range parts {
		h.Write(part)
	}
	return h.Digest(digest.SHA256).String()
}

// parse makes a State of a line and the parts after it, and checks that they fit each other.
func (w Wire) parse(parts []byte) (*State, error) {
	s := &State{Key: w.Key, Found: w.Found, nextReread: w.Next}
	if w.Replay < 0 || w.Replay > int64(len(parts)) || w.Next < 0 {
		return nil, errors.New("it is torn")
	}
	var err error
	if s.replay, err = ledger.ParseReplay(parts[:w.Replay]); err != nil {
		return nil, err
	}
	parts = parts[w.Replay:]
	size := s.replay.Size()
	if w.Size != size || int64(len(parts)) != size*(sha256Size+1) || len(w.Root) != tlog.HashSize ||
		tlog.Hash(w.Root) != s.replay.Root() {
		return nil, errors.New("its parts are not of one size")
	}
	trust, err := ledger.NewTrust(w.Key, nil, 0)
	if err != nil {
		return nil, err
	}
	if size > 0 || w.Note != "" { // nothing of an empty log is verified yet
		signed, err := trust.Open([]byte(w.Note))
		if err != nil {
			return nil, err
		}
		if signed.Size < size || signed.Size == size && signed.Root != s.replay.Root() {
			return nil, errors.New("its checkpoint is not of what was read")
		}
	}
	s.head = ledger.Signed{Checkpoint: ledger.Checkpoint{Origin: trust.Log.Name(), Size: size, Root: s.replay.Root()},
		Note: []byte(w.Note)}
	s.documents, s.statuses = parts[:size*sha256Size:size*sha256Size], parts[size*sha256Size:]
	for level, hashes := range w.Tiles {
		if int64(len(hashes)) != size>>(8*level)%ledger.TileWidth*tlog.HashSize {
			return nil, errors.New("its tiles are not of its size")
		}
		for len(hashes) > 0 {
			s.Tiles[level] = append(s.Tiles[level], tlog.Hash(hashes[:tlog.HashSize]))
			hashes = hashes[tlog.HashSize:]
		}
	}
	return s, nil
}

// sha256Size is the size of a kept digest, in bytes.
const sha256Size = 32

// Write replaces the state file. It fails unless all entries were verified against a checkpoint,
// so that the file never holds unverified entries.
func (s *State) Write(path string) error {
	if path == "" {
		return nil
	}
	if s.replay.Size() != s.head.Size {
		return errors.New("the monitor's state is not verified") // a programming error
	}
	root, replay := s.replay.Root(), s.replay.Marshal()
	w := Wire{
		Version: StateVersion, Key: s.Key, Found: s.Found, Size: s.head.Size, Root: root[:], Note: string(s.head.Note),
		Replay: int64(len(replay)), Next: s.nextReread,
	}
	if w.Found == nil {
		w.Found = []Anomaly{}
	}
	for level, hashes := range s.Tiles {
		w.Tiles[level] = []byte{} // which is "", and not null
		for _, h := range hashes {
			w.Tiles[level] = append(w.Tiles[level], h[:]...)
		}
	}
	blank, err := json.Marshal(w)
	if err != nil {
		return err
	}
	w.Digest = StateDigest(blank, replay, s.documents, s.statuses)
	line, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, slices.Concat(line, []byte("\n"), replay, s.documents, s.statuses),
		0o600); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	return nil
}

// addEntry adds the next entry to the replay, and keeps its digest and status.
func (s *State) addEntry(text []byte) (ledger.Leaf, *ledger.Fault) {
	leaf, fault := s.replay.Add(text)
	s.Tiles[0] = append(s.Tiles[0], tlog.RecordHash(text))
	var document [sha256Size]byte
	status := byte(noRecord)
	if fault == nil || fault.What != ledger.Unreadable {
		copy(document[:], recordDigest(leaf).Bytes())
	}
	if fault == nil {
		switch {
		case leaf.Kind.Publishes():
			status = isActive
		case leaf.Kind == ledger.Status:
			if i, ok := s.replay.Find(leaf.Of, leaf.Name, leaf.Version); ok && s.statuses[i] != noRecord {
				for b, name := range statusNames {
					if name == leaf.Status {
						s.statuses[i] = b
					}
				}
			}
		}
	}
	s.documents = append(s.documents, document[:]...)
	s.statuses = append(s.statuses, status)
	return leaf, fault
}

// recordDigest returns the digest that is kept of a record: the document's for a server, and one
// over all digests of its entry for an archive.
func recordDigest(l ledger.Leaf) digest.Digest {
	if l.Kind == ledger.Server || !l.Kind.Publishes() {
		return l.Document
	}
	all := l.Document.String() + " " + l.ContentIntegrity.String() + " " + l.APISurface.String()
	return digest.FromBytes([]byte(all))
}

// document returns the kept digest of an entry, the zero Digest for an unreadable one.
func (s *State) document(index int64) digest.Digest {
	raw := s.documents[index*sha256Size : (index+1)*sha256Size]
	if bytes.Equal(raw, make([]byte, sha256Size)) {
		return digest.Digest{}
	}
	d, _ := digest.New(digest.SHA256, raw) // of the right size
	return d
}
