package digest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// vectors is spec/digest.json.
type vectors struct {
	Parse []struct {
		Text, Algorithm, Hex string
		Weak                 bool
	}
	SRI []struct {
		Text    string
		Digests []string
	}
	Hex  []struct{ Algorithm, Text, Hex string }
	Hash []struct {
		Text                 *string
		Base64               []byte
		Size                 int64
		SHA256, SHA512, SHA1 string
	}
	Invalid []struct{ Form, Text, Error string }
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("../spec/digest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Parse) < 8 || len(v.SRI) < 5 || len(v.Hex) < 2 || len(v.Hash) < 10 || len(v.Invalid) < 40 {
		t.Fatal("spec/digest.json is not whole")
	}
	return v
}

func TestParse(t *testing.T) {
	for _, v := range readVectors(t).Parse {
		d, err := Parse(v.Text)
		if err != nil {
			t.Errorf("%s: %v", v.Text, err)
			continue
		}
		if string(d.Algorithm()) != v.Algorithm || d.Hex() != v.Hex || d.Weak() != v.Weak || d.IsZero() ||
			d.String() != v.Algorithm+":"+v.Hex {
			t.Errorf("%s: %s, weak %v", v.Text, d, d.Weak())
		}
		if fmt.Sprintf("%x", d.Bytes()) != v.Hex {
			t.Errorf("%s: bytes %x", v.Text, d.Bytes())
		}
		d.Bytes()[0]++
		if d.Hex() != v.Hex {
			t.Errorf("%s: Bytes gives the digest's own memory", v.Text)
		}
		again, err := ParseSRI(d.SRI())
		if err != nil || len(again) != 1 || !Equal(d, again[0]) {
			t.Errorf("%s: SRI %s reads as %v, %v", v.Text, d.SRI(), again, err)
		}
	}
}

func TestParseHex(t *testing.T) {
	for _, v := range readVectors(t).Hex {
		if d, err := ParseHex(Algorithm(v.Algorithm), v.Text); err != nil || d.Hex() != v.Hex {
			t.Errorf("%s: %s, %v", v.Text, d, err)
		}
	}
}

