package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Logs is what this machine knows of the logs of registries. It lies in the state
// directory, not in the store: emptying a cache must not make a machine forget what it
// was shown. It is one file for all projects of a user, so that a log which shows one
// project another history than another is found out.
type Logs struct {
	Version int `json:"logs_version"`
	// Registries are those that have been seen with a log, by [Registry.Name].
	Registries map[string]LogKey `json:"registries"`
	// Checkpoints are the newest that were seen, as signed notes, by the log's key.
	Checkpoints map[string]string `json:"checkpoints"`
}

// LogKey is the key of a registry's log, and since when it is relied on.
type LogKey struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
}

const logsVersion = 1

// MaxLogs bounds the file, in bytes.
const MaxLogs = 16 << 20

// ParseLogs reads the file; nil data gives an empty one. A file that is damaged is an
// error: reading it as empty would forget what was seen.
func ParseLogs(data []byte) (*Logs, error) {
	l := &Logs{Version: logsVersion, Registries: map[string]LogKey{}, Checkpoints: map[string]string{}}
	if data == nil {
		return l, nil
	}
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxLogs, Depth: 8}); err != nil {
		return nil, err
	}
	var read Logs
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return nil, err
	}
	if read.Version != logsVersion {
		return nil, fmt.Errorf("logs_version is %d; this build reads %d", read.Version, logsVersion)
	}
	if read.Registries == nil || read.Checkpoints == nil {
		return nil, errors.New("has no registries or no checkpoints")
	}
	for _, k := range read.Registries {
		if _, err := ledger.ParseVerifier(k.Key); err != nil {
			return nil, err
		}
	}
	for key, note := range read.Checkpoints {
		if _, err := openKept(key, note); err != nil {
			return nil, err
		}
	}
	return &read, nil
}

// Newest is the newest checkpoint that was seen of the log with that key; false if
// none was.
func (l *Logs) Newest(key string) (ledger.Signed, bool) {
	note, ok := l.Checkpoints[key]
	if !ok {
		return ledger.Signed{}, false
	}
	s, err := openKept(key, note)
	return s, err == nil
}

func openKept(key, note string) (ledger.Signed, error) {
	trust, err := ledger.NewTrust(key, nil, 0)
	if err != nil {
		return ledger.Signed{}, err
	}
	return trust.Open([]byte(note))
}

// Encode is the file's JSON.
func (l *Logs) Encode() ([]byte, error) { return indented(l) }
