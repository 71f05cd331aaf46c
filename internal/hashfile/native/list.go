package native

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// Bounds of a listing; a model that wants more asks further down, or for a glob.
const (
	maxEntries = 1000
	maxListing = 40 << 10 // bytes
)

type listArguments struct {
	Path string `json:"path,omitempty" about:"default: the allowed directory"`
}

// empty is the answer to a listing of nothing; a client may refuse to pass on a text without a letter.
const empty = "[empty]\n"

func (d *dialect) listDirectory(_ context.Context, sc *roots.Scope, in listArguments) (*toolset.Answer, error) {
	found, err := d.engine.List(sc, cmp.Or(in.Path, "."), maxEntries, false)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for i, entry := range found.Entries {
		if text.Len() > maxListing {
			found.More += len(found.Entries) - i
			break
		}
		text.WriteString(markOf(entry.Mode) + " " + refusal.Show(entry.Path) + "\n")
	}
	if found.More > 0 {
		fmt.Fprintf(&text, "[%d more; search_files with a glob and this path finds them by name]\n", found.More)
	}
	return &toolset.Answer{Text: cmp.Or(text.String(), empty)}, nil
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

func (d *dialect) directoryTree(ctx context.Context, sc *roots.Scope, in listArguments) (*toolset.Answer, error) {
	found, more, err := d.engine.Walk(ctx, sc, cmp.Or(in.Path, "."), maxEntries, nil)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if n := writePaths(&text, found); more || n < len(found) {
		fmt.Fprintf(&text, "[more than these %d; ask for a directory further down]\n", n)
	}
	return &toolset.Answer{Text: cmp.Or(text.String(), "[nothing, or only what is ignored]\n")}, nil
}

// writePaths writes each path on a line, those of directories with a slash, until the text is as long as a listing may
// be. It returns how many it wrote.
func writePaths(text *strings.Builder, found []engine.Entry) int {
	for i, entry := range found {
		if text.Len() > maxListing {
			return i
		}
		text.WriteString(refusal.Show(entry.Path))
		if entry.Mode.IsDir() {
			text.WriteByte('/')
		}
		text.WriteByte('\n')
	}
	return len(found)
}

func (d *dialect) fileInfo(_ context.Context, sc *roots.Scope, in pathArguments) (*toolset.Answer, error) {
	info, err := d.engine.Stat(sc, in.Path)
	if err != nil {
		return nil, err
	}
	kind := strings.TrimPrefix(strings.TrimPrefix(info.Kind, "a "), "symbolic ")
	return &toolset.Answer{Text: fmt.Sprintf("path: %s\ntype: %s\nsize: %d\nmodified: %s\nmode: %s\nread_only: %t\n",
		refusal.Show(info.Path), kind, info.File.Size(), info.File.ModTime().UTC().Format(time.RFC3339),
		info.File.Mode(), info.ReadOnly)}, nil
}

type noArguments struct{}

func (d *dialect) listAllowedDirectories(_ context.Context, sc *roots.Scope, _ noArguments) (*toolset.Answer, error) {
	dirs, err := d.engine.Directories(sc)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, dir := range dirs {
		text.WriteString(refusal.Show(dir) + "\n")
	}
	return &toolset.Answer{Text: text.String()}, nil
}
