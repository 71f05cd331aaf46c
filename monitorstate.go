package hallmark

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
	"github.com/hallmark-mcp/hallmark/ledger"
)

// monitorState is what a monitor read of a log, from its first entry on.
type monitorState struct {
	Key   string
	Found []Anomaly
	// Tiles are the hashes of each level's last tile, while it is not full.
	Tiles [8][]tlog.Hash

	replay    *ledger.Replay
	head      ledger.Signed // everything was read of; the note may be of a larger tree that begins with it
	documents []byte        // 32 bytes an entry; zeros for one that is unreadable; see recorded
	statuses  []byte        // a byte an entry: 0 for what publishes nothing, else the status of what it publishes
}

// The bytes of monitorState.statuses.
const (
	noRecord = iota
	isActive
	isDeprecated
	isDeleted
)

var statusNames = map[byte]string{isActive: "active", isDeprecated: "deprecated", isDeleted: "deleted"}

// monitorWire is the first line of the state as it is written. After it come, without
// anything in between, the replay, the documents and the statuses: as JSON they would take
// several times the memory that reading the log takes.
type monitorWire struct {
	Version int       `json:"monitor_version"`
	Key     string    `json:"key"`
	Found   []Anomaly `json:"found"`
	Size    int64     `json:"size"`
	Root    []byte    `json:"root"`
	Note    string    `json:"checkpoint"` // of a tree that begins with size and root
	Tiles   [8][]byte `json:"tiles"`
	Replay  int64     `json:"replay_bytes"`
}

const monitorVersion = 1

// maxMonitorState bounds the file, in bytes: of some 20,000,000 entries.
const maxMonitorState = 2 << 30

// readMonitorState reads the state of the log with that key; without a file it is empty.
func readMonitorState(path, key string) (*monitorState, error) {
	s := &monitorState{Key: key, replay: new(ledger.Replay)}
	if path == "" {
		return s, nil
	}
	data, err := readFile(path, maxMonitorState)
	if data == nil || err != nil {
		return s, err
	}
	bad := func(err error) (*monitorState, error) {
		return nil, evidence.Errorf(evidence.Validation, path, "remove the file, and everything is read again", err)
	}
	var w monitorWire
	line, parts, _ := bytes.Cut(data, []byte("\n"))
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return bad(err)
	}
	if w.Version != monitorVersion {
		return bad(fmt.Errorf("monitor_version is %d; this build reads %d", w.Version, monitorVersion))
	}
	if w.Key != key {
		return nil, evidence.Errorf(evidence.Validation, path, "each log has a state of its own", errors.New("is the state of a log with another key"))
	}
	if w.Replay < 0 || w.Replay > int64(len(parts)) {
		return bad(errors.New("it is torn"))
	}
	if s.replay, err = ledger.ParseReplay(parts[:w.Replay]); err != nil {
		return bad(err)
	}
	parts = parts[w.Replay:]
	size := s.replay.Size()
	if w.Size != size || int64(len(parts)) != size*(sha256Size+1) || len(w.Root) != tlog.HashSize || tlog.Hash(w.Root) != s.replay.Root() {
		return bad(errors.New("its parts are not of one size"))
	}
	v, err := ledger.ParseVerifier(key)
	if err != nil {
		return bad(err)
	}
	s.head = ledger.Signed{Checkpoint: ledger.Checkpoint{Origin: v.Name(), Size: size, Root: s.replay.Root()}, Note: []byte(w.Note)}
	s.Found, s.documents, s.statuses = w.Found, parts[:size*sha256Size:size*sha256Size], parts[size*sha256Size:]
	for level, hashes := range w.Tiles {
		if int64(len(hashes)) != size>>(8*level)%ledger.TileWidth*tlog.HashSize {
			return bad(errors.New("its tiles are not of its size"))
		}
		for len(hashes) > 0 {
			s.Tiles[level] = append(s.Tiles[level], tlog.Hash(hashes[:tlog.HashSize]))
			hashes = hashes[tlog.HashSize:]
		}
	}
	return s, nil
}

const sha256Size = 32

// write replaces the file. What was read of a log that was not verified up to a
// checkpoint is never written: callers write after they verified.
func (s *monitorState) write(path string) error {
	if path == "" {
		return nil
	}
	if s.replay.Size() != s.head.Size {
		return errors.New("the monitor's state is not verified") // a mistake of ours
	}
	root, replay := s.replay.Root(), s.replay.Marshal()
	w := monitorWire{
		Version: monitorVersion, Key: s.Key, Found: s.Found, Size: s.head.Size, Root: root[:], Note: string(s.head.Note),
		Replay: int64(len(replay)),
	}
	for level, hashes := range s.Tiles {
		for _, h := range hashes {
			w.Tiles[level] = append(w.Tiles[level], h[:]...)
		}
	}
	line, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, slices.Concat(line, []byte("\n"), replay, s.documents, s.statuses), 0o600); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	return nil
}

// add reads the next entry.
func (s *monitorState) add(text []byte) (ledger.Leaf, *ledger.Fault) {
	leaf, fault := s.replay.Add(text)
	s.Tiles[0] = append(s.Tiles[0], tlog.RecordHash(text))
	var document [sha256Size]byte
	status := byte(noRecord)
	if fault == nil || fault.What != ledger.Unreadable {
		copy(document[:], recorded(leaf.Kind, leaf.Document, leaf.ContentIntegrity, leaf.APISurface).Bytes())
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

// recorded is what is remembered of a record: of a server its document, of an archive one
// digest of all that its entry says.
func recorded(kind ledger.Kind, document, integrity, api digest.Digest) digest.Digest {
	if kind == ledger.Server || !kind.Publishes() {
		return document
	}
	return digest.FromBytes([]byte(document.String() + " " + integrity.String() + " " + api.String()))
}

// document is the document of an entry, the zero Digest of one that is unreadable.
func (s *monitorState) document(index int64) digest.Digest {
	raw := s.documents[index*sha256Size : (index+1)*sha256Size]
	if bytes.Equal(raw, make([]byte, sha256Size)) {
		return digest.Digest{}
	}
	d, err := digest.New(digest.SHA256, raw)
	if err != nil {
		return digest.Digest{}
	}
	return d
}
