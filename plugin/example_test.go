package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"testing/fstest"

	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

const exampleManifest = `{
  "manifestVersion": "2",
  "name": "net-utils",
  "version": "1.1.0",
  "entry": "dist/index.js",
  "dependencies": ["base"],
  "dist": {"hash": "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
}`

// readExample reads a plugin of one file, as one does that of a directory.
func readExample() *plugin.Bundle {
	dir := fstest.MapFS{
		"mcp-plugin.json": {Data: []byte(exampleManifest)},
		"dist/index.js":   {Data: []byte("import \"node:path\";\n")},
	}
	files, err := tree.Walk(dir, tree.Limits{})
	if err != nil {
		panic(err)
	}
	b, err := plugin.ReadBundle(context.Background(), files, nil, tree.OpenFS(dir))
	if err != nil {
		panic(err)
	}
	return b
}

func ExampleParse() {
	m, err := plugin.Parse([]byte(exampleManifest))
	fmt.Println(m.Subject(), m.Policy, err)

	_, err = plugin.Parse([]byte(`{"manifestVersion": "2", "name": "Net Utils", "version": "1.1"}`))
	var invalid *plugin.Invalid
	if errors.As(err, &invalid) {
		for _, issue := range invalid.Issues {
			fmt.Println(issue)
		}
	}
	// Output:
	// net-utils@1.1.0 bundled-only <nil>
	// /dist/hash: is missing
	// /entry: is missing
	// /name: "Net Utils" is no name of a plugin: [a-z0-9-_]
	// /version: "1.1" is no semantic version
}

// A manifest is written once its files are as they are to be published, and checked with what its
// host permits and demands.
func ExampleCheck() {
	ctx := context.Background()
	b := readExample()
	m, err := plugin.Parse(b.Manifest)
	if err != nil {
		panic(err)
	}
	if b.Manifest, err = b.WriteHash(ctx, m, tree.Guide); err != nil {
		panic(err)
	}
	if m, err = plugin.Parse(b.Manifest); err != nil {
		panic(err)
	}
	host := plugin.Host{Scan: func(string, []byte) ([]plugin.Import, error) {
		return []plugin.Import{{Line: 1, Kind: plugin.Static, Specifier: "node:path"}}, nil // package jsscan finds them
	}}
	r, err := plugin.Check(ctx, b, m, host)
	if err != nil {
		panic(err)
	}
	fmt.Println("allowed:", r.Verdict.Allowed())

	b.Contents["index.js"] = []byte("import \"node:net\" ;\n")
	if r, err = plugin.Check(ctx, b, m, host); err != nil {
		panic(err)
	}
	fmt.Println("allowed after a change:", r.Verdict.Allowed())
	// Output:
	// allowed: true
	// allowed after a change: false
}

func ExampleCheckFiles() {
	b := readExample()
	m, err := plugin.Parse(b.Manifest)
	if err != nil {
		panic(err)
	}
	r, err := plugin.CheckFiles(context.Background(), b, m)
	if err != nil {
		panic(err)
	}
	for _, f := range r.Verdict.Refused() {
		fmt.Println(f.Evidence.Scheme, f.Evidence.Outcome)
	}
	// Output:
	// dist mismatch
}

func ExampleOrder() {
	m, err := plugin.Parse([]byte(exampleManifest))
	if err != nil {
		panic(err)
	}
	fmt.Println(plugin.Order([]*plugin.Manifest{m, {Name: "base"}}))
	_, err = plugin.Order([]*plugin.Manifest{m})
	fmt.Println(err)
	// Output:
	// [base net-utils] <nil>
	// plugins: no load order: net-utils depends on base, which is missing
}

func ExampleParseAllowlist() {
	list, err := plugin.ParseAllowlist([]byte(`{"dependencies": {"lodash": ["4.17.21"], "@acme/core": "*"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(list.Allows("lodash", "4.17.21"), list.Allows("lodash/fp", "4.17.20"),
		list.Allows("@acme/core", "2.0.0"))
	// Output:
	// true false true
}
