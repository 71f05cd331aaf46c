package hashfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxEntries is how many entries one answer lists.
const maxEntries = 10_000

// entry is the structure of an entry of a directory.
type entry struct {
	Name string `json:"name"`
	Type string `json:"type"` // file, directory, link or other
	Size *int64 `json:"size,omitempty"`
}

// entryOf describes an entry of an open directory.
func entryOf(dir *os.Root, e fs.DirEntry) entry {
	out := entry{Name: e.Name(), Type: "other"}
	switch {
	case e.IsDir():
		out.Type = "directory"
	case e.Type()&fs.ModeSymlink != 0:
		out.Type = "link"
	case e.Type().IsRegular():
		out.Type = "file"
		if info, err := dir.Lstat(e.Name()); err == nil {
			size := info.Size()
			out.Size = &size
		}
	}
	return out
}

type pathArguments struct {
	Path string `json:"path" jsonschema:"absolute, or relative to the only allowed directory"`
}

func (s *Server) listDirectory(_ context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	dir, sets, err := p.OpenDirectory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := place.ListEntries(dir, p.Rel, sets)
	if err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	out := []entry{}
	var text strings.Builder
	for i, e := range all {
		if i == maxEntries {
			break
		}
		en := entryOf(dir, e)
		out = append(out, en)
		mark := map[string]string{"file": "[FILE]", "directory": "[DIR]", "link": "[LINK]", "other": "[OTHER]"}[en.Type]
		fmt.Fprintf(&text, "%s %s\n", mark, refusal.Show(en.Name))
	}
	if len(all) > len(out) {
		fmt.Fprintf(&text, "and %d more\n", len(all)-len(out))
	}
	structure := map[string]any{"entries": out, "truncated": len(all) > len(out)}
	return &answer{text: text.String(), structure: structure}, nil
}

// errEnough ends a walk when the answer is full.
var errEnough = errors.New("enough")

func (s *Server) directoryTree(ctx context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	dir, sets, err := p.OpenDirectory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	paths := []string{}
	err = p.Walk(ctx, dir, sets, func(_ *os.Root, rel string, e fs.DirEntry, _ rules.Sets) error {
		if len(paths) == maxEntries {
			return errEnough
		}
		if p.Rel != "." {
			rel = strings.TrimPrefix(rel, p.Rel+"/")
		}
		if e.IsDir() {
			rel += "/"
		}
		paths = append(paths, rel)
		return nil
	})
	cut := errors.Is(err, errEnough)
	if err != nil && !cut {
		return nil, refusal.Of(in.Path, err)
	}
	var text strings.Builder
	for _, path := range paths {
		text.WriteString(refusal.Show(path) + "\n")
	}
	if cut {
		text.WriteString("and more\n")
	}
	return &answer{text: text.String(), structure: map[string]any{"paths": paths, "truncated": cut}}, nil
}

func (s *Server) fileInfo(_ context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.CheckExists(); err != nil {
		return nil, err
	}
	out := struct {
		Path     string    `json:"path"` // without links
		Type     string    `json:"type"`
		Size     int64     `json:"size"` // bytes
		Modified time.Time `json:"modified"`
		Mode     string    `json:"mode"`
		ReadOnly bool      `json:"read_only"` // by AGENTS.md or --read-only
	}{
		p.Real(), strings.TrimPrefix(strings.TrimPrefix(place.Kind(p.Info.Mode()), "a "), "symbolic "), p.Info.Size(),
		p.Info.ModTime().UTC(), p.Info.Mode().String(), s.c.ReadOnly || p.CheckWritable() != nil,
	}
	text := fmt.Sprintf("path: %s\ntype: %s\nsize: %d\nmodified: %s\nmode: %s\nread_only: %t\n",
		refusal.Show(out.Path), out.Type, out.Size, out.Modified.Format(time.RFC3339), out.Mode, out.ReadOnly)
	return &answer{text: text, structure: out}, nil
}

type noArguments struct{}

func (s *Server) listAllowedDirectories(_ context.Context, sc *roots.Scope, _ noArguments) (*answer, error) {
	dirs := sc.Directories()
	if absent := sc.Absent(); len(dirs) == 0 && len(absent) > 0 {
		return nil, absent[0].Refusal()
	}
	if len(dirs) == 0 {
		return nil, refusal.New(refusal.OutsideRoots,
			"no directory is allowed: none of the client's roots is one of this machine, or in an allowed one")
	}
	var text strings.Builder
	for _, dir := range dirs {
		text.WriteString(refusal.Show(dir) + "\n")
	}
	return &answer{text: text.String(), structure: map[string]any{"directories": dirs}}, nil
}

// createDirectory creates a directory and those above it. A directory whose name could make a repository of another is
// created under the lock of that directory: see disk.Writer.Lock.
func (s *Server) createDirectory(ctx context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.Info != nil {
		if !p.Info.IsDir() {
			return nil, refusal.New(refusal.Exists, "%s is %s", refusal.Show(in.Path), place.Kind(p.Info.Mode()))
		}
		return &answer{text: refusal.Show(in.Path) + " exists already\n",
			structure: map[string]any{"path": p.Real(), "created": false}}, nil
	}
	if err := p.CheckWritable(); err != nil {
		return nil, err
	}
	if spelling.GitPartOf(p.Name) != 0 {
		unlock, err := s.writer.Lock(ctx, p)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	if err := s.writer.MakeDirectories(p); err != nil {
		return nil, err
	}
	return &answer{text: "created " + refusal.Show(in.Path) + "\n",
		structure: map[string]any{"path": p.Real(), "created": true}}, nil
}
