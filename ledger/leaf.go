package ledger

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Kind is what a leaf is about.
type Kind string

// The kinds. The first four are publishing kinds: see [Kind.Publishes].
const (
	Server   Kind = "server"
	Artifact Kind = "artifact"
	Facet    Kind = "facet"
	Plugin   Kind = "plugin"
	Status   Kind = "status"
	Finding  Kind = "finding"
)

// Publishes reports whether k is a kind of which a log holds one leaf at most
// for a name and a version.
func (k Kind) Publishes() bool {
	return k == Server || k == Artifact || k == Facet || k == Plugin
}

// Leaf is one entry of a log. The package comment says what its members hold.
type Leaf struct {
	Kind             Kind
	Of               Kind // of a status or finding: what it is about
	Name             string
	Version          string
	ContentIntegrity digest.Digest // zero if there is none
	APISurface       digest.Digest // zero if there is none
	Document         digest.Digest
	Publisher        string
	Status           string    // of a status: active, deprecated or deleted
	At               time.Time // to the second
}

// Bounds of a leaf's texts, in bytes.
const (
	MaxName      = 512
	MaxVersion   = 1024
	MaxPublisher = 1024
)

const leafVersion = 1

// timeForm is the one form of a leaf's time.
const timeForm = "2006-01-02T15:04:05Z"

// leafJSON is the encoding, its members in canonical order.
type leafJSON struct {
	APISurface       string `json:"api_surface,omitempty"`
	At               string `json:"at"`
	ContentIntegrity string `json:"content_integrity,omitempty"`
	Document         string `json:"document"`
	Kind             Kind   `json:"kind"`
	Name             string `json:"name"`
	Of               Kind   `json:"of,omitempty"`
	Publisher        string `json:"publisher"`
	Status           string `json:"status,omitempty"`
	V                int    `json:"v"`
	Version          string `json:"version"`
}

// Marshal is the canonical encoding of l. It refuses what [ParseLeaf] would.
func (l Leaf) Marshal() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	data, err := canonical(leafJSON{
		APISurface: l.APISurface.String(), At: l.At.UTC().Format(timeForm),
		ContentIntegrity: l.ContentIntegrity.String(), Document: l.Document.String(),
		Kind: l.Kind, Name: l.Name, Of: l.Of, Publisher: l.Publisher,
		Status: l.Status, V: leafVersion, Version: l.Version,
	})
	if err != nil {
		return nil, err
	}
	if len(data) > MaxLeaf {
		return nil, malformedError("leaf: %d bytes, more than %d", len(data), MaxLeaf)
	}
	return data, nil
}

// ParseLeaf reads a leaf in its canonical encoding; any other text of the same
// leaf is refused, and so is a version or kind that this build does not know.
func ParseLeaf(data []byte) (Leaf, error) {
	if len(data) > MaxLeaf {
		return Leaf{}, malformedError("leaf: %d bytes, more than %d", len(data), MaxLeaf)
	}
	var j leafJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Leaf{}, malformedError("leaf: not JSON of the form of a leaf")
	}
	if j.V != leafVersion {
		return Leaf{}, malformedError("leaf: version %d is unknown", j.V)
	}
	l := Leaf{Kind: j.Kind, Of: j.Of, Name: j.Name, Version: j.Version, Publisher: j.Publisher, Status: j.Status}
	var err error
	if l.At, err = time.Parse(timeForm, j.At); err != nil {
		return Leaf{}, malformedError("leaf: time %+.40q", j.At)
	}
	for _, d := range []struct {
		to   *digest.Digest
		text string
	}{{&l.ContentIntegrity, j.ContentIntegrity}, {&l.APISurface, j.APISurface}, {&l.Document, j.Document}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = digest.Parse(d.text); err != nil {
			return Leaf{}, malformedError("leaf: digest %+.80q", d.text)
		}
	}
	again, err := l.Marshal()
	if err != nil {
		return Leaf{}, err
	}
	// Unknown, repeated, null and differently spelled members all end here.
	if !bytes.Equal(again, data) {
		return Leaf{}, malformedError("leaf: not in canonical form")
	}
	return l, nil
}

