package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// vectors is spec/ledger.json.
type vectors struct {
	Key      string `json:"key"`
	OtherKey string `json:"other_key"`
	Leaves   []struct {
		Members map[string]any `json:"members"`
		Text    string         `json:"text"`
		Hash    string         `json:"hash"`
	} `json:"leaves"`
	InvalidLeaves []struct {
		Why    string `json:"why"`
		Text   string `json:"text"`
		Base64 []byte `json:"base64"`
	} `json:"invalid_leaves"`
	StatusDocuments []struct{ Status, Message, Digest string } `json:"status_documents"`
	Trees           struct {
		Leaf  string `json:"leaf"`
		Sizes []struct {
			Size int    `json:"size"`
			Root string `json:"root"`
		} `json:"sizes"`
	} `json:"trees"`
	Consistent   []consistency `json:"consistent"`
	Inconsistent []consistency `json:"inconsistent"`
	Checkpoints  []struct {
		Note string `json:"note"`
		Size int64  `json:"size"`
		Root string `json:"root"`
	} `json:"checkpoints"`
	InvalidCheckpoints []struct{ Why, Error, Note string } `json:"invalid_checkpoints"`
	Proofs             []struct {
		Text  string `json:"text"`
		Index int64  `json:"index"`
		Leaf  string `json:"leaf"`
	} `json:"proofs"`
	InvalidProofs []struct{ Why, Error, Text string } `json:"invalid_proofs"`
	Tiles         []struct {
		Level int    `json:"level"`
		N     int64  `json:"n"`
		Width int    `json:"width"`
		Path  string `json:"path"`
	} `json:"tiles"`
	InvalidTiles []string `json:"invalid_tiles"`
	Bundles      []struct {
		Base64 []byte   `json:"base64"`
		Leaves []string `json:"leaves"`
	} `json:"bundles"`
	InvalidBundles []struct {
		Why    string `json:"why"`
		Width  int    `json:"width"`
		Base64 []byte `json:"base64"`
	} `json:"invalid_bundles"`
}

type consistency struct {
	Older     int64    `json:"older"`
	Newer     int64    `json:"newer"`
	OlderRoot string   `json:"older_root"`
	NewerRoot string   `json:"newer_root"`
	Proof     []string `json:"proof"`
}

