package hashfile

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// Bounds of a listing; a model that wants more asks further down, or for a glob.
const (
	maxEntries = 1000
	maxListing = 40 << 10 // bytes
)

type listArguments struct {
	Path      string `json:"path,omitempty" about:"default: the allowed directories"`
	Recursive bool   `json:"recursive,omitempty" about:"all paths below, without what .gitignore ignores"`
}

// listDirectory lists a directory, or all that is below it. Of a file it says what it is, and without a path which
// directories are allowed.
func (s *Server) listDirectory(ctx context.Context, sc *place.Scope, in listArguments) (*stdio.Result, error) {
	var text strings.Builder
	if in.Path == "" {
		dirs, err := s.engine.Directories(sc)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			text.WriteString("[allowed directory: " + place.Show(dir) + "]\n")
		}
		if len(dirs) > 1 {
			return &stdio.Result{Text: text.String()}, nil
		}
		in.Path = dirs[0]
	}
	info, err := s.engine.Stat(sc, in.Path)
	switch {
	case err != nil:
	case !info.File.IsDir():
		writeInfo(&text, info)
	case in.Recursive:
		err = s.writeTree(ctx, &text, sc, in.Path)
	default:
		err = s.writeListing(&text, sc, in.Path)
	}
	if err != nil {
		return nil, err
	}
	return &stdio.Result{Text: text.String()}, nil
}

// writeInfo writes what a file is.
func writeInfo(text *strings.Builder, info *engine.Info) {
	kind := strings.TrimPrefix(strings.TrimPrefix(info.Kind, "a "), "symbolic ")
	fmt.Fprintf(text, "%s: %s, %d bytes, modified %s, mode %s", place.Show(info.Path), kind, info.File.Size(),
		info.File.ModTime().UTC().Format(time.RFC3339), info.File.Mode())
	if info.ReadOnly {
		text.WriteString(", read-only here")
	}
	text.WriteByte('\n')
}

// empty stands for a listing of nothing; a client may refuse to pass on a text without a letter.
const empty = "[empty]\n"

// writeListing writes the entries of a directory, each with its kind.
func (s *Server) writeListing(text *strings.Builder, sc *place.Scope, path string) error {
	found, err := s.engine.List(sc, path, maxEntries)
	if err != nil {
		return err
	}
	for i, entry := range found.Entries {
		if text.Len() > maxListing {
			found.More += len(found.Entries) - i
			break
		}
		text.WriteString(markOf(entry.Mode) + " " + place.Show(entry.Path) + "\n")
	}
	if found.More > 0 {
		fmt.Fprintf(text, "[%d more; search_files with a glob and this path finds them by name]\n", found.More)
	}
	if len(found.Entries) == 0 {
		text.WriteString(empty)
	}
	return nil
}

// markOf says what kind an entry of a directory is of.
func markOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "[DIR]"
	case mode&fs.ModeSymlink != 0:
		return "[LINK]"
	case mode.IsRegular():
		return "[FILE]"
	}
	return "[OTHER]"
}

// writeTree writes the paths of all that is below a directory.
func (s *Server) writeTree(ctx context.Context, text *strings.Builder, sc *place.Scope, path string) error {
	found, err := s.engine.Walk(ctx, sc, path, maxEntries)
	if err != nil {
		return err
	}
	if n := writePaths(text, found.Entries); found.More || n < len(found.Entries) {
		fmt.Fprintf(text, "[more than these %d; ask for a directory further down]\n", n)
	}
	if len(found.Entries) == 0 {
		text.WriteString(empty)
	}
	writePassed(text, "not listed", found.Passed)
	return nil
}

// writePaths writes each path on a line, those of directories with a slash, until the text is as long as a listing may
// be. It returns how many it wrote.
func writePaths(text *strings.Builder, found []engine.Entry) int {
	for i, entry := range found {
		if text.Len() > maxListing {
			return i
		}
		text.WriteString(place.Show(entry.Path))
		if entry.Mode.IsDir() {
			text.WriteByte('/')
		}
		text.WriteByte('\n')
	}
	return len(found)
}
