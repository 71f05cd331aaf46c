// Package jsscan finds what a file of JavaScript imports, by parsing it.
//
// # What is found
//
// Imports with literal targets, and each use of what imports that is not plainly understood: that is computed, as what
// it leads to is known only when the code runs. docs/decisions/scanning-scripts.md has the rule, and what is not seen.
//
// # Parsers
//
// One parser gives a syntax tree. What it does not read is first rewritten to older
// syntax by esbuild. The tokens of each file are then read without the tree: where one of
// them may begin an import with a literal target that the tree lacks, or what a slash means
// is not certain, esbuild lists such imports with a parser of its own, and they are added. A file
// that neither reads is an error, and so is a comment in the form of HTML (<!--), which
// scripts and modules read differently.
//
// # What cannot be found
//
// Code that is made while the program runs: eval of a text that is put together, wasm,
// native addons. A host that must hold against that runs plugins in a sandbox.
package jsscan

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// MaxFile is the largest file that is parsed, in bytes.
const MaxFile = 32 << 20

// File finds the imports of the file name with the given content, in the order in which
// they stand. It has the form of [plugin.Scan].
func File(name string, content []byte) ([]plugin.Import, error) {
	if len(content) > MaxFile {
		return nil, fmt.Errorf("more than %d bytes of code", MaxFile)
	}
	if htmlComment(content) {
		if !mayImport(content) && !isParsed(content) {
			return nil, nil
		}
		return nil, errors.New("a comment in the form of HTML, which scripts and modules read differently")
	}
	found, globals, read := scanTree(content, content)
	if !read {
		// Some Nodes run a file of TypeScript as JavaScript, if it is that too.
		code, err := rewriteOlder(content, api.LoaderJS)
		if err != nil && loader(name) != api.LoaderJS {
			code, err = rewriteOlder(content, loader(name))
		}
		if err != nil && !mayImport(content) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if found, globals, read = scanTree(code, nil); !read {
			found = []plugin.Import{{Kind: plugin.Use, Specifier: "code that is read in part only", Computed: true}}
		}
	}
	if loader(name) == api.LoaderJS && accountsForAll(content, found) {
		return append(found, globals...), nil
	}
	for _, imp := range listLiterals(name, content) {
		known := func(f plugin.Import) bool { return f.Specifier == imp.Specifier && !f.Computed }
		if !slices.ContainsFunc(found, known) {
			found = append(found, imp)
		}
	}
	return append(found, globals...), nil
}

// mayImport reports whether code that cannot be parsed is one that imports: whether it holds a word with which
// an import begins, or an escape, which may stand for any of them. Other code may put such a word together,
// and is read. What is no JavaScript does nothing, and is a text most likely.
func mayImport(content []byte) bool {
	for _, word := range []string{
		"import", "require", "from", "process", "module", "arguments", `\`, "eval", "Function", "global", "constructor",
		"this", "binding",
	} {
		if bytes.Contains(content, []byte(word)) {
			return true
		}
	}
	return false
}

// htmlComment reports whether the lexer reads a comment that begins with <!-- or -->.
func htmlComment(content []byte) bool {
	if !bytes.Contains(content, []byte("<!--")) && !bytes.Contains(content, []byte("-->")) {
		return false
	}
	// If such a comment ends the line, breaking up its mark changes the tree that the file parses
	// to. Inside strings and ordinary comments it does not.
	broken := bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("<!--"), []byte("<!- ")), []byte("-->"), []byte("- >"))
	for _, inline := range inlineModes {
		if ast, _ := parseTree(content, inline); ast != nil {
			other, _ := parseTree(broken, inline)
			return other == nil || countNodes(other) != countNodes(ast)
		}
	}
	return true
}

// isParsed reports whether the tree's parser reads the content.
func isParsed(content []byte) bool {
	return slices.ContainsFunc(inlineModes, func(inline bool) bool {
		ast, _ := parseTree(content, inline)
		return ast != nil
	})
}

// countNodes counts the nodes of a tree.
func countNodes(ast *js.AST) int {
	c := new(nodeCounter)
	js.Walk(c, ast)
	return c.n
}

type nodeCounter struct{ n int }

func (c *nodeCounter) Enter(n js.INode) js.IVisitor {
	c.n++
	if n, ok := n.(*js.ClassElementName); ok {
		js.Walk(c, &n.PropertyName) // which Walk leaves out
	}
	return c
}

func (c *nodeCounter) Exit(js.INode) {}

// scanTree finds imports in the syntax tree of code, and the globals that it uses, unless it cannot be parsed. Lines
// belong to source, if it is the same code.
func scanTree(code, source []byte) (found, globals []plugin.Import, ok bool) {
	defer func() {
		if recover() != nil { // the parser is not ours
			found, globals, ok = nil, nil, false
		}
	}()
	for _, inline := range inlineModes {
		if ast, parsed := parseTree(code, inline); ast != nil {
			if source == nil { // which the pieces of the tree are not of
				parsed = nil
			}
			found, globals = scan(ast, parsed)
			return found, globals, true
		}
	}
	return nil, nil, false
}

// inlineModes are the ways to parse: a script may return at its top.
var inlineModes = []bool{false, true}

// parseTree returns the syntax tree of code, and the copy of the code that its pieces point into; nil if
// it cannot be parsed.
func parseTree(code []byte, inline bool) (*js.AST, []byte) {
	code = bytes.Clone(code)
	if bytes.HasPrefix(code, []byte("#!")) { // which Inline does not read
		copy(code, "//")
	}
	in := parse.NewInputBytes(code)
	ast, err := js.Parse(in, js.Options{Inline: inline})
	if err != nil {
		return nil, nil
	}
	return ast, in.Bytes()
}

// rewriteOlder rewrites code to older syntax, which the tree's parser can read. Its error names the
// line that esbuild cannot read.
func rewriteOlder(content []byte, language api.Loader) ([]byte, error) {
	r := api.Transform(string(content), api.TransformOptions{
		Target: api.ES2018, Loader: language, LogLevel: api.LogLevelSilent, Sourcefile: "x",
		Supported: map[string]bool{
			"top-level-await": true, "dynamic-import": true, "import-meta": true, "bigint": true,
			"import-attributes": false, "destructuring": true, "async-generator": true, "for-await": true,
			"arbitrary-module-namespace-names": true,
		},
	})
	if len(r.Errors) > 0 {
		e := r.Errors[0]
		if e.Location != nil {
			return nil, fmt.Errorf("line %d: %s", e.Location.Line, e.Text)
		}
		return nil, errors.New(e.Text)
	}
	return r.Code, nil
}

func loader(name string) api.Loader {
	switch strings.ToLower(path.Ext(name)) {
	case ".ts", ".mts", ".cts":
		return api.LoaderTS
	}
	return api.LoaderJS
}
