package serverjson_test

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

const notes = `{
  "$schema": "` + serverjson.CurrentSchema + `",
  "name": "io.github.acme/notes",
  "description": "Notes",
  "version": "1.4.0",
  "packages": [
    {"registryType": "npm", "identifier": "@acme/notes", "version": "1.4.0", "transport": {"type": "stdio"}}
  ]
}
`

// Every problem of a document is reported at once, by the place where it stands.
func ExampleParse() {
	_, err := serverjson.Parse([]byte(`{"name": "notes", "version": "1.4.0", "packages": [{"registryType": "npm"}]}`))
	if invalid, ok := errors.AsType[*serverjson.Invalid](err); ok {
		for _, issue := range invalid.Issues.Errors() {
			fmt.Println(issue.Path, issue.Reference)
		}
	}
	// Output:
	// /description required
	// /name pattern
	// /packages/0/identifier required
	// /packages/0/transport required
}

// Add the digest of a package to a document, leaving every other byte as it was, and
// read back what the document claims.
func ExampleSetFileHashes() {
	document, err := serverjson.Parse([]byte(notes))
	if err != nil {
		fmt.Println(err)
		return
	}
	ref, err := document.Packages[0].Ref()
	if err != nil {
		fmt.Println(err)
		return
	}
	edited, err := serverjson.SetFileHashes(document.Raw, []serverjson.FileHash{
		{Key: ref.String(), Value: digest.FromBytes([]byte("the tarball")).String()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if document, err = serverjson.Parse(edited); err != nil {
		fmt.Println(err)
		return
	}
	claims, cannot := document.Claims("server.json")
	for _, c := range claims {
		fmt.Println(c.Where, c.Subject)
		fmt.Println(c.Want[0])
	}
	fmt.Println(len(cannot))
	// Output:
	// server.json, file_hashes npm:@acme/notes@1.4.0
	// sha256:9444287dee246d8a40b79422081a10430102ae982462a7c7e713e729b593d2d5
	// 0
}
