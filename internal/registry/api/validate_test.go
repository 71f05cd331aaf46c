package api

import "testing"

// What a publisher sends is read, or refused with issues.
func FuzzPublished(f *testing.F) {
	f.Add([]byte(
		`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",` +
			`"name":"io.example/a","version":"1.0.0","description":"x","packages":[{"registryType":"npm",` +
			`"identifier":"a","version":"1.0.0","transport":{"type":"stdio"}}],` +
			`"file_hashes":{"npm:a@1.0.0":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, issues, err := parseDocument(data)
		if err == nil && len(issues) == 0 && (doc == nil || doc.Name == "" || doc.Version == "") {
			t.Errorf("%+v", doc)
		}
	})
}

func TestLocation(t *testing.T) {
	for pointer, want := range map[string]string{
		"":                             "body",
		"/version":                     "body.version",
		"/packages/0/version":          "body.packages[0].version",
		"/$schema":                     "body.$schema",
		"/file_hashes/npm:@a~1b@1.0.0": `body["npm"]`,
		"/a~1b~01":                     `body["a/b~1"]`,
		"/a/":                          `body.a[""]`,
		"/é\n":                         `body["\u00e9\n"]`,
	} {
		if pointer == "/file_hashes/npm:@a~1b@1.0.0" {
			want = `body.file_hashes["npm:@a/b@1.0.0"]`
		}
		if got := location(pointer); got != want {
			t.Errorf("%q: %s, want %s", pointer, got, want)
		}
	}
}
