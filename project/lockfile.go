package project

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// lockWire is the file. Each entry is sealed by itself, and nothing in the file follows from several of them, so that
// version control merges what two branches changed where the entries differ.
type lockWire struct {
	Version int                     `json:"lockfile_version"`
	Facets  map[string]sealedFacet  `json:"facets,omitempty"`
	Servers map[string]sealedServer `json:"servers"`
}

type sealedFacet struct {
	Self digest.Digest `json:"self"`
	FacetLock
}

type sealedServer struct {
	Self digest.Digest `json:"self"`
	ServerLock
}

// Encode writes the lock: JSON, sorted, one value a line.
func (l *Lock) Encode() ([]byte, error) {
	w := lockWire{Version: LockVersion, Facets: map[string]sealedFacet{}, Servers: map[string]sealedServer{}}
	for name, f := range l.facets {
		self, err := seal("facets", name, f)
		if err != nil {
			return nil, err
		}
		w.Facets[name] = sealedFacet{self, f}
	}
	for name, s := range l.servers {
		s = s.withEmptyMembers() // which one of version 1 may lack
		self, err := seal("servers", name, s)
		if err != nil {
			return nil, err
		}
		w.Servers[name] = sealedServer{self, s}
	}
	return machine.MarshalIndented(w)
}

func seal(of, name string, entry any) (digest.Digest, error) {
	plain, err := machine.Marshal(entry)
	if err != nil {
		return digest.Digest{}, err
	}
	return machine.EntryDigest(of, name, plain)
}

// ParseLock reads hallmark.lock. An entry whose self digest is not that of its content
// was corrupted or edited carelessly, which is an integrity error; anything else wrong
// is a validation error.
func ParseLock(data []byte) (*Lock, error) {
	if len(data) > MaxLock {
		return nil, invalid(LockFile, fmt.Errorf("larger than %d bytes", MaxLock))
	}
	if HasConflict(data) {
		return nil, &evidence.Error{
			Subject: LockFile, Kind: evidence.Validation, Err: errors.New("has merge conflict markers"),
			Hint: "run 'hallmark lock merge'",
		}
	}
	l, err := decodeLock(data)
	if err != nil {
		return nil, err
	}
	if err := l.checkEntries(); err != nil {
		return nil, invalid(LockFile, err)
	}
	if err := l.checkVersion(); err != nil {
		return nil, invalid(LockFile, err)
	}
	return l, nil
}

// HasConflict reports whether data are a file in which version control left both sides of a conflict.
func HasConflict(data []byte) bool {
	return bytes.HasPrefix(data, []byte("<<<<<<< ")) || bytes.Contains(data, []byte("\n<<<<<<< "))
}

// decodeLock reads the members of a lock of a version that this build reads, and refuses one that is not as it was
// sealed.
func decodeLock(data []byte) (*Lock, error) {
	var is struct {
		Version int `json:"lockfile_version"`
	}
	if err := json.Unmarshal(data, &is); err != nil {
		return nil, evidence.Errorf(evidence.Validation, LockFile, "restore it from version control, such as by 'git "+
			"checkout -- "+LockFile+"'", cmp.Or(machine.CheckJSON(data), err))
	}
	switch is.Version {
	case 1, 2:
		return decodeOlder(data)
	case LockVersion:
	default:
		return nil, invalid(LockFile, fmt.Errorf("lockfile_version is %d; this build reads 1 to %d", is.Version,
			LockVersion))
	}
	var w lockWire
	if err := decodeSealed(data, &w, func() (sealedParts, error) { return entryParts(data) }); err != nil {
		return nil, err
	}
	l := &Lock{version: w.Version, facets: map[string]FacetLock{}}
	for name, f := range w.Facets {
		l.facets[name] = f.FacetLock
	}
	if w.Servers != nil {
		l.servers = map[string]ServerLock{}
	}
	for name, s := range w.Servers {
		l.servers[name] = s.ServerLock
	}
	return l, nil
}

// sealedParts are the parts of a lock that have a digest of themselves, by what a message calls them.
type sealedParts map[string]sealedPart

// sealedPart is the digest that a part names, as text, and the one that it has.
type sealedPart struct {
	self string
	is   digest.Digest
}

// entryParts returns the entries of a lock, each sealed by itself.
func entryParts(data []byte) (sealedParts, error) {
	if err := machine.CheckJSON(data); err != nil {
		return nil, err
	}
	var kinds struct {
		Facets  map[string]json.RawMessage `json:"facets"`
		Servers map[string]json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(data, &kinds); err != nil {
		return nil, err
	}
	parts := sealedParts{}
	for of, entries := range map[string]map[string]json.RawMessage{"facets": kinds.Facets, "servers": kinds.Servers} {
		for name, entry := range entries {
			var p sealedPart
			if err := p.read(entry, func() (digest.Digest, error) {
				return machine.EntryDigest(of, name, entry)
			}); err != nil {
				return nil, err
			}
			parts[LockFile+", "+of+", "+surface.Escape(name)] = p
		}
	}
	return parts, nil
}

// read reads the digest that data name, and has the one that they have computed.
func (p *sealedPart) read(data []byte, compute func() (digest.Digest, error)) (err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	p.self = string(members["self"])
	p.is, err = compute()
	return err
}

// decodeSealed reads data into w, a pointer to a file's wire, and refuses members that it does not have, and parts
// that are not as they were sealed. The digests of the parts are computed while data are decoded.
func decodeSealed(data []byte, w any, compute func() (sealedParts, error)) error {
	var (
		parts sealedParts
		exact error
		group errgroup.Group
	)
	group.Go(func() (err error) { // takes as long as decoding
		parts, err = compute()
		return err
	})
	group.Go(func() error {
		exact = surface.CheckMembers(data, w)
		return nil
	})
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	unread := d.Decode(w)
	if err := errors.Join(group.Wait(), unread); err != nil {
		return invalid(LockFile, err)
	}
	for _, subject := range slices.Sorted(maps.Keys(parts)) {
		if err := parts[subject].check(subject); err != nil {
			return err
		}
	}
	if exact != nil {
		return invalid(LockFile, exact)
	}
	return nil
}

// check refuses a part that is not as it was sealed.
func (p sealedPart) check(subject string) error {
	claim := evidence.Claim{
		Subject: subject, Scheme: evidence.Document, Authority: evidence.Lock, Where: "its self member",
	}
	var self digest.Digest
	if p.self != "" {
		if err := json.Unmarshal([]byte(p.self), &self); err != nil {
			return invalid(LockFile, err)
		}
	}
	if !self.IsZero() {
		claim.Want = []digest.Digest{self}
	}
	e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{p.is}, From: "its content"})
	if v := policy.Judge(policy.Check, policy.Settings{}, evidence.Report{e}); !v.Allowed() {
		return v.Err()
	}
	if err := machine.CheckSealSpelling([]byte(p.self), p.is); err != nil {
		return evidence.Errorf(evidence.Integrity, subject, "", err)
	}
	return nil
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
	for _, name := range l.Servers() { // no version was ever written otherwise
		if c := l.servers[name].Closure; c != nil && len(c.Trees) == 0 {
			return fmt.Errorf("%s: has no closure.trees", name)
		}
	}
	if l.version == 1 {
		return nil
	}
	if l.servers == nil {
		return errors.New("has no servers")
	}
	for _, name := range l.Servers() {
		if err := l.servers[name].checkMembers(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
