package ledger

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// FuzzParseLeaf: what is read has one encoding, which is what was read.
func FuzzParseLeaf(f *testing.F) {
	v := readVectors(f)
	for _, l := range v.Leaves {
		f.Add([]byte(l.Text))
	}
	for _, l := range v.InvalidLeaves {
		f.Add(append([]byte(l.Text), l.Base64...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLeaf(data)
		if err != nil {
			return
		}
		if again, err := l.Marshal(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q is printed as %q, %v", data, again, err)
		}
	})
}

// FuzzCheckpoint: a text that is read without extension lines is printed as it was, and
// no note opens that the key did not sign.
func FuzzCheckpoint(f *testing.F) {
	v := readVectors(f)
	trust := v.trust(f)
	signed := map[string]bool{}
	for _, c := range v.Checkpoints {
		text, _, _ := bytes.Cut([]byte(c.Note), []byte("\n\n"))
		signed[string(text)+"\n"] = true
		f.Add([]byte(c.Note))
	}
	for _, c := range v.InvalidCheckpoints {
		f.Add([]byte(c.Note))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, _, found := bytes.Cut(data, []byte("\n\n"))
		if found {
			text = append(bytes.Clone(text), '\n')
		}
		if c, err := ParseCheckpoint(text); err == nil && bytes.Count(text, []byte("\n")) == 3 {
			if again, err := c.Marshal(); err != nil || !bytes.Equal(again, text) {
				t.Errorf("%q is printed as %q, %v", text, again, err)
			}
		}
		if s, err := trust.Open(data); err == nil && !signed[string(text)] {
			t.Errorf("%q opens as %+v", data, s)
		}
	})
}

// FuzzProof: what is read is printed as it was, here and as a witness's request.
func FuzzProof(f *testing.F) {
	v := readVectors(f)
	trust := v.trust(f)
	for _, p := range v.Proofs {
		f.Add([]byte(p.Text))
	}
	for _, p := range v.InvalidProofs {
		f.Add([]byte(p.Text))
	}
	f.Add([]byte("old 3\n" + v.Consistent[1].Proof[0] + "\n\n" + v.Checkpoints[0].Note))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := ParseAddCheckpoint(data); err == nil && !bytes.Equal(a.Marshal(), data) {
			t.Errorf("%q is printed as %q", data, a.Marshal())
		}
		p, err := ParseProof(data)
		if err != nil {
			return
		}
		if !bytes.Equal(p.Marshal(), data) {
			t.Errorf("%q is printed as %q", data, p.Marshal())
		}
		p.Verify(trust)
	})
}

// FuzzTile: paths and bundles that are read are printed as they were.
func FuzzTile(f *testing.F) {
	v := readVectors(f)
	for _, p := range v.Tiles {
		f.Add(p.Path, []byte{}, 0)
	}
	for _, p := range v.InvalidTiles {
		f.Add(p, []byte{0}, 1)
	}
	for _, b := range v.Bundles {
		f.Add("", b.Base64, len(b.Leaves))
	}
	f.Fuzz(func(t *testing.T, path string, bundle []byte, width int) {
		if tile, err := ParseTilePath(path); err == nil && TilePath(tile) != path {
			t.Errorf("%q is printed as %q", path, TilePath(tile))
		}
		if width < 0 || width > TileWidth {
			return
		}
		leaves, err := SplitBundle(bundle, width)
		if err != nil {
			return
		}
		var again []byte
		for _, leaf := range leaves {
			again, _ = AppendEntry(again, leaf)
		}
		if !bytes.Equal(again, bundle) || len(leaves) != width {
			t.Errorf("a bundle of %d leaves comes back as another", len(leaves))
		}
	})
}

// FuzzReplay: a state that is read is written as it was.
func FuzzReplay(f *testing.F) {
	v := readVectors(f)
	var r Replay
	f.Add(r.Marshal())
	for _, l := range v.Leaves {
		r.Add([]byte(l.Text))
		f.Add(r.Marshal())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReplay(data)
		if err != nil {
			return
		}
		r.Root()
		if again, err := ParseReplay(r.Marshal()); err != nil || again.Size() != r.Size() || again.Root() != r.Root() {
			t.Errorf("a state comes back as another: %v", err)
		}
	})
}

func FuzzAddCheckpoint(f *testing.F) {
	f.Add([]byte(
		"old 3\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\nlog.example.com\n4\n" +
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— log.example.com AAAA\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAddCheckpoint(data)
		if err != nil {
			return
		}
		if got := a.Marshal(); !bytes.Equal(got, data) {
			t.Errorf("%q is written as %q", data, got)
		}
	})
}

func FuzzEdge(f *testing.F) {
	var e Edge
	f.Add(e.Marshal())
	e.Add(tlog.Hash{1})
	e.Add(tlog.Hash{2})
	e.Add(tlog.Hash{3})
	f.Add(e.Marshal())
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseEdge(data)
		if err != nil {
			return
		}
		if got := e.Marshal(); !bytes.Equal(got, data) {
			t.Errorf("%x is written as %x", data, got)
		}
		if e.Size < MaxSize { // a further leaf
			e.Add(tlog.Hash{4})
		}
	})
}

func FuzzVerifier(f *testing.F) {
	f.Add("log.example.com+8c8c3dc7+AZgUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParseVerifier(text); err == nil && !strings.HasPrefix(text, v.Name()+"+") {
			t.Errorf("%q has the name %q", text, v.Name())
		}
		if v, err := ParseWitness(text); err == nil && !strings.HasPrefix(text, v.Name()+"+") {
			t.Errorf("%q has the name %q", text, v.Name())
		}
	})
}
