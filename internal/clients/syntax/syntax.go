// Package syntax reads JSON, JSON5, TOML, YAML and the front matter of Markdown into trees that know where
// each value stands in its file, and writes strings and lists in these formats. With the places an editor
// replaces one value and keeps every other byte: comments, order, indentation and line ends.
//
// A [Node] is the same for all formats. Keys that stand twice in an object are kept, and the order is that
// of the file. [Format.Parse] refuses, if it is strict, files that readers of the format understand in
// different ways.
//
// # Limits
//
// Values nest at most 200 deep, and aliases of YAML make at most 1,048,576 nodes. Items of an inline list
// of TOML have no offsets. Text is returned as it is: the caller escapes it before printing.
package syntax

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	JSON Format = "json" // with comments or without, and JSON5
	TOML Format = "toml"
	YAML Format = "yaml"

	FrontMatter Format = "front" // YAML at the head of Markdown
)

// mark is the byte order mark, which some editors write at the start of a file.
const mark = "\uFEFF"

// Layout returns the format in which values are written into a file of format f.
func (f Format) Layout() Format {
	if f == FrontMatter {
		return YAML
	}
	return f
}

// Parse reads the bytes of a file. If strict is set it refuses a file that readers of its format
// understand in different ways, which nobody writes by accident.
func (f Format) Parse(data []byte, strict bool) (*Node, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	switch f {
	case TOML:
		return readTOML(data)
	case YAML:
		return readYAML(data, strict)
	case FrontMatter:
		return readFront(data, strict)
	}
	return readJSON(data, strict)
}

// FormatOf returns the format for the extension of name: JSON for all that is not known.
func FormatOf(name string) Format {
	switch strings.ToLower(path.Ext(filepath.ToSlash(name))) {
	case ".toml":
		return TOML
	case ".yaml", ".yml":
		return YAML
	case ".md":
		return FrontMatter
	}
	return JSON
}
