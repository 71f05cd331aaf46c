package publish_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
)

// What the registry answers to a publish is compared with what was sent.
func TestPublishArchiveAnswers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("facet.json",
		`{"name": "review", "version": "1.0.0", "files": ["NOTICE"], "commands": {"go": {"description": "x"}}}`)
	write("NOTICE", "mine")
	if err := os.Mkdir(filepath.Join(dir, "commands"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("commands/go.md", "go")
	p, err := publish.Pack(t.Context(), publish.PackOptions{Dir: dir, File: filepath.Join(dir, "out.facet")})
	if err != nil {
		t.Fatal(err)
	}
	if !publish.IsArchive(p.File) || publish.IsArchive(filepath.Join(dir, "facet.json")) ||
		publish.IsArchive(filepath.Join(dir, "absent")) {
		t.Error("archives are told wrongly")
	}
	zeros := []byte(strings.Repeat("0", 64))
	for name, change := range map[string]func([]byte) []byte{
		"":                  nil,
		"content_integrity": func(b []byte) []byte { return bytes.Replace(b, []byte(p.Integrity.Hex()), zeros, 1) },
		"content_hash":      func(b []byte) []byte { return bytes.Replace(b, []byte(p.ContentHash.Hex()), zeros, 1) },
		"manifest": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"description":"x"`), []byte(`"description":"y"`), 1)
		},
		"version": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"version":"1.0.0"`), []byte(`"version":"1.0.1"`), 1)
		},
		"no proof": func(b []byte) []byte { return bytes.Replace(b, []byte(`"proof":`), []byte(`"prof":`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := hosttest.NewLoggedRegistry(t, "")
			r.Facets("0.9.0") // so that there is another entry to prove
			r.OnWire(func(path string, body []byte) []byte {
				if change != nil && strings.HasSuffix(path, "/versions") {
					return change(body)
				}
				return body
			})
			done, err := publish.Archive(t.Context(), hosttest.New(t), p.File,
				publish.Options{Registry: &client.Client{Base: r.URL}, Log: trail.Options{Key: r.Key}})
			if change == nil {
				if err != nil || done.Entry == nil || *done.Entry != 1 || !done.Verdict.Allowed() {
					t.Fatalf("%+v, %v", done, err)
				}
				return
			}
			hosttest.RefusedWith(t, err, evidence.Integrity, "is published, but", "review@1.0.0")
			if done.Record == nil {
				t.Error("the record is not told")
			}
		})
	}

	// The proof of another entry, in order by itself.
	r := hosttest.NewLoggedRegistry(t, "")
	other := r.Facets("0.9.0")[0]
	r.OnWire(func(path string, body []byte) []byte {
		if i := bytes.Index(body, []byte(`"proof":"`)); i >= 0 && strings.HasSuffix(path, "/versions") {
			return append(body[:i:i], []byte(`"proof":`+quoted(string(other.Proof))+`}`)...)
		}
		return body
	})
	_, err = publish.Archive(t.Context(), hosttest.New(t), p.File,
		publish.Options{Registry: &client.Client{Base: r.URL}, Log: trail.Options{Key: r.Key}})
	hosttest.RefusedWith(t, err, evidence.Integrity, "review@1.0.0", "0.9.0")
}

// quoted is s as a JSON string.
func quoted(s string) string {
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s) + `"`
}
