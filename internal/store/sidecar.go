package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// sidecar is the note beside a slot's content, one line of JSON:
//
//	{"schema":1,"scheme":"facet-tar","integrity":"sha256:…","ref":"…","content_hash":"sha256:…","size":N,
//	 "created":"…","files":{"path":{"sha256":"sha256:…","size":N,"exec":true},…},"self":"sha256:…"}
//
// Scheme is there only for facet-tar, content_hash only if the tree was unpacked from an
// archive, whose digest it is. Members are in this order, paths in byte order, and self, the digest of all bytes
// before the comma in front of it, is last: so a change of any one byte is noticed. The
// sidecar names what differs when the tree does. It never makes a slot good: that takes the
// fingerprint from the lock. The list of files, nearly all of its bytes, is therefore
// decoded only when there is something to name; else its bytes are compared with those
// that the files call for, see lists.
type sidecar struct {
	Schema      int                 `json:"schema"`
	Scheme      evidence.Scheme     `json:"scheme,omitempty"` // of the fingerprint; empty is hallmark-tree-v1
	Integrity   digest.Digest       `json:"integrity"`        // fingerprint of the content
	Ref         string              `json:"ref"`              // what the tree was made of
	ContentHash digest.Digest       `json:"content_hash,omitzero"`
	Size        int64               `json:"size"`    // bytes of all files
	Created     time.Time           `json:"created"` // UTC, whole seconds
	Files       map[string]fileNote `json:"files"`   // nil until list

	data []byte // as read
}

// fileNote is what a sidecar lists of one file.
type fileNote struct {
	SHA256 digest.Digest `json:"sha256"`
	Size   int64         `json:"size"`
	Exec   bool          `json:"exec,omitempty"`
}

const (
	sidecarSchema = 1
	maxSidecar    = 64 << 20 // bytes; about 400,000 files
	selfBefore    = `,"self":"`
	selfAfter     = "\"}\n"
)

// encode returns the one form of the sidecar, with its own digest at the end.
func (c *sidecar) encode() ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	body = body[:len(body)-1] // the closing brace
	self := digest.FromBytes(body).String()
	data := append(append(append(body, selfBefore...), self...), selfAfter...)
	if len(data) > maxSidecar {
		return nil, fmt.Errorf("sidecar: would have %s bytes, more than %s; the tree has too many files",
			evidence.Group(int64(len(data))), evidence.Group(maxSidecar))
	}
	return data, nil
}

// parseSidecar checks the sidecar's own digest and reads everything but the list of
// files. Its errors say what is wrong in words that hold no text from the file.
func parseSidecar(data []byte) (*sidecar, error) {
	at := len(data) - len(selfBefore) - selfLen - len(selfAfter)
	if at < 1 {
		return nil, errors.New("is cut off")
	}
	body, rest := data[:at], data[at:]
	self, ok := bytes.CutPrefix(rest, []byte(selfBefore))
	self, ok2 := bytes.CutSuffix(self, []byte(selfAfter))
	if !ok || !ok2 {
		return nil, errors.New("does not end with its own digest")
	}
	claim, _, ok := evidence.ParseClaim(evidence.Claim{}, string(self))
	if !ok || claim.FormatExpected() != string(self) { // one spelling only
		return nil, errors.New("does not end with its own digest")
	}
	e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{digest.FromBytes(body)}})
	if e.Outcome != evidence.Match {
		return nil, errors.New("was changed: its own digest does not hold")
	}

	// A quote inside a string is escaped, so this is the member and not a text.
	head, _, ok := bytes.Cut(body, []byte(`,"files":{`))
	if !ok {
		return nil, errSidecarForm
	}
	head = append(bytes.Clone(head), '}')
	var version struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal(head, &version) != nil {
		return nil, errSidecarForm
	}
	if version.Schema != sidecarSchema {
		return nil, fmt.Errorf("has schema %d, and this program knows %d", version.Schema, sidecarSchema)
	}
	c := &sidecar{data: data}
	if surface.Decode(head, c) != nil || c.Integrity.Algorithm() != digest.SHA256 ||
		c.Scheme != "" && c.Scheme != evidence.FacetTar {
		return nil, errSidecarForm
	}
	return c, nil
}

