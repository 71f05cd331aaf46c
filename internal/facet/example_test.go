package facet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing/fstest"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Pack a directory into a .facet, read it again, and compare its contents with the
// fingerprint that a lock holds.
func ExamplePack() {
	fsys := fstest.MapFS{
		"facet.json": {Data: []byte(`{"name": "notes", "version": "1.4.0",
			"skills": {"write": {"description": "Write notes"}}}`)},
		"skills/write/SKILL.md": {Data: []byte("# Write\n")},
		"todo.txt":              {Data: []byte("not a part of the facet\n")},
	}
	files, err := tree.Walk(fsys, tree.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var out bytes.Buffer
	packed, err := facet.Pack(context.Background(), &out, files, tree.OpenFS(fsys), archive.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("left out:", packed.Left)

	read, err := facet.Read(&out, archive.Limits{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	locked := evidence.Claim{Subject: "notes", Scheme: evidence.FacetTar, Authority: evidence.Lock}
	locked.Want = append(locked.Want, packed.Integrity)
	for _, e := range read.Evidence("notes", "notes.facet", locked) {
		fmt.Println(e.Subject, e.Authority, e.Outcome)
	}
	// Output:
	// left out: [todo.txt]
	// notes lock match
	// notes manifest match
	// notes/facet.json manifest match
	// notes/skills/write/SKILL.md manifest match
}

// Every problem of a manifest is reported at once.
func ExampleParseManifest() {
	_, err := facet.ParseManifest([]byte(`{"name": "Notes", "version": "1.x", "agents": {"scribe": {}}}`))
	if invalid, ok := errors.AsType[*facet.Invalid](err); ok {
		for _, issue := range invalid.Issues {
			fmt.Println(issue.Path, issue.Message)
		}
	}
	// Output:
	// /name "Notes" is no name: 2 to 64 of [a-z0-9-] that begin and end with a letter or digit, or @scope/name
	// /version "1.x" is not an exact version M.N.P
	// /agents/scribe/description is missing
}

// Find the newest version that a requirement admits.
func ExampleRequirement_Newest() {
	r, err := artifact.ParseRequirement("1.4.*")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Newest([]string{"1.4.2", "1.4.10", "1.5.0", "1.4.11-rc.1"}))
	// Output:
	// 1.4.10 true
}
