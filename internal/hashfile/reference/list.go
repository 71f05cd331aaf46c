package reference

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// markOf says whether an entry is a directory; a link is a file.
func markOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "[DIR]"
	}
	return "[FILE]"
}

func (d *dialect) listDirectory(_ context.Context, sc *roots.Scope, in pathArguments) (*toolset.Answer, error) {
	found, err := d.engine.List(sc, in.Path, math.MaxInt, false)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, entry := range found.Entries {
		lines = append(lines, markOf(entry.Mode)+" "+refusal.Show(entry.Path))
	}
	return answer(strings.Join(lines, "\n")), nil
}

type sizesArguments struct {
	Path   string `json:"path"`
	SortBy string `json:"sortBy,omitempty" enum:"name,size" about:"order of the entries"`
}

// sized is an entry of a directory with its size.
type sized struct {
	name, key string // key sorts it among names
	dir       bool
	size      int64
}

func (d *dialect) listDirectoryWithSizes(
	_ context.Context, sc *roots.Scope, in sizesArguments,
) (*toolset.Answer, error) {
	found, err := d.engine.List(sc, in.Path, math.MaxInt, true)
	if err != nil {
		return nil, err
	}
	var all []sized
	var files, directories, total int64
	for _, entry := range found.Entries {
		e := sized{name: refusal.Show(entry.Path), key: sortKey(entry.Path), dir: entry.Mode.IsDir()}
		info := entry.Info
		if entry.Mode&fs.ModeSymlink != 0 { // the size is that of its target, if that may be seen
			info = nil
			if target, err := d.engine.Stat(sc, filepath.Join(in.Path, entry.Path)); err == nil {
				info = target.File
			}
		}
		if info != nil {
			e.size = info.Size()
		}
		if e.dir {
			directories++
		} else {
			files++
			total += e.size
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b sized) int {
		if in.SortBy == "size" {
			return cmp.Compare(b.size, a.size)
		}
		return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(b.name, a.name)) // lower case first
	})
	var text strings.Builder
	for _, e := range all {
		size := ""
		if !e.dir {
			size = fmt.Sprintf("%10s", formatSize(e.size))
		}
		fmt.Fprintf(&text, "%s %-30s %s\n", map[bool]string{true: "[DIR]", false: "[FILE]"}[e.dir], e.name, size)
	}
	fmt.Fprintf(&text, "\nTotal: %d files, %d directories\nCombined size: %s", files, directories, formatSize(total))
	return answer(text.String()), nil
}

// sortKey returns a text by which names are sorted about as people do: signs before digits before letters, in either
// case.
func sortKey(name string) string {
	var key strings.Builder
	for _, r := range strings.ToLower(name) {
		class := byte('c')
		switch {
		case unicode.IsDigit(r):
			class = 'b'
		case !unicode.IsLetter(r):
			class = 'a'
		}
		key.WriteByte(class)
		key.WriteRune(r)
	}
	return key.String()
}

// formatSize writes a number of bytes as 12 B, 1.50 KB and so on, in powers of 1024.
func formatSize(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", max(bytes, 0))
	}
	size, unit := float64(bytes), ""
	for _, u := range []string{"KB", "MB", "GB", "TB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, u
	}
	return fmt.Sprintf("%.2f %s", size, unit)
}

func (d *dialect) getFileInfo(_ context.Context, sc *roots.Scope, in pathArguments) (*toolset.Answer, error) {
	info, err := d.engine.Stat(sc, in.Path)
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf(
		"size: %d\ncreated: %s\nmodified: %s\naccessed: %s\nisDirectory: %t\nisFile: %t\npermissions: %03o",
		info.File.Size(), formatTime(info.Created), formatTime(info.File.ModTime()), formatTime(info.Accessed),
		info.File.IsDir(), info.File.Mode().IsRegular(), info.File.Mode().Perm())), nil
}

// formatTime writes a time as JavaScript does in the zone of Greenwich, whose long name is known everywhere.
func formatTime(t time.Time) string {
	return t.UTC().Format("Mon Jan 02 2006 15:04:05") + " GMT+0000 (Coordinated Universal Time)"
}

type noArguments struct{}

func (d *dialect) listAllowedDirectories(_ context.Context, sc *roots.Scope, _ noArguments) (*toolset.Answer, error) {
	dirs, err := d.engine.Directories(sc)
	if err != nil {
		return nil, err
	}
	text := "Allowed directories:"
	for _, dir := range dirs {
		text += "\n" + refusal.Show(dir)
	}
	return answer(text), nil
}
