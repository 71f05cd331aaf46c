package clients

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	projectfiles "github.com/hallmark-mcp/hallmark/project"
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
	n, err := f.read(data, strict)
	if err != nil && projectfiles.HasConflict(data) {
		return nil, errors.New("has merge conflict markers")
	}
	return n, err
}

// read reads the bytes of a file, see [Format.Parse].
func (f Format) read(data []byte, strict bool) (*Node, error) {
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