func TestParseSRI(t *testing.T) {
	for _, v := range readVectors(t).SRI {
		got, err := ParseSRI(v.Text)
		var texts []string
		for _, d := range got {
			texts = append(texts, d.String())
		}
		if err != nil || !slices.Equal(texts, v.Digests) {
			t.Errorf("%q: %v, %v; want %v", v.Text, texts, err, v.Digests)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, v := range readVectors(t).Invalid {
		var err error
		d, none := Digest{}, []Digest(nil)
		switch v.Form {
		case "parse":
			d, err = Parse(v.Text)
		case "sri":
			none, err = ParseSRI(v.Text)
		case "hex":
			d, err = ParseHex(SHA256, v.Text)
		default:
			t.Fatalf("form %q", v.Form)
		}
		unknown, isUnknown := errors.AsType[*UnknownAlgorithmError](err)
		if errors.Is(err, ErrMalformed) != (v.Error == "malformed") || isUnknown != (v.Error == "unknown-algorithm") {
			t.Errorf("%s %q: error %v, want %s", v.Form, v.Text, err, v.Error)
		}
		if !d.IsZero() || none != nil {
			t.Errorf("%s %q: an error came with a digest", v.Form, v.Text)
		}
		if isUnknown && !strings.HasPrefix(strings.TrimSpace(v.Text), unknown.Algorithm) && v.Text != "x-y z-" {
			t.Errorf("%q: names algorithm %q", v.Text, unknown.Algorithm)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	_, err := Parse("\x1b[31m" + strings.Repeat("\u202e", 5000))
	if s := err.Error(); len(s) > 1000 || strings.ContainsAny(s, "\x1b\u202e") {
		t.Errorf("message %q", s)
	}
}

func TestHash(t *testing.T) {
	for i, v := range readVectors(t).Hash {
		data := v.Base64
		if v.Text != nil {
			data = []byte(*v.Text)
		}
		if int64(len(data)) != v.Size {
			t.Fatalf("vector %d has %d bytes, want %d: %s", i, len(data), v.Size,
				base64.StdEncoding.EncodeToString(data))
		}
		want := map[Algorithm]string{SHA256: v.SHA256, SHA512: v.SHA512, SHA1: v.SHA1}
		for cut := range 3 { // the same whatever the size of the writes
			h := NewHasher(SHA512, SHA256, SHA1, SHA256)
			n := len(data) * cut / 2
			h.Write(data[:n])
			h.Digest(SHA256) // reading a digest must not disturb it
			h.Write(data[n:])
			got := h.Digests()
			if len(got) != 3 || got[0].Algorithm() != SHA512 || got[1].Algorithm() != SHA256 ||
				got[2].Algorithm() != SHA1 {
				t.Fatalf("digests %v", got)
			}
			for _, d := range got {
				if d.Hex() != want[d.Algorithm()] {
					t.Errorf("vector %d: %s, want %s", i, d, want[d.Algorithm()])
				}
			}
			if h.Size() != v.Size {
				t.Errorf("vector %d: size %d", i, h.Size())
			}
		}
		if d := FromBytes(data); d.Hex() != v.SHA256 || d.Algorithm() != SHA256 {
			t.Errorf("vector %d: FromBytes %s", i, d)
		}
	}
}

func TestHasherWithout(t *testing.T) {
	h := NewHasher()
	if d := h.Digests(); len(d) != 1 || d[0].Algorithm() != SHA256 {
		t.Errorf("default %v", d)
	}
	if !h.Digest(SHA1).IsZero() {
		t.Error("a digest that was not computed")
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown algorithm was hashed")
		}
	}()
	NewHasher("md5")
}

func TestEqual(t *testing.T) {
	a, b := FromBytes([]byte("a")), FromBytes([]byte("b"))
	if !Equal(a, a) || Equal(a, b) || Equal(b, a) {
		t.Error("sha256 digests")
	}
	// The zero value equals nothing, itself included.
	var zero Digest
	if Equal(zero, zero) || Equal(zero, a) || Equal(a, zero) {
		t.Error("the zero value equals something")
	}
	// The same leading bytes under another algorithm are another digest.
	short, err := New(SHA1, make([]byte, 20))
	if err != nil {
		t.Fatal(err)
	}
	long, err := New(SHA256, make([]byte, 32))
	if err != nil || Equal(short, long) {
		t.Error("digests of two algorithms are equal", err)
	}
	for i := range 32 { // every byte counts
		sum := a.Bytes()
		sum[i] ^= 0x80
		if other, err := New(SHA256, sum); err != nil || Equal(a, other) {
			t.Errorf("byte %d does not count (%v)", i, err)
		}
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		alg Algorithm
		n   int
		ok  bool
	}{{SHA256, 32, true}, {SHA512, 64, true}, {SHA1, 20, true}, {SHA256, 31, false}, {SHA256, 33, false},
		{SHA256, 0, false}, {SHA1, 32, false}, {"md5", 16, false}, {"", 0, false}} {
		d, err := New(c.alg, make([]byte, c.n))
		if (err == nil) != c.ok || d.IsZero() == c.ok {
			t.Errorf("%s of %d bytes: %v, %v", c.alg, c.n, d, err)
		}
	}
}

func TestText(t *testing.T) {
	var v struct{ D, Zero Digest }
	text := `{"D":"` + FromBytes(nil).String() + `","Zero":""}`
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.D.IsZero() || !v.Zero.IsZero() {
		t.Fatal(v, err)
	}
	if out, err := json.Marshal(v); err != nil || string(out) != text {
		t.Errorf("%s, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"D":"sha256:0"}`), &v); err == nil {
		t.Error("a short digest was read")
	}
	if (Digest{}).String() != "" || (Digest{}).Hex() != "" || len((Digest{}).Bytes()) != 0 {
		t.Error("the zero value prints")
	}
}

func FuzzParse(f *testing.F) {
	v := readVectors(f)
	for _, x := range v.Parse {
		f.Add(x.Text)
	}
	for _, x := range v.SRI {
		f.Add(x.Text)
	}
	for _, x := range v.Invalid {
		f.Add(x.Text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := Parse(s); err == nil {
			if d.String() != strings.ToLower(s) || d.IsZero() {
				t.Fatalf("%q prints as %q", s, d)
			}
		} else if !d.IsZero() {
			t.Fatalf("%q: an error and %s", s, d)
		}
		ds, err := ParseSRI(s)
		if (err == nil) != (len(ds) > 0) {
			t.Fatalf("%q: %v, %v", s, ds, err)
		}
		for _, d := range ds {
			if d.Algorithm() != ds[0].Algorithm() || !strings.Contains(s, d.SRI()) {
				t.Fatalf("%q holds no %s", s, d.SRI())
			}
		}
	})
}