func readVectors(t testing.TB) *vectors {
	t.Helper()
	data, err := os.ReadFile("../spec/ledger.json")
	if err != nil {
		t.Fatal(err)
	}
	v := new(vectors)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vectors) trust(t testing.TB) Trust {
	trust, err := NewTrust(v.Key, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// wrong maps the "error" of a vector.
var wrong = map[string]error{"malformed": ErrMalformed, "signature": ErrSignature, "fork": ErrFork}

func TestLeafVectors(t *testing.T) {
	v := readVectors(t)
	for _, l := range v.Leaves {
		leaf, err := ParseLeaf([]byte(l.Text))
		if err != nil {
			t.Errorf("%s: %v", l.Text, err)
			continue
		}
		again, err := leaf.Marshal()
		if err != nil || string(again) != l.Text {
			t.Errorf("%s: printed as %s, %v", l.Text, again, err)
		}
		if h, err := leaf.Hash(); err != nil || h.String() != l.Hash {
			t.Errorf("%s: hash %s, %v", l.Text, h, err)
		}
		for member, got := range map[string]string{
			"kind": string(leaf.Kind), "of": string(leaf.Of), "name": leaf.Name, "version": leaf.Version,
			"publisher": leaf.Publisher, "status": leaf.Status,
			"content_integrity": leaf.ContentIntegrity.String(), "api_surface": leaf.APISurface.String(),
			"document": leaf.Document.String(), "at": leaf.At.Format(timeForm),
		} {
			if want, _ := l.Members[member].(string); got != want {
				t.Errorf("%s: %s is %q, want %q", l.Text, member, got, want)
			}
		}
	}
	for _, l := range v.InvalidLeaves {
		if leaf, err := ParseLeaf(append([]byte(l.Text), l.Base64...)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", l.Why, leaf, err)
		}
	}
	for _, s := range v.StatusDocuments {
		if d, err := StatusDocument(s.Status, s.Message); err != nil || d.String() != s.Digest {
			t.Errorf("%s %q: %s, %v", s.Status, s.Message, d, err)
		}
	}
}

func TestTreeVectors(t *testing.T) {
	v := readVectors(t)
	base, err := ParseLeaf([]byte(v.Trees.Leaf))
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range v.Trees.Sizes {
		var r Replay
		for i := range tree.Size {
			l := base
			l.Version = "1.0." + strconv.Itoa(i)
			text, err := l.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if _, fault := r.Add(text); fault != nil {
				t.Fatal(fault)
			}
		}
		if r.Root().String() != tree.Root {
			t.Errorf("root of %d leaves is %s, want %s", tree.Size, r.Root(), tree.Root)
		}
	}
	check := func(c consistency) error {
		var hashes []tlog.Hash
		for _, s := range c.Proof {
			h, err := parseHash(s)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, h)
		}
		older, err1 := parseHash(c.OlderRoot)
		newer, err2 := parseHash(c.NewerRoot)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return CheckConsistency(Checkpoint{"l", c.Older, older}, Checkpoint{"l", c.Newer, newer}, hashes)
	}
	for _, c := range v.Consistent {
		if err := check(c); err != nil {
			t.Errorf("%d in %d: %v", c.Older, c.Newer, err)
		}
	}
	for _, c := range v.Inconsistent {
		if err := check(c); !errors.Is(err, ErrFork) {
			t.Errorf("%d in %d, wrong: %v", c.Older, c.Newer, err)
		}
	}
}

func TestCheckpointVectors(t *testing.T) {
	v := readVectors(t)
	trust := v.trust(t)
	for _, c := range v.Checkpoints {
		if s, err := trust.Open([]byte(c.Note)); err != nil || s.Size != c.Size || s.Root.String() != c.Root ||
			s.Origin != trust.Log.Name() {
			t.Errorf("%s: %+v, %v", c.Note, s, err)
		}
	}
	for _, c := range v.InvalidCheckpoints {
		if s, err := trust.Open([]byte(c.Note)); !errors.Is(err, wrong[c.Error]) {
			t.Errorf("%s: %+v, %v, want %s", c.Why, s, err, c.Error)
		}
	}
	other, err := NewTrust(v.OtherKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open([]byte(v.Checkpoints[0].Note)); !errors.Is(err, ErrSignature) {
		t.Errorf("under another key: %v", err)
	}
}

func TestProofVectors(t *testing.T) {
	v := readVectors(t)
	trust := v.trust(t)
	for _, want := range v.Proofs {
		p, err := ParseProof([]byte(want.Text))
		if err != nil || string(p.Marshal()) != want.Text || string(p.Leaf) != want.Leaf {
			t.Errorf("proof of %d: %v", want.Index, err)
			continue
		}
		if got, err := p.Verify(trust); err != nil || got.Index != want.Index {
			t.Errorf("proof of %d: %+v, %v", want.Index, got, err)
		}
	}
	for _, bad := range v.InvalidProofs {
		p, err := ParseProof([]byte(bad.Text))
		if err == nil {
			_, err = p.Verify(trust)
		}
		if !errors.Is(err, wrong[bad.Error]) {
			t.Errorf("%s: %v, want %s", bad.Why, err, bad.Error)
		}
	}
}

func TestTileVectors(t *testing.T) {
	v := readVectors(t)
	for _, want := range v.Tiles {
		tile := tlog.Tile{H: 8, L: want.Level, N: want.N, W: want.Width}
		if got := TilePath(tile); got != want.Path {
			t.Errorf("%+v is %s, want %s", tile, got, want.Path)
		}
		if got, err := ParseTilePath(want.Path); err != nil || got != tile {
			t.Errorf("%s: %+v, %v", want.Path, got, err)
		}
	}
	for _, path := range v.InvalidTiles {
		if got, err := ParseTilePath(path); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", path, got, err)
		}
	}
	for _, b := range v.Bundles {
		got, err := SplitBundle(b.Base64, len(b.Leaves))
		if err != nil {
			t.Error(err)
		}
		var again []byte
		for _, leaf := range got {
			if again, err = AppendEntry(again, leaf); err != nil {
				t.Error(err)
			}
		}
		if !bytes.Equal(again, b.Base64) ||
			!slices.EqualFunc(got, b.Leaves, func(x []byte, y string) bool { return string(x) == y }) {
			t.Errorf("bundle of %d", len(b.Leaves))
		}
	}
	for _, b := range v.InvalidBundles {
		if got, err := SplitBundle(b.Base64, b.Width); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %d leaves, %v", b.Why, len(got), err)
		}
	}
}

func TestTileBounds(t *testing.T) {
	for _, tt := range []struct {
		level   int
		n, size int64
		width   int // 0: none
	}{
		{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 256, 256}, {0, 1, 256, 0}, {0, 1, 257, 1}, {Entries, 1, 300, 44},
		{1, 0, 255, 0}, {1, 0, 256, 1}, {1, 0, 70000, 256}, {1, 1, 70000, 17}, {1, 2, 70000, 0}, {2, 0, 70000, 1},
		{2, 1, 70000, 0},
		{8, 0, MaxSize, 0}, {-2, 0, 9, 0}, {0, -1, 9, 0}, {0, 0, -1, 0}, {0, 0, MaxSize + 1, 0}, {0, 1 << 60, 9, 0},
		{6, 0, MaxSize, 32}, {0, MaxSize/256 - 1, MaxSize, 256},
	} {
		got, ok := NewTile(tt.level, tt.n, tt.size)
		if ok != (tt.width > 0) || got.W != tt.width {
			t.Errorf("tile %d of level %d of %d entries: %+v, %t; want width %d", tt.n, tt.level, tt.size, got, ok,
				tt.width)
		}
		if !ok {
			continue
		}
		for width, want := range map[int]bool{0: false, 1: true, tt.width: true, tt.width + 1: false} {
			got.W = width
			if InTree(got, tt.size) != want {
				t.Errorf("%+v in a tree of %d: %t", got, tt.size, !want)
			}
		}
	}
}
