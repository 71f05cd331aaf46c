package artifact_test

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// A Ref says where an artifact comes from and which one it is.
func ExampleParse() {
	for _, text := range []string{
		"npm:@acme/notes@1.4.0",
		"pypi:acme-notes==1.4.0/acme_notes-1.4.0-py3-none-any.whl",
		"github:acme/notes/v1.4.0/notes.mcpb",
		"oci:registry.example.com/acme/notes:1.4.0",
	} {
		ref, err := artifact.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%-6s  %-31s  %s\n", ref.Kind(), ref.Name(), ref.Version())
	}
	// Output:
	// npm     @acme/notes                      1.4.0
	// pypi    acme-notes                       1.4.0
	// github  acme/notes                       v1.4.0
	// oci     registry.example.com/acme/notes  1.4.0
}

// A range names no artifact. The error says which part of the text is wrong.
func ExampleParseError() {
	_, err := artifact.Parse("npm:@acme/notes@^1.4.0")
	if wrong, ok := errors.AsType[*artifact.ParseError](err); ok {
		fmt.Println(wrong.Part)
		fmt.Println(wrong.Reason)
	}
	// Output:
	// version
	// a range is not an exact version
}

// Two spellings name the same artifact if their normal forms are equal.
func ExampleRef_Normal() {
	a, errA := artifact.NewPyPI("Acme.Notes", "1.4", "")
	b, errB := artifact.NewPyPI("acme-notes", "v1.4.0", "")
	fmt.Println(errA, errB)
	fmt.Println(a == b, a.Normal() == b.Normal())
	fmt.Println(a.Normal())
	// Output:
	// <nil> <nil>
	// false true
	// pypi:acme-notes==1.4
}

// Each kind orders its versions by its own rules. A tag has no order.
func ExampleIsOlder() {
	fmt.Println(artifact.IsOlder(artifact.NPM, "1.10.0-rc.1", "1.10.0"))
	fmt.Println(artifact.IsOlder(artifact.PyPI, "1.9", "1.10rc1"))
	fmt.Println(artifact.IsOlder(artifact.GitHub, "stable", "v2.0.0"))
	// Output:
	// true
	// true
	// false
}

// A message never shows the password of a URL.
func ExampleRedactURLs() {
	fmt.Println(artifact.RedactURLs("fetch https://deploy:s3cret@git.example.com/notes.git: timeout"))
	// Output:
	// fetch https://git.example.com/notes.git: timeout
}
