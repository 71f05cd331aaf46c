package plugin

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// now is when the tests of signatures take place.
var now = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// newKey is an Ed25519 key.
func newKey(t *testing.T) PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), "")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newMinisign is a key of minisign.
func newMinisign(t *testing.T) PrivateKey {
	t.Helper()
	_, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePrivateKey(text, "")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signed is the base64 of a signature.
func signed(t *testing.T, key PrivateKey, message string) string {
	t.Helper()
	raw, err := key.Sign([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// Each signature is judged by itself, and whether a trusted key made one.
func TestSignatures(t *testing.T) {
	acme, other, stranger, ended, revoked, mini := newKey(t), newKey(t), newKey(t), newKey(t), newKey(t), newMinisign(t)
	keys := new(TrustedKeys)
	for _, k := range []TrustedKey{
		{ID: "ended", Public: ended.Public(), NotAfter: now.Add(-time.Hour)},
		{ID: "revoked", Public: revoked.Public(), Revoked: now},
		{ID: "acme", Public: acme.Public(), NotAfter: now}, {ID: "other", Public: other.Public()},
		{ID: "mini", Public: mini.Public()},
	} {
		if err := keys.Add(k); err != nil {
			t.Fatal(err)
		}
	}
	b, m := bundle(t, ``, nil)
	hash := m.Dist.Hash
	statement, err := m.Statement()
	if err != nil {
		t.Fatal(err)
	}
	stated := string(statement)
	const ed = "Ed25519"
	const subject = "net-utils@1.1.0 "
	for _, c := range []struct {
		name       string
		signatures []Signature // over dist.hash
		statements []Signature
		file       string // mcp-plugin.sig
		by         string
		want       []string // outcomes of signatures and statements, then whether a trusted key made each
	}{
		{"none", nil, nil, "", "", []string{"absent", "absent"}},
		{"a trusted key", []Signature{{ed, signed(t, acme, hash), "acme", ""}}, nil, "", "acme",
			[]string{"match", "match", "absent"}},
		{"a trusted key without its id", []Signature{{ed, signed(t, acme, hash), "", ""}}, nil, "", "acme",
			[]string{"match", "match", "absent"}},
		{"a stranger", []Signature{{ed, signed(t, stranger, hash), "", ""}}, nil, "", "",
			[]string{"unverifiable untrusted", "absent", "absent"}},
		{"a stranger by name", []Signature{{ed, signed(t, stranger, hash), "stranger", ""}}, nil, "", "",
			[]string{"unverifiable untrusted", "absent", "absent"}},
		{"a stranger under a trusted name", []Signature{{ed, signed(t, stranger, hash), "acme", ""}}, nil, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a stranger, then two trusted keys",
			[]Signature{{ed, signed(t, stranger, hash), "", ""}, {ed, signed(t, other, hash), "", ""},
				{ed, signed(t, acme, hash), "", ""}}, nil, "", "other",
			[]string{"unverifiable untrusted", "match", "match", "match", "absent"}},
		{"a trusted key, and one signature that does not hold",
			[]Signature{{ed, signed(t, acme, hash), "acme", ""}, {ed, signed(t, other, "x"), "other", ""}}, nil, "",
			"acme",
			[]string{"match", "mismatch", "match", "absent"}},
		{"an ended key", []Signature{{ed, signed(t, ended, hash), "ended", ""}}, nil, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a revoked key", []Signature{{ed, signed(t, revoked, hash), "revoked", "2020-01-01T00:00:00Z"}}, nil, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a revoked key without its id", []Signature{{ed, signed(t, revoked, hash), "", ""}}, nil, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"another algorithm than the key's", []Signature{{"RSA-SHA256", signed(t, acme, hash), "acme", ""}}, nil, "",
			"", []string{"mismatch", "absent", "absent"}},
		{"an unknown algorithm", []Signature{{"RSA-MD5", signed(t, acme, hash), "", ""}}, nil, "", "",
			[]string{"unverifiable untrusted", "absent", "absent"}},
		{"an unknown algorithm under a trusted name", []Signature{{"RSA-MD5", signed(t, acme, hash), "acme", ""}}, nil,
			"", "", []string{"mismatch", "absent", "absent"}},
		{"what no key can have made", []Signature{{ed, "QUJDREVGR0hJSktMTU5PUA==", "", ""}}, nil, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a trusted key by another name", []Signature{{"EdDSA", signed(t, acme, hash), "", ""}}, nil, "", "acme",
			[]string{"match", "match", "absent"}},
		{"another algorithm than the key's by another name", []Signature{{"ES256", signed(t, acme, hash), "acme", ""}},
			nil, "", "", []string{"mismatch", "absent", "absent"}},
		{"no base64", []Signature{{ed, "!!!!!!!!!!!!!!!!", "acme", ""}}, nil, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"minisign", []Signature{{"minisign", signed(t, mini, hash), "", ""}}, nil, "", "mini",
			[]string{"match", "match", "absent"}},

		{"a statement", nil, []Signature{{ed, signed(t, acme, stated), "acme", ""}}, "", "",
			[]string{"match", "absent", "match"}},
		{"a statement's signature as one of dist.hash", []Signature{{ed, signed(t, acme, stated), "acme", ""}}, nil, "",
			"", []string{"mismatch", "absent", "absent"}},
		{"a signature of dist.hash as a statement's", nil, []Signature{{ed, signed(t, acme, hash), "acme", ""}}, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a statement without its domain", nil,
			[]Signature{{ed, signed(t, acme, strings.TrimPrefix(stated, statementDomain)), "acme", ""}}, "", "",
			[]string{"mismatch", "absent", "absent"}},
		{"both", []Signature{{ed, signed(t, acme, hash), "", ""}},
			[]Signature{{ed, signed(t, stranger, stated), "", ""}, {ed, signed(t, other, stated), "", ""}}, "", "acme",
			[]string{"match", "unverifiable untrusted", "match", "match", "match"}},

		{"a statement by a trusted key, then by a stranger", nil,
			[]Signature{{ed, signed(t, acme, stated), "acme", ""}, {ed, signed(t, stranger, stated), "", ""}}, "", "",
			[]string{"match", "unverifiable untrusted", "absent", "match"}},

		{"a file of base64", nil, nil, " " + signed(t, other, hash) + "\n", "other",
			[]string{"match", "match", "absent"}},
		{"a file of base64 by a stranger", nil, nil, signed(t, stranger, hash), "",
			[]string{"unverifiable untrusted", "absent", "absent"}},
		{"a file of base64 by an ended key", nil, nil, signed(t, ended, hash), "",
			[]string{"mismatch", "absent", "absent"}},
		{"a file of base64 by a revoked key", nil, nil, signed(t, revoked, hash), "",
			[]string{"mismatch", "absent", "absent"}},
		{"a file of JSON", nil, nil, `{"alg":"ed25519","signature":"` + signed(t, acme, hash) + `","keyId":"acme"}`,
			"acme", []string{"match", "match", "absent"}},
		{"a file of JSON with sig", nil, nil, `{"alg":"Ed25519","sig":"` + signed(t, acme, hash) + `"}`, "acme",
			[]string{"match", "match", "absent"}},
		{"a file of JSON with both", nil, nil,
			`{"alg":"Ed25519","signature":"` + signed(t, acme, hash) + `","sig":"` + signed(t, stranger, hash) + `"}`,
			"acme", []string{"match", "match", "absent"}},
		{"a file of JSON with a member twice", nil, nil,
			`{"alg":"Ed25519","signature":"` + signed(t, stranger, hash) + `","signature":"` + signed(t, acme, hash) +
				`"}`, "", []string{"mismatch", "absent", "absent"}},
		{"a file of minisign", nil, nil, minisigned(t, mini, hash), "mini", []string{"match", "match", "absent"}},
		{"a file of minisign that was changed", nil, nil,
			strings.Replace(minisigned(t, mini, hash), "trusted comment: ", "trusted comment: x", 2), "",
			[]string{"unverifiable untrusted", "absent", "absent"}},
		{"a file that is short", nil, nil, "QUJDREVGR0hJSkt", "", []string{"mismatch", "absent", "absent"}},
		{"a file of fifteen characters", nil, nil, "QUJDREVGR0hJ", "", []string{"mismatch", "absent", "absent"}},
		{"a file of base64 that no key can have made", nil, nil, "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a file of words", nil, nil, "helloworldhelloworld", "", []string{"mismatch", "absent", "absent"}},
		{"a file of spaces", nil, nil, " \n", "", []string{"mismatch", "absent", "absent"}},
		{"a file of JSON without a signature", nil, nil, `{}`, "", []string{"mismatch", "absent", "absent"}},
		{"a file of JSON that no key can have made", nil, nil, `{"alg":"Ed25519","signature":"QUJDREVGR0hJSktM"}`, "",
			[]string{"mismatch", "absent", "absent"}},
		{"a file of JSON with base64 alone", nil, nil, `{"signature":"QUJDREVGR0hJSktM"}`, "",
			[]string{"mismatch", "absent", "absent"}},
		{"a file of JSON that is none", nil, nil, `{"signature":`, "", []string{"mismatch", "absent", "absent"}},
		{"a file that begins as minisign's", nil, nil, "untrusted comment: x\nnothing\n", "",
			[]string{"mismatch", "absent", "absent"}},
		{"a file of nonsense", nil, nil, "not a signature", "", []string{"mismatch", "absent", "absent"}},
		{"an empty file", nil, nil, "", "", []string{"absent", "absent"}},
		{"a file that is too long", nil, nil, strings.Repeat("QUJD", 5000), "",
			[]string{"mismatch", "absent", "absent"}},
		{"a signature before the file", []Signature{{ed, signed(t, acme, hash), "", ""}}, nil, signed(t, other, hash),
			"acme", []string{"match", "match", "match", "absent"}},
	} {
		b, m := edited(t, b, func(top, _ map[string]any) {
			if c.signatures != nil {
				top["signatures"] = c.signatures
			}
			if c.statements != nil {
				top["x-hallmark-signatures"] = c.statements
			}
		})
		if c.file != "" {
			b.Signature = []byte(c.file)
		}
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Keys: keys, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines(r.Verdict) {
			if strings.HasPrefix(line, "signature ") || strings.HasPrefix(line, "statement ") {
				_, outcome, _ := strings.Cut(line, subject)
				got = append(got, outcome)
			}
		}
		if !slices.Equal(got, c.want) || r.SignedBy != c.by || (r.Signature != "") != (c.by != "") {
			t.Errorf("%s: by %q, %q; want by %q, %q", c.name, r.SignedBy, got, c.by, c.want)
		}
		// What does not hold is refused whether or not signatures are required.
		if class := r.Verdict.Class(); (class == evidence.Signature) != slices.Contains(c.want, "mismatch") ||
			class != evidence.OK && class != evidence.Signature {
			t.Errorf("%s: %v", c.name, r.Verdict.Err())
		}
		for _, host := range []Host{{Strict: true}, {Flags: Flags{RequireSignatures: true}}} {
			host.Scan, host.Keys, host.Now = scanLines, keys, now
			strict, err := Check(t.Context(), b, m, host)
			if err != nil {
				t.Fatal(err)
			}
			enough := c.by != ""
			if host.Strict {
				enough = c.want[len(c.want)-1] == "match"
			}
			if enough = enough && !slices.Contains(c.want, "mismatch"); enough != strict.Verdict.Allowed() {
				t.Errorf("%s, strict %v: %v", c.name, host.Strict, strict.Verdict.Err())
			}
		}
	}
}

// minisigned is the text of a .minisig file.
func minisigned(t *testing.T, key PrivateKey, message string) string {
	t.Helper()
	raw, err := key.Sign([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A signature over nothing is one over any plugin without a dist.hash.
func TestSignatureOfNothing(t *testing.T) {
	key := newKey(t)
	keys := new(TrustedKeys)
	if err := keys.Add(TrustedKey{ID: "k", Public: key.Public()}); err != nil {
		t.Fatal(err)
	}
	b, _ := bundle(t, ``, nil)
	b, m := edited(t, b, func(top, dist map[string]any) {
		delete(dist, "hash")
		top["signatures"] = []Signature{{"Ed25519", signed(t, key, ""), "k", ""}}
	})
	r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Keys: keys, Now: now})
	if err != nil || r.SignedBy != "" {
		t.Errorf("signed by %q, %v", r.SignedBy, err)
	}
	if _, err := m.Sign(key, "k", now); evidence.ClassOf(err) != evidence.Integrity {
		t.Errorf("signing it: %v", err)
	}
}

// A statement covers all of a manifest but its signatures, and is that of no other one.
func TestStatement(t *testing.T) {
	b, m := bundle(t, `"x-a":1`, nil)
	first, err := m.Statement()
	if err != nil || !bytes.HasPrefix(first, []byte("hallmark-plugin-manifest-v1\n{")) {
		t.Fatalf("%q, %v", first, err)
	}
	for name, same := range map[string]bool{"signatures": true, "x-hallmark-signatures": true, "version": false,
		"name": false, "description": false, "permissions": false, "dependenciesPolicy": false, "x-a": false,
		"x-b": false} {
		_, m := edited(t, b, func(top, _ map[string]any) {
			top[name] = map[string]any{"signatures": []Signature{{"Ed25519", strings.Repeat("A", 16), "k", ""}},
				"x-hallmark-signatures": []Signature{{"Ed25519", strings.Repeat("A", 16), "k", ""}},
				"version":               "1.1.1", "name": "other", "description": "d",
				"permissions": map[string]any{"exec": true}, "dependenciesPolicy": "external-allowed", "x-a": 2,
				"x-b": nil}[name]
		})
		s, err := m.Statement()
		if err != nil || bytes.Equal(first, s) != same {
			t.Errorf("%s: the same statement is %v, %v", name, !same, err)
		}
	}
	// 2^53 and 2^53+1 would be one number.
	large, err := Parse(bytes.Replace(b.Manifest, []byte(`"x-a": 1`), []byte(`"x-a": 9007199254740993`), 1))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := large.Statement(); err == nil {
		t.Errorf("a statement of a number that is rounded: %s", s)
	}
	large.Statements = []Signature{{"Ed25519", strings.Repeat("A", 16), "", ""}}
	r, err := Check(t.Context(), b, large, Host{Scan: scanLines, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "a statement that cannot be", r.Verdict, "statement manifest net-utils@1.1.0 mismatch")
}

// Signing again under an id replaces what it signed before, and keeps what others did.
func TestSignAgain(t *testing.T) {
	a, b := newKey(t), newKey(t)
	keys := new(TrustedKeys)
	for id, k := range map[string]PrivateKey{"a": a, "b": b} {
		if err := keys.Add(TrustedKey{ID: id, Public: k.Public()}); err != nil {
			t.Fatal(err)
		}
	}
	plugin, m := bundle(t, ``, nil)
	for _, step := range []struct {
		key  PrivateKey
		id   string
		want string
	}{{a, "a", "a"}, {b, "b", "a b"}, {a, "a", "b a"}} {
		data, err := m.Sign(step.key, step.id, now)
		if err != nil {
			t.Fatal(err)
		}
		if m, err = Parse(data); err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]Signature{m.Signatures, m.Statements} {
			var ids []string
			for _, s := range list {
				ids = append(ids, s.KeyID)
			}
			if strings.Join(ids, " ") != step.want {
				t.Errorf("signed by %s: %v, want %s", step.id, ids, step.want)
			}
		}
	}
	plugin.Manifest = m.Raw
	if r, err := Check(t.Context(), plugin, m, Host{Scan: scanLines, Keys: keys, Now: now, Strict: true}); err != nil ||
		!r.Verdict.Allowed() || r.SignedBy != "b" {
		t.Errorf("%v, %v", r.Verdict.Err(), err)
	}
	for _, id := range []string{"c", "d", "e"} {
		data, err := m.Sign(newKey(t), id, now)
		if err != nil {
			t.Fatal(err)
		}
		if m, err = Parse(data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Sign(newKey(t), "f", now); err == nil {
		t.Error("a sixth signature is written, and no reader takes it")
	}
	if _, err := m.Sign(a, strings.Repeat("a", 201), now); err == nil {
		t.Error("an id is written that no reader takes")
	}
}

// A signature file has one spelling of each member: who reads another case reads another signature.
func TestSignatureFileExact(t *testing.T) {
	for text, good := range map[string]bool{
		`{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa","keyId":"k","comment":"x"}`:                  true,
		`{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa","Signature":"bbbbbbbbbbbbbbbb","keyId":"k"}`: false,
		`{"alg":"Ed25519","Sig":"aaaaaaaaaaaaaaaa","keyId":"k"}`:                                      false,
		`{"Alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa"}`:                                            false,
	} {
		if s, err := parseSignatureFile([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}
