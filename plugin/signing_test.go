package plugin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// vectors is the shape of spec/signatures.json: signatures that openssl and minisign
// made, and what is wrong with variations of them.
type vectors struct {
	Message    string            `json:"message"`
	Keys       map[string]string `json:"keys"`
	Refused    map[string]string `json:"refused"`
	Signatures []struct {
		Name      string             `json:"name"`
		Key       string             `json:"key"`
		Alg       SignatureAlgorithm `json:"alg"`
		Message   string             `json:"message"`
		Signature []byte             `json:"signature"`
		Error     string             `json:"error"`
	} `json:"signatures"`
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("../spec/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

var named = map[string]error{"": nil, "ErrAlgorithm": ErrAlgorithm, "ErrSignature": ErrSignature}

// Each signature is verified by its key alone and as one of all trusted keys, with and
// without the key's id.
func TestVectors(t *testing.T) {
	v := readVectors(t)
	var all TrustedKeys
	keys := map[string]PublicKey{}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range slices.Sorted(maps.Keys(v.Keys)) {
		key, err := ParsePublicKey(v.Keys[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		keys[name] = key
		if again, err := ParsePublicKey(key.String()); err != nil || again.String() != key.String() ||
			again.ID() != key.ID() {
			t.Errorf("%s does not print to what is parsed: %v", name, err)
		}
		if err := all.Add(TrustedKey{ID: name, Public: key, Added: now}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range v.Signatures {
		message := c.Message
		if message == "" {
			message = v.Message
		}
		want, ok := named[c.Error]
		if !ok {
			t.Fatalf("%s: error %q", c.Name, c.Error)
		}
		if err := keys[c.Key].Verify(c.Alg, []byte(message), c.Signature); !errors.Is(err, want) ||
			(err == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", c.Name, err, want)
		}
		k, err := all.Verify(c.Alg, c.Key, []byte(message), c.Signature, now)
		if !errors.Is(err, want) || (err == nil) != (want == nil) || err == nil && k.ID != c.Key {
			t.Errorf("%s, by id: got %v, want %v", c.Name, err, want)
		}
		k, err = all.Verify(c.Alg, "", []byte(message), c.Signature, now)
		switch {
		case want == nil && (err != nil || k.ID != c.Key), want != nil && !errors.Is(err, ErrUnknown):
			t.Errorf("%s, without id: %q, %v", c.Name, k.ID, err)
		}
		for other := range keys {
			if other == c.Key {
				continue
			}
			if _, err := all.Verify(c.Alg, other, []byte(message), c.Signature, now); err == nil {
				t.Errorf("%s: verified by the key %s", c.Name, other)
			}
		}
	}
	for name, text := range v.Refused {
		if key, err := ParsePublicKey(text); err == nil {
			t.Errorf("%s is read as a key of %s", name, key.Algorithm())
		}
	}
	if err := (PublicKey{}).Verify("", nil, nil); !errors.Is(err, ErrAlgorithm) {
		t.Errorf("the zero key: %v", err)
	}
	for _, name := range []string{"ed25519", "rsa", "p256", "p384", "minisign"} {
		if !keys[name].Algorithm().Known() {
			t.Errorf("%s: algorithm %q is not known", name, keys[name].Algorithm())
		}
	}
	if SignatureAlgorithm("RSA-MD5").Known() {
		t.Error("RSA-MD5 is known")
	}
}

// A key that is revoked, or outside of its time, verifies nothing.
func TestUsable(t *testing.T) {
	v := readVectors(t)
	signature := v.Signatures[0]
	key, err := ParsePublicKey(v.Keys[signature.Key])
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		key  TrustedKey
		want error
	}{
		{"always", TrustedKey{}, nil},
		{"from now", TrustedKey{NotBefore: now}, nil},
		{"from tomorrow", TrustedKey{NotBefore: now.Add(day)}, ErrValidity},
		{"until now", TrustedKey{NotAfter: now}, nil},
		{"until yesterday", TrustedKey{NotAfter: now.Add(-day)}, ErrValidity},
		{"revoked yesterday", TrustedKey{Revoked: now.Add(-day)}, ErrRevoked},
		{"revoked tomorrow", TrustedKey{Revoked: now.Add(day)}, ErrRevoked},
	} {
		c.key.ID, c.key.Public, c.key.Added = "k", key, now
		var s TrustedKeys
		if err := s.Add(c.key); err != nil {
			t.Fatal(err)
		}
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := ParseTrustedKeys(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"k", ""} {
			if _, err := read.Verify(signature.Alg, id, []byte(v.Message), signature.Signature, now); !errors.Is(err,
				c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s, id %q: got %v, want %v", c.name, id, err, c.want)
			}
		}
	}
	var s TrustedKeys
	if _, err := s.Verify(signature.Alg, "k", []byte(v.Message), signature.Signature, now); !errors.Is(err,
		ErrUnknown) {
		t.Errorf("no keys: %v", err)
	}
	if err := s.Revoke("k", "lost", now); !errors.Is(err, ErrUnknown) {
		t.Errorf("revoke of an unknown key: %v", err)
	}
	s.Add(TrustedKey{ID: "k", Public: key, Added: now})
	if err := errors.Join(s.Revoke("k", "lost", now), s.Revoke("k", "again", now.Add(day))); err != nil {
		t.Fatal(err)
	}
	if k := s.All()[0]; k.Reason != "lost" || !k.Revoked.Equal(now) {
		t.Errorf("revoked twice: %+v", k)
	}
}

func TestKeysFile(t *testing.T) {
	v := readVectors(t)
	pem := func(name string) string {
		text, err := json.Marshal(v.Keys[name])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const added = `"added":"2026-01-01T00:00:00Z"`
	one := `{"id":"a","public_key":` + pem("rsa") + `,` + added
	for _, c := range []struct{ name, text, want string }{
		{"good", `{"version":1,"keys":[` + one + `}]}`, ""},
		{"its algorithm", `{"version":1,"keys":[` + one + `,"algorithm":"RSA-SHA256"}]}`, ""},
		{"none", `{"version":1,"keys":[]}`, ""},
		{"an algorithm that is not the key's", `{"version":1,"keys":[` + one + `,"algorithm":"Ed25519"}]}`,
			"not that of the key"},
		{"a newer version", `{"version":2,"keys":[]}`, "version 2"},
		{"no version", `{"keys":[]}`, "version 0"},
		{"a member in another case", `{"version":1,"keys":[` + one + `,"Revoked":"2026-01-01T00:00:00Z"}]}`, "Revoked"},
		{"a member twice, in two cases", `{"version":1,"keys":[` + one + `}],"Keys":[]}`, "Keys"},
		{"an unknown member", `{"version":1,"keys":[` + one + `,"disabled":true}]}`, "disabled"},
		{"a member twice", `{"version":1,"keys":[` + one + `,"revoked":"2026-01-01T00:00:00Z","revoked":null}]}`,
			"revoked"},
		{"an id twice", `{"version":1,"keys":[` + one + `},{"id":"a","public_key":` + pem("p256") + `,` + added + `}]}`,
			"already"},
		{"a key twice", `{"version":1,"keys":[` + one + `},{"id":"b","public_key":` + pem("rsa") + `,` + added + `}]}`,
			"already, as a"},
		{"an id with a space", `{"version":1,"keys":[{"id":"a b","public_key":` + pem("rsa") + `,` + added + `}]}`,
			"an id is"},
		{"no id", `{"version":1,"keys":[{"public_key":` + pem("rsa") + `,` + added + `}]}`, "an id is"},
		{"no key", `{"version":1,"keys":[{"id":"a",` + added + `}]}`, "neither PEM"},
		{"ends before it begins",
			`{"version":1,"keys":[` + one +
				`,"not_before":"2026-02-01T00:00:00Z","not_after":"2026-01-01T00:00:00Z"}]}`, "ends before"},
		{"more after the end", `{"version":1,"keys":[]} {}`, "keys file"},
		{"not JSON", ``, "keys file"},
		{"too large", `{"version":1,"keys":[]}` + strings.Repeat(" ", MaxKeysFile), "keys file"},
	} {
		s, err := ParseTrustedKeys([]byte(c.text))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		case err != nil:
			continue
		}
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseTrustedKeys(data); err != nil || len(again.All()) != len(s.All()) {
			t.Errorf("%s: what is written is not read: %v", c.name, err)
		}
	}
	if err := new(TrustedKeys).Add(TrustedKey{ID: "a"}); err == nil {
		t.Error("a key without a public key is trusted")
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(`{"version":1,"keys":[]}`))
	f.Add([]byte(base64.StdEncoding.EncodeToString(make([]byte, 42))))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParseTrustedKeys(data); err == nil {
			if _, err := s.Encode(); err != nil {
				t.Error(err)
			}
		}
		if key, err := ParsePublicKey(string(data)); err == nil {
			if again, err := ParsePublicKey(key.String()); err != nil || again.String() != key.String() {
				t.Errorf("%q, %v", key, err)
			}
		}
		if key, err := ParsePrivateKey(data, ""); err == nil && !key.Public().Algorithm().Known() {
			t.Error("a private key of no algorithm")
		}
	})
}
