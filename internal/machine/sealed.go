package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MaxSealed bounds a sealed file, in bytes.
const MaxSealed = 64 << 20

var sealLimits = surface.Limits{Depth: 16, Size: MaxSealed}

// EncodeSealed is the JSON of v, indented, with a digest of itself: self, a member of v, is set to the sha256 of the
// canonical JSON of all others. It finds what was damaged or edited carelessly; anyone who writes such a file on
// purpose writes its digest too.
func EncodeSealed(v any, self *digest.Digest) ([]byte, error) {
	plain, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	if *self, err = DigestOf(plain); err != nil {
		return nil, err
	}
	return MarshalIndented(v)
}

// DecodeSealed reads a sealed file into to, and refuses members that to does not have. Whether it is as it was sealed
// says [CheckSeal].
func DecodeSealed(data []byte, to any) error {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxSealed, Depth: 8}); err != nil {
		return err
	}
	return surface.Decode(data, to)
}

// CheckSeal refuses data that was changed after it was sealed. Only white space between
// the tokens of JSON is not covered, which means nothing.
func CheckSeal(data []byte, self digest.Digest) error {
	d, err := DigestOf(data)
	switch {
	case err != nil:
		return err
	case !evidence.Same(self, d):
		return errors.New("was changed: its own digest does not hold")
	}
	return CheckSealSpelling(data, d)
}

// CheckSealSpelling refuses data in which its digest d is in capitals or has escapes, which reads just
// the same. Nothing else in the data can be its digest, as that follows from all else.
func CheckSealSpelling(data []byte, d digest.Digest) error {
	if !bytes.Contains(data, []byte(`"`+d.String()+`"`)) {
		return errors.New("its self member is not spelled as Hallmark writes it")
	}
	return nil
}

// DigestOf is the digest of the canonical JSON of a file without its self member. It is that
// of the bytes as they are, and not of what is read from them: a member whose name is
// spelled in capitals would be read just the same.
func DigestOf(data []byte) (digest.Digest, error) {
	canonical, err := surface.Canonical(data, sealLimits, "self")
	return digest.FromBytes(canonical), err
}

// EntryDigest is the digest of an entry that is sealed by itself, of a file that holds entries by name in its member
// of: of the canonical JSON {of: {name: entry}}, in which the entry has no self member.
func EntryDigest(of, name string, entry []byte) (digest.Digest, error) {
	canonical, err := surface.Canonical(entry, sealLimits, "self")
	if err != nil {
		return digest.Digest{}, err
	}
	at, err := Marshal(name)
	if err == nil {
		at, err = surface.Canonical(at, sealLimits)
	}
	h := digest.NewHasher()
	fmt.Fprintf(h, `{"%s":{%s:%s}}`, of, at, canonical)
	return h.Digest(digest.SHA256), err
}

// CheckJSON refuses data that parsers read differently.
func CheckJSON(data []byte) error { return surface.CheckJSON(data, sealLimits) }

// CanonicalDigest is the digest of the canonical JSON of v, which is made of strings, numbers and digests.
func CanonicalDigest(v any) digest.Digest {
	plain, err := Marshal(v)
	if err == nil {
		plain, err = surface.Canonical(plain, sealLimits)
	}
	if err != nil {
		panic(err) // such a value has a canonical form
	}
	return digest.FromBytes(plain)
}

// Marshal is json.Marshal without escapes of <, > and &.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// MarshalIndented is [Marshal] with two spaces a level and a final newline.
func MarshalIndented(v any) ([]byte, error) {
	plain, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, plain, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}
