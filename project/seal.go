package project

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// seal is the JSON of v, whose member self is set to the digest of all others.
func seal(v any, self *digest.Digest) ([]byte, error) {
	plain, err := marshal(v)
	if err != nil {
		return nil, err
	}
	if *self, err = selfOf(plain); err != nil {
		return nil, err
	}
	return marshalIndented(v)
}

// ownLimits bound what is written here, and what of a lock is sealed.
var ownLimits = surface.Limits{Depth: 16, Size: MaxLock}

// checkSelf refuses data that was changed after it was sealed. Only white space between
// the tokens of JSON is not covered, which means nothing.
func checkSelf(data []byte, self digest.Digest) error {
	d, err := selfOf(data)
	switch {
	case err != nil:
		return err
	case !evidence.Same(self, d):
		return errors.New("was changed: its own digest does not hold")
	}
	return checkSpelling(data, d)
}

// checkSpelling refuses data in which its digest is in capitals or has escapes, which reads just
// the same. Nothing else in the data can be its digest, as it follows from all else.
func checkSpelling(data []byte, d digest.Digest) error {
	if !bytes.Contains(data, []byte(`"`+d.String()+`"`)) {
		return errors.New("its self member is not spelled as Hallmark writes it")
	}
	return nil
}

// selfOf is the digest of the canonical JSON of a lock without its self member. It is that
// of the bytes as they are, and not of what is read from them: a member whose name is
// spelled in capitals would be read just the same.
func selfOf(data []byte) (digest.Digest, error) {
	canonical, err := surface.Canonical(data, ownLimits, "self")
	return digest.FromBytes(canonical), err
}

// marshal is json.Marshal without escapes of <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// marshalIndented is marshal with two spaces a level and a final newline.
func marshalIndented(v any) ([]byte, error) {
	plain, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, plain, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}
