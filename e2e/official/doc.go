// Package official compares Hallmark's registry with the official one, which the
// tests compile from the source of its module, github.com/modelcontextprotocol/registry.
// Nothing of that module is copied into this repository: the example documents and the
// source are read where the go command keeps it.
//
// # Agreement on documents
//
// Every example document of the official documentation, and 300 mutations of each kind,
// go to both validate endpoints. Where one registry refuses what the other accepts, the
// reasons are compared with docs/registry-compat.json, a list of
//
//	{"refused_by": "hallmark" or "official", "rule": "...", "where": "...", "why": "..."}
//
// Rule is, for Hallmark, the reference of the issue, and for the official registry the
// reference or the text of its error, without what quotes the document. Where is the
// member, with * for the index of an array and for a name that publishers choose. A
// difference that is not listed fails the test, and so does one that is listed and does
// not occur.
package official
