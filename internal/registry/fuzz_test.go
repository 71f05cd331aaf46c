package registry

import (
	"encoding/json"
	"testing"
)

func FuzzCursor(f *testing.F) {
	f.Add(cursor{"io.example/a", "1.0.0"}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil || text == "" {
			return
		}
		if c.String() != text {
			t.Errorf("%q is written as %q", text, c.String())
		}
	})
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte("validation = \"observe\"\nrequire_hashes = true\nblocked = [\"io.example/*\"]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data, Policy{Validation: Enforce})
		if err != nil {
			return
		}
		if p.Validation != Off && p.Validation != Observe && p.Validation != Enforce {
			t.Errorf("validation %q", p.Validation)
		}
	})
}

// What a publisher sends is read, or refused with issues.
func FuzzPublished(f *testing.F) {
	f.Add([]byte(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.example/a","version":"1.0.0","description":"x","packages":[{"registryType":"npm","identifier":"a","version":"1.0.0","transport":{"type":"stdio"}}],"file_hashes":{"npm:a@1.0.0":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, issues, err := read(data)
		if err == nil && len(issues) == 0 && (doc == nil || doc.Name == "" || doc.Version == "") {
			t.Errorf("%+v", doc)
		}
	})
}

// What another registry answers, a client reads.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"server":{"name":"io.example/a","version":"1.0.0"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true},"hallmark/integrity":{"evidence":[],"findings":[]}}}`))
	f.Add([]byte(`{"servers":[],"metadata":{"nextCursor":"x"}}`))
	f.Add([]byte(`{"kind":"facet","name":"a","version":"1.0.0","content_hash":"sha256:00","manifest":{}}`))
	c := &Client{Base: "https://registry.example.com"}
	f.Fuzz(func(t *testing.T, data []byte) {
		var env Envelope
		if c.decode("/x", data, &env) == nil {
			if c.expect(env, "io.example/a", "1.0.0") == nil && !json.Valid(env.Server) {
				t.Errorf("%q", env.Server)
			}
			if i := env.Meta.Integrity; i != nil {
				for _, found := range i.Findings {
					found.Failing()
				}
			}
		}
		if rec, err := c.archiveRecord("/x", data, "facets", "a", "1.0.0"); err == nil && (rec.Name != "a" || rec.Version != "1.0.0") {
			t.Errorf("%+v", rec)
		}
	})
}
