package plugin

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// written is the manifest that WriteHash makes of a bundle's.
func written(t *testing.T, b *Bundle, p tree.Profile) *Manifest {
	t.Helper()
	m, err := Parse(b.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.WriteHash(t.Context(), m, p)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = Parse(data); err != nil {
		t.Fatal(err)
	}
	return m
}

// Signatures stay as long as what they sign does.
func TestWriteHashSignatures(t *testing.T) {
	key := newKey(t)
	b, m := bundle(t, ``, map[string]string{"dist/.x": "1"})
	data, err := m.Sign(key, "k", now)
	if err != nil {
		t.Fatal(err)
	}
	b.Manifest = data
	again := written(t, b, tree.Guide)
	if len(again.Signatures) != 1 || len(again.Statements) != 1 || !bytes.Equal(again.Raw, data) {
		t.Errorf("nothing changed:\n%s\n%s", data, again.Raw)
	}
	// The hash is the same, and the manifest is not.
	b.Manifest = bytes.Replace(data, []byte(`"fileCount": 1`), []byte(`"fileCount": 2`), 1)
	if again = written(t, b, tree.Guide); len(again.Signatures) != 1 || len(again.Statements) != 0 {
		t.Errorf("another count: %d signatures, %d statements", len(again.Signatures), len(again.Statements))
	}
	// dist.hash leaves a dotfile out; the checksums do not.
	b.Manifest, b.Contents[".x"] = data, []byte("2")
	if again = written(t, b, tree.Guide); len(again.Signatures) != 1 || len(again.Statements) != 0 {
		t.Errorf("another dotfile: %d signatures, %d statements", len(again.Signatures), len(again.Statements))
	}
	b.Manifest, b.Contents["index.js"] = data, []byte("2")
	if again = written(t, b, tree.Guide); len(again.Signatures) != 0 || len(again.Statements) != 0 {
		t.Errorf("another file: %d signatures, %d statements", len(again.Signatures), len(again.Statements))
	}
	keys := new(TrustedKeys)
	if err := keys.Add(TrustedKey{ID: "k", Public: key.Public()}); err != nil {
		t.Fatal(err)
	}
	b.Manifest = again.Raw
	if r, err := Check(t.Context(), b, again, Host{Scan: scanLines, Keys: keys, Now: now}); err != nil ||
		!r.Verdict.Allowed() || r.SignedBy != "" {
		t.Errorf("%v, %v", r.Verdict.Err(), err)
	}
}

// The manifest names the profile it was hashed under, unless that is guide.
func TestWriteHashProfile(t *testing.T) {
	b, _ := bundle(t, ``, map[string]string{"dist/.x": "12"})
	for _, p := range append(tree.Profiles(), tree.Guide) {
		m := written(t, b, p)
		hash, err := b.Hash(t.Context(), p)
		want := p
		if p == tree.Guide {
			want = ""
		}
		if err != nil || m.Profile != want || m.Dist.Hash != hash.String() ||
			m.Dist.FileCount != int64(len(p.SelectFiles(b.Files))) || len(m.Dist.Checksums) != 2 ||
			strings.Contains(string(m.Raw), "x-hash-profile") != (want != "") {
			t.Errorf("%s: %s, %v", p, m.Raw, err)
		}
		b.Manifest = m.Raw
		if r, err := CheckFiles(t.Context(), b, m); err != nil || !r.Verdict.Allowed() || r.Profile != p {
			t.Errorf("%s: %v, %v", p, r.Verdict.Err(), err)
		}
	}
}

// More files than a manifest lists checksums of have none, and those that were there go.
func TestWriteHashMany(t *testing.T) {
	for _, n := range []int{maxChecksums, maxChecksums + 1} {
		texts := map[string]string{ManifestFile: manifest("")}
		for i := range n {
			texts[fmt.Sprintf("dist/%d.txt", i)] = ""
		}
		files, open := listed(texts)
		b, err := ReadBundle(t.Context(), files, nil, open)
		if err != nil {
			t.Fatal(err)
		}
		b.Manifest = []byte(
			manifest(`"dist":{"hash":"sha256:` + strings.Repeat("0", 64) +
				`","coverage":"all","checksums":{"files":[{"path":"gone","sha256":"` + strings.Repeat("0", 64) +
				`"}]}}`))
		m := written(t, b, tree.Guide)
		want := n
		if n > maxChecksums {
			want = 0
		}
		if len(m.Dist.Checksums) != want || m.Dist.All != (want > 0) || m.Dist.FileCount != int64(n) ||
			len(m.Dist.Hashes) != 1 {
			t.Errorf("%d files: %d checksums, all %v, count %d", n, len(m.Dist.Checksums), m.Dist.All, m.Dist.FileCount)
		}
	}
}

// What a manifest says besides keeps its place, its text and its indent.
func TestWriteHashKeeps(t *testing.T) {
	const before = "{\n\t\"x-b\": 1.50,\n\t\"name\": \"p\",\n\t\"version\": \"1.0.0\",\n\t\"x-a\": \"<&>\",\n" +
		"\t\"entry\": \"dist/index.js\",\n\t\"manifestVersion\": \"2\"\n}"
	files, open := listed(map[string]string{ManifestFile: before, "dist/index.js": "1"})
	b, err := ReadBundle(t.Context(), files, nil, open)
	if err != nil {
		t.Fatal(err)
	}
	m := written(t, b, tree.Guide)
	begin, end := before[:len(before)-2], "\n}\n"
	if text := string(m.Raw); !strings.HasPrefix(text, begin+",\n\t\"dist\": {\n\t\t\"hash\": ") ||
		!strings.HasSuffix(text, end) {
		t.Errorf("%s", text)
	}
}