// selfLen is the length of a digest as it is written, in bytes.
var selfLen = len(digest.SHA256) + 1 + 2*digest.SHA256.Size()

var errSidecarForm = errors.New("is not JSON of the expected form")

// decodeStrict decodes one JSON value without unknown members, and nothing after it.
func decodeStrict(data []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errSidecarForm
	}
	return nil
}

// decodeFiles decodes the list of files into c.Files, and checks all of the sidecar. Its errors hold no
// text of the file.
func (c *sidecar) decodeFiles() error {
	body := c.data[:bytes.LastIndex(c.data, []byte(selfBefore))]
	var whole sidecar
	if err := decodeStrict(append(bytes.Clone(body), '}'), &whole); err != nil {
		return errSidecarForm
	}
	// Whatever JSON allows beyond what encode writes, such as a member twice, another
	// order or spelling, shows as other bytes.
	if again, err := whole.encode(); err != nil || !bytes.Equal(again, c.data) {
		return errors.New("is not written in the one form that it has")
	}
	var size int64
	for path, note := range whole.Files {
		if tree.CheckPath(path) != nil || note.Size < 0 || note.SHA256.Algorithm() != digest.SHA256 {
			return errors.New("lists a file that no slot can hold")
		}
		size += note.Size
	}
	switch {
	case c.Ref == "", c.Created.IsZero():
		return errors.New("lacks a member that each one has")
	case c.Size != size:
		return errors.New("has another size than its files together")
	}
	c.Files = whole.Files
	return nil
}

// listsExactly reports whether the sidecar has all of its members, in the one form that encode
// writes, and lists exactly files, which are in byte order, with the digests in sums; if sums is nil
// any digest will do. It compares bytes and decodes nothing but the head.
func (c *sidecar) listsExactly(files []tree.File, sums map[string]digest.Digest) bool {
	if c.Ref == "" || c.Created.IsZero() || c.Size != contentSize(files) {
		return false
	}
	head := *c
	head.Files = map[string]fileNote{}
	due, err := json.Marshal(&head)
	if err != nil {
		return false
	}
	rest, ok := bytes.CutPrefix(c.data, due[:len(due)-2]) // up to the brace that opens the list
	if !ok {
		return false
	}
	for i, f := range files {
		if i > 0 {
			if rest, ok = bytes.CutPrefix(rest, []byte(",")); !ok {
				return false
			}
		}
		if rest, ok = cutNote(rest, f, sums); !ok {
			return false
		}
	}
	return bytes.HasPrefix(rest, []byte("}"+selfBefore)) && len(rest) == 1+len(selfBefore)+selfLen+len(selfAfter)
}

// cutNote takes the note of f from the front of a list.
func cutNote(rest []byte, f tree.File, sums map[string]digest.Digest) (after []byte, ok bool) {
	name, err := json.Marshal(f.Path)
	if err != nil {
		return nil, false
	}
	const before = `:{"sha256":"`
	if rest, ok = bytes.CutPrefix(rest, append(name, before...)); !ok || len(rest) < selfLen {
		return nil, false
	}
	sum, err := digest.Parse(string(rest[:selfLen]))
	if err != nil || sum.String() != string(rest[:selfLen]) || sums != nil && !evidence.Same(sums[f.Path], sum) {
		return nil, false
	}
	tail := fmt.Appendf(nil, `","size":%d`, f.Size)
	if f.Exec {
		tail = append(tail, `,"exec":true`...)
	}
	return bytes.CutPrefix(rest[selfLen:], append(tail, '}'))
}

// fingerprint is the scheme of Integrity.
func (c *sidecar) fingerprint() evidence.Scheme {
	if c.Scheme == "" {
		return evidence.Tree
	}
	return c.Scheme
}