// Hash is the hash of l's encoding as a leaf of the tree.
func (l Leaf) Hash() (tlog.Hash, error) {
	data, err := l.Marshal()
	if err != nil {
		return tlog.Hash{}, err
	}
	return tlog.RecordHash(data), nil
}

// Subject prints what l is about, as "server io.github.acme/notes@1.4.0".
func (l Leaf) Subject() string {
	kind := l.Kind
	if l.Of != "" {
		kind = l.Of
	}
	return string(kind) + " " + l.Name + "@" + l.Version
}

// check refuses a leaf that no log may hold.
func (l Leaf) check() error {
	if err := l.checkKind(); err != nil {
		return err
	}
	switch {
	case l.Document.IsZero():
		return malformedError("leaf: no document")
	case l.At.IsZero() || l.At.Year() < 1970 || l.At.Year() > 9999 || l.At.Nanosecond() != 0:
		return malformedError("leaf: time %s is not one of a whole second from 1970 to 9999", l.At)
	}
	for _, d := range []digest.Digest{l.ContentIntegrity, l.APISurface, l.Document} {
		if !d.IsZero() && d.Algorithm() != digest.SHA256 {
			return malformedError("leaf: digest %s is not sha256", d)
		}
	}
	for _, t := range []struct {
		what, text string
		most       int
	}{{"name", l.Name, MaxName}, {"version", l.Version, MaxVersion}, {"publisher", l.Publisher, MaxPublisher}} {
		if t.text == "" || len(t.text) > t.most || !utf8.ValidString(t.text) ||
			strings.ContainsFunc(t.text, unicode.IsControl) {
			return malformedError("leaf: %s %+.80q is not 1 to %d bytes of UTF-8 without controls", t.what, t.text,
				t.most)
		}
	}
	return nil
}

// checkKind refuses an unknown kind, and members that a leaf of its kind does not have.
func (l Leaf) checkKind() error {
	publishes := l.Kind.Publishes()
	switch {
	case !publishes && l.Kind != Status && l.Kind != Finding:
		return malformedError("leaf: kind %+.40q is unknown", l.Kind)
	case publishes && l.Of != "":
		return malformedError("leaf: a %s is not of another kind", l.Kind)
	case !publishes && !l.Of.Publishes():
		return malformedError("leaf: a %s is of a publishing kind, not %+.40q", l.Kind, l.Of)
	case !publishes && !(l.ContentIntegrity.IsZero() && l.APISurface.IsZero()):
		return malformedError("leaf: a %s has no content_integrity and no api_surface", l.Kind)
	case l.Kind == Status && l.Status != "active" && l.Status != "deprecated" && l.Status != "deleted":
		return malformedError("leaf: status %+.40q is unknown", l.Status)
	case l.Kind != Status && l.Status != "":
		return malformedError("leaf: a %s has no status", l.Kind)
	}
	return nil
}

// StatusDocument is what the member document of a status leaf holds: the digest
// of the canonical {"message":…,"status":…}. A status without a message has an
// empty one.
func StatusDocument(status, message string) (digest.Digest, error) {
	if !utf8.ValidString(message) {
		return digest.Digest{}, malformedError("status message: not UTF-8")
	}
	data, err := canonical(struct {
		Message string `json:"message"`
		Status  string `json:"status"`
	}{message, status})
	if err != nil {
		return digest.Digest{}, err
	}
	return digest.FromBytes(data), nil
}

// canonical is the RFC 8785 form of a structure of texts and small integers, whose
// members are in order.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	// What encoding/json writes is canonical then, but for the \u escapes, which RFC 8785
	// uses for fewer characters.
	if bytes.Contains(data, []byte(`\u`)) {
		return jcs.Transform(data)
	}
	return data, nil
}
