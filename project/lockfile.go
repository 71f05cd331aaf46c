package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/sealed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// lockWire is the file.
type lockWire struct {
	Version int                   `json:"lockfile_version"`
	Self    digest.Digest         `json:"self"`
	Logs    map[string]string     `json:"logs,omitempty"`
	Facets  map[string]FacetLock  `json:"facets,omitempty"`
	Servers map[string]ServerLock `json:"servers"`
}

// Encode writes the lock: JSON, sorted, one value a line.
func (l *Lock) Encode() ([]byte, error) {
	w := lockWire{Version: LockVersion, Servers: l.servers, Facets: l.facets, Logs: l.provenLogs()}
	if w.Servers == nil {
		w.Servers = map[string]ServerLock{} // written as {}, not null
	}
	return sealed.Encode(&w, &w.Self)
}

// ParseLock reads hallmark.lock. A lock whose self digest is not that of its content
// was corrupted or edited carelessly, which is an integrity error; anything else wrong
// is a validation error.
func ParseLock(data []byte) (*Lock, error) {
	if len(data) > MaxLock {
		return nil, invalid(LockFile, fmt.Errorf("larger than %d bytes", MaxLock))
	}
	if bytes.HasPrefix(data, []byte("<<<<<<< ")) || bytes.Contains(data, []byte("\n<<<<<<< ")) {
		return nil, &evidence.Error{
			Subject: LockFile, Kind: evidence.Validation, Err: errors.New("has merge conflict markers"),
			Hint: "take either side, then run 'hallmark pin' for the servers " +
				"and 'hallmark install' for the facets that differ",
		}
	}
	w, err := decodeLock(data)
	if err != nil {
		return nil, err
	}
	l := &Lock{version: w.Version, servers: w.Servers, facets: w.Facets, logs: w.Logs}
	if err := l.checkEntries(); err != nil {
		return nil, invalid(LockFile, err)
	}
	if err := l.checkVersion(); err != nil {
		return nil, invalid(LockFile, err)
	}
	return l, nil
}

// decodeLock reads the members of a lock of a version that this build reads, and refuses one that is not as it was
// sealed.
func decodeLock(data []byte) (w lockWire, err error) {
	var (
		self          digest.Digest
		unread, exact error
		group         errgroup.Group
	)
	group.Go(func() (err error) { // takes as long as decoding
		self, err = sealed.DigestOf(data)
		return err
	})
	group.Go(func() error {
		exact = surface.CheckMembers(data, lockWire{})
		return nil
	})
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	unread = d.Decode(&w)
	if err := group.Wait(); err != nil {
		return w, invalid(LockFile, err)
	}
	if unread != nil { // another version has other members
		var version struct {
			Version int `json:"lockfile_version"`
		}
		if err := json.Unmarshal(data, &version); err != nil {
			return w, invalid(LockFile, err)
		}
		w.Version = version.Version
	}
	if w.Version != LockVersion && w.Version != 1 {
		return w, invalid(LockFile,
			fmt.Errorf("lockfile_version is %d; this build reads 1 and %d", w.Version, LockVersion))
	}
	if unread != nil {
		return w, invalid(LockFile, unread)
	}
	claim := evidence.Claim{
		Subject: LockFile, Scheme: evidence.Document, Authority: evidence.Lock, Where: "its self member",
	}
	if !w.Self.IsZero() {
		claim.Want = []digest.Digest{w.Self}
	}
	e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{self}, From: "its content"})
	if v := policy.Judge(policy.Check, policy.Settings{}, evidence.Report{e}); !v.Allowed() {
		return w, v.Err()
	}
	if err := sealed.CheckSpelling(data, self); err != nil {
		return w, evidence.Errorf(evidence.Integrity, LockFile, "", err)
	}
	if exact != nil {
		return w, invalid(LockFile, exact)
	}
	return w, nil
}

// checkEntries completes the entries and refuses one that Hallmark would not have written.
func (l *Lock) checkEntries() error {
	for _, name := range l.Servers() {
		if CheckServerName(name) != nil {
			return fmt.Errorf("%+q cannot be the name of a server", name)
		}
		l.servers[name] = l.servers[name].complete()
		if err := l.servers[name].check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range l.Facets() {
		if err := l.facets[name].check(name); err != nil {
			return fmt.Errorf("%+q: %w", name, err)
		}
	}
	return nil
}

// checkVersion refuses a lock that lacks what its version promises. A member that is missing
// from a lock of a later version was removed: it is not a sign of age.
func (l *Lock) checkVersion() error {
	if l.version == 1 {
		if l.logs != nil {
			return errors.New("has logs, which lockfile_version 1 does not have")
		}
		l.logs = l.provenLogs() // what it says of them
		for _, name := range l.Servers() {
			if c := l.servers[name].Closure; c != nil && len(c.Trees) == 0 { // no version was ever written so
				return fmt.Errorf("%s: has no closure.trees", name)
			}
		}
		return nil
	}
	if l.servers == nil {
		return errors.New("has no servers")
	}
	if !maps.Equal(l.provenLogs(), l.logs) {
		return errors.New("its logs are not those of its proofs")
	}
	for _, name := range l.Servers() {
		if err := l.servers[name].checkMembers(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
