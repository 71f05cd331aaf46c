package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Limits of a keys file.
const (
	MaxKeysFile = 4 << 20 // bytes
	MaxKeys     = 1000
)

var keyID = spelling.Form(`^[A-Za-z0-9._-]{1,200}$`)

// TrustedKey is one trusted key.
type TrustedKey struct {
	ID        string
	Public    PublicKey
	Owner     string
	Added     time.Time
	NotBefore time.Time // zero: always was
	NotAfter  time.Time // zero: for ever
	Revoked   time.Time // zero: not revoked
	Reason    string    // of the revocation
}

// CheckUsable is nil if k may verify at the time now.
func (k TrustedKey) CheckUsable(now time.Time) error {
	switch {
	case !k.Revoked.IsZero():
		return ErrRevoked
	case !k.NotBefore.IsZero() && now.Before(k.NotBefore), !k.NotAfter.IsZero() && now.After(k.NotAfter):
		return ErrValidity
	}
	return nil
}

// TrustedKeys are the trusted keys, in the order in which they were added. The zero value
// trusts nobody.
type TrustedKeys struct{ keys []TrustedKey }

// All returns the keys.
func (s *TrustedKeys) All() []TrustedKey { return slices.Clone(s.keys) }

// Add trusts k. It refuses an id or a key that is there already, and more than [MaxKeys]. The error for one that was
// revoked wraps [ErrRevoked].
func (s *TrustedKeys) Add(k TrustedKey) error {
	if !keyID().MatchString(k.ID) {
		return fmt.Errorf("key id %+q: an id is 1 to 200 of [A-Za-z0-9._-]", clip(k.ID))
	}
	if k.Public.alg == "" {
		return fmt.Errorf("key %s: no public key", k.ID)
	}
	if !k.NotBefore.IsZero() && !k.NotAfter.IsZero() && k.NotAfter.Before(k.NotBefore) {
		return fmt.Errorf("key %s: ends before it begins", k.ID)
	}
	for _, other := range s.keys {
		var there error
		if other.ID == k.ID {
			there = fmt.Errorf("key id %s is there already", k.ID)
		} else if other.Public.text == k.Public.text {
			there = fmt.Errorf("key %s is there already, as %s", k.ID, other.ID)
		}
		if there != nil && !other.Revoked.IsZero() {
			there = fmt.Errorf("%w: %w", there, ErrRevoked)
		}
		if there != nil {
			return there
		}
	}
	if len(s.keys) == MaxKeys {
		return fmt.Errorf("more than %d keys", MaxKeys)
	}
	s.keys = append(s.keys, k)
	return nil
}

// Revoke ends the trust in the key with that id. A key that is revoked already keeps the time
// and the reason of its revocation. The error for an id that is not there wraps
// [ErrUnknown].
func (s *TrustedKeys) Revoke(id, reason string, now time.Time) error {
	for i, k := range s.keys {
		if k.ID != id {
			continue
		}
		if k.Revoked.IsZero() {
			s.keys[i].Revoked, s.keys[i].Reason = now, reason
		}
		return nil
	}
	return fmt.Errorf("%w has the id %+q", ErrUnknown, clip(id))
}

// Revoked returns the keys that were revoked.
func (s *TrustedKeys) Revoked() *TrustedKeys {
	return &TrustedKeys{slices.DeleteFunc(slices.Clone(s.keys), func(k TrustedKey) bool { return k.Revoked.IsZero() })}
}

// MergeRevoked revokes in s each key that revoked holds, and adds those that s does not
// hold: a key that was revoked once stays revoked even if a keys file forgets it.
func (s *TrustedKeys) MergeRevoked(revoked *TrustedKeys) {
	for _, gone := range revoked.keys {
		found := false
		for i, k := range s.keys {
			if k.Public.text == gone.Public.text && k.Revoked.IsZero() {
				s.keys[i].Revoked, s.keys[i].Reason = gone.Revoked, gone.Reason
			}
			found = found || k.Public.text == gone.Public.text || k.ID == gone.ID
		}
		if !found {
			s.keys = append(s.keys, gone)
		}
	}
}

