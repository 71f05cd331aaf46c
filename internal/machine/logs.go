package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Logs is what this machine knows about the logs of registries. The file lies in the state
// directory, not in the store: emptying a cache must not remove what a log has shown. All projects
// of a user share one file, so that a log that shows them different histories is detected.
type Logs struct {
	Version int `json:"logs_version"`
	// Registries are the registries that were seen with a log, by their names in locks.
	Registries map[string]LogKey `json:"registries"`
	// Checkpoints are the newest ones that were seen, as signed notes, by the log's key: one for
	// each key of a registry and for each forgotten key, and no other.
	Checkpoints map[string]string `json:"checkpoints"`
	// Forgotten are keys that a person removed from their registry. The checkpoints of their logs
	// are kept.
	Forgotten []string `json:"forgotten"`
}

// LogKey is the key of a registry's log, and since when it is relied on.
type LogKey struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
}

// logsVersion is what this build writes. Version 1, which it reads too, has no forgotten: a
// checkpoint of a key that no registry has may have been forgotten there, or have lost it.
const logsVersion = 2

// MaxLogs is the largest file of [Logs], in bytes.
const MaxLogs = 16 << 20

// ParseLogs reads the file; nil data gives an empty one. A file that is damaged is an
// error: reading it as empty would forget what was seen.
func ParseLogs(data []byte) (*Logs, error) {
	l := &Logs{
		Version: logsVersion, Registries: map[string]LogKey{}, Checkpoints: map[string]string{}, Forgotten: []string{},
	}
	if data == nil {
		return l, nil
	}
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxLogs, Depth: 8}); err != nil {
		return nil, err
	}
	var read Logs
	if err := surface.Decode(data, &read); err != nil {
		return nil, err
	}
	if read.Version < 1 || read.Version > logsVersion {
		return nil, fmt.Errorf("logs_version is %d; this build reads 1 to %d", read.Version, logsVersion)
	}
	if err := read.check(); err != nil {
		return nil, err
	}
	if read.Version == 1 {
		read.Version, read.Forgotten = logsVersion, []string{}
		for _, key := range slices.Sorted(maps.Keys(read.Checkpoints)) {
			if !read.hasKey(key) {
				read.Forgotten = append(read.Forgotten, key)
			}
		}
	}
	return &read, nil
}

// check is an error unless each key has a checkpoint that was seen under it, and each checkpoint a key.
func (l *Logs) check() error {
	if l.Registries == nil || l.Checkpoints == nil || (l.Forgotten == nil) != (l.Version == 1) {
		return errors.New("has no registries, no checkpoints or no forgotten")
	}
	for name, k := range l.Registries {
		if _, err := ledger.ParseVerifier(k.Key); err != nil {
			return fmt.Errorf("%+.200q: %w", name, err)
		}
		if k.Since.IsZero() {
			return fmt.Errorf("%+.200q: has no since", name)
		}
		if _, ok := l.Checkpoints[k.Key]; !ok {
			return fmt.Errorf("%+.200q: has a key, and no checkpoint that was seen under it", name)
		}
	}
	for i, key := range l.Forgotten {
		if _, ok := l.Checkpoints[key]; !ok || l.hasKey(key) || slices.Contains(l.Forgotten[:i], key) {
			return fmt.Errorf("forgotten %+.200q: has no checkpoint, is relied on, or is there twice", key)
		}
	}
	for key, note := range l.Checkpoints {
		if _, err := openCheckpoint(key, note); err != nil {
			return err
		}
		if l.hasKey(key) || slices.Contains(l.Forgotten, key) {
			continue
		}
		if l.Version > 1 {
			return fmt.Errorf("has a checkpoint of %+.200q, and no registry that has or had the key", key)
		}
	}
	return nil
}

// hasKey reports whether a registry has the key.
func (l *Logs) hasKey(key string) bool {
	for _, k := range l.Registries {
		if k.Key == key {
			return true
		}
	}
	return false
}

// Rely stores that the registry called name has a log with the key, and newest as the newest
// checkpoint of that log that was seen.
func (l *Logs) Rely(name, key string, since time.Time, newest string) {
	if _, known := l.Registries[name]; !known {
		l.Registries[name] = LogKey{Key: key, Since: since}
	}
	l.Checkpoints[key] = newest
	l.Forgotten = slices.DeleteFunc(l.Forgotten, func(k string) bool { return l.hasKey(k) })
	if !l.hasKey(key) && !slices.Contains(l.Forgotten, key) { // the registry of that name has another
		l.Forgotten = append(l.Forgotten, key)
	}
}

// Forget removes the key of the registry called name, and returns it; "" if it has none.
func (l *Logs) Forget(name string) (key string) {
	key = l.Registries[name].Key
	delete(l.Registries, name)
	if key != "" && !l.hasKey(key) {
		l.Forgotten = append(l.Forgotten, key)
	}
	return key
}

// Newest returns the newest checkpoint that was seen of the log with that key; false if there is
// none.
func (l *Logs) Newest(key string) (ledger.Signed, bool) {
	note, ok := l.Checkpoints[key]
	if !ok {
		return ledger.Signed{}, false
	}
	s, err := openCheckpoint(key, note)
	return s, err == nil
}

// openCheckpoint reads a checkpoint that was seen, signed with the key of its log.
func openCheckpoint(key, note string) (ledger.Signed, error) {
	trust, err := ledger.NewTrust(key, nil, 0)
	if err != nil {
		return ledger.Signed{}, err
	}
	return trust.Open([]byte(note))
}

// Encode returns the file's JSON.
func (l *Logs) Encode() ([]byte, error) { return MarshalIndented(l) }