// Verify returns the trusted key that made signature over message. With an id only the
// key of that id is tried, without one each usable key of the algorithm. The error
// wraps one of those of this package.
func (s *TrustedKeys) Verify(alg SignatureAlgorithm, id string, message, signature []byte,
	now time.Time) (TrustedKey, error) {
	if id != "" {
		i := slices.IndexFunc(s.keys, func(k TrustedKey) bool { return k.ID == id })
		if i < 0 {
			return TrustedKey{}, fmt.Errorf("%w has the id %+q", ErrUnknown, clip(id))
		}
		k := s.keys[i]
		if err := k.Public.Verify(alg, message, signature); err != nil {
			return TrustedKey{}, fmt.Errorf("key %s (%s): %w", k.ID, k.Public.alg, err)
		}
		if err := k.CheckUsable(now); err != nil {
			return TrustedKey{}, fmt.Errorf("key %s: %w", k.ID, err)
		}
		return k, nil
	}
	unusable := error(nil)
	for _, k := range s.keys {
		if k.Public.Verify(alg, message, signature) != nil {
			continue
		}
		if err := k.CheckUsable(now); err != nil {
			unusable = fmt.Errorf("key %s: %w", k.ID, err)
			continue
		}
		return k, nil
	}
	if unusable != nil {
		return TrustedKey{}, unusable
	}
	return TrustedKey{}, fmt.Errorf("%w made this signature", ErrUnknown)
}

// clip bounds text from outside that enters a message.

const keysVersion = 1

// keysWire is the JSON form of Keys.
type keysWire struct {
	Version int       `json:"version"`
	Keys    []keyWire `json:"keys"`
}

type keyWire struct {
	ID        string             `json:"id"`
	Algorithm SignatureAlgorithm `json:"algorithm,omitempty"` // for people; the key decides
	PublicKey string             `json:"public_key"`
	Owner     string             `json:"owner,omitempty"`
	Added     time.Time          `json:"added"`
	NotBefore *time.Time         `json:"not_before,omitempty"`
	NotAfter  *time.Time         `json:"not_after,omitempty"`
	Revoked   *time.Time         `json:"revoked,omitempty"`
	Reason    string             `json:"reason,omitempty"`
}

// Encode is the text of a keys file.
func (s *TrustedKeys) Encode() ([]byte, error) {
	w := keysWire{Version: keysVersion, Keys: []keyWire{}}
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC()
		return &t
	}
	for _, k := range s.keys {
		w.Keys = append(w.Keys, keyWire{
			ID: k.ID, Algorithm: k.Public.alg, PublicKey: k.Public.text, Owner: k.Owner, Added: k.Added.UTC(),
			NotBefore: at(k.NotBefore), NotAfter: at(k.NotAfter), Revoked: at(k.Revoked), Reason: k.Reason,
		})
	}
	data, err := json.MarshalIndent(w, "", "  ")
	return append(data, '\n'), err
}

// ParseTrustedKeys reads a keys file strictly: a member that this program does not know could be
// a revocation.
func ParseTrustedKeys(data []byte) (*TrustedKeys, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxKeysFile, Depth: 8}); err != nil {
		return nil, fmt.Errorf("keys file: %w", err)
	}
	var w keysWire
	if err := surface.Decode(data, &w); err != nil {
		return nil, fmt.Errorf("keys file: %w", err)
	}
	if w.Version != keysVersion {
		return nil, fmt.Errorf("keys file: version %d; this program reads %d", w.Version, keysVersion)
	}
	at := func(t *time.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return *t
	}
	s := new(TrustedKeys)
	for _, k := range w.Keys {
		public, err := ParsePublicKey(k.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("keys file: key %+q: %w", clip(k.ID), err)
		}
		if k.Algorithm != "" && k.Algorithm != public.alg {
			return nil, fmt.Errorf("keys file: key %+q: %w", clip(k.ID), ErrAlgorithm)
		}
		err = s.Add(TrustedKey{
			ID: k.ID, Public: public, Owner: k.Owner, Added: k.Added,
			NotBefore: at(k.NotBefore), NotAfter: at(k.NotAfter), Revoked: at(k.Revoked), Reason: k.Reason,
		})
		if err != nil {
			return nil, fmt.Errorf("keys file: %w", err)
		}
	}
	return s, nil
}
