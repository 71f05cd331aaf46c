package engine

import (
	"io/fs"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Info is what a file or directory is.
type Info struct {
	Path     string // without links
	Kind     string // with its article, as "a file"
	File     fs.FileInfo
	ReadOnly bool // by rules, as part of a repository, or of the whole server
}

// Stat returns what is at a path.
func (e *Engine) Stat(sc *place.Scope, path string) (*Info, error) {
	p, err := place.Resolve(sc, path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.CheckExists(); err != nil {
		return nil, err
	}
	return &Info{Path: p.Real(), Kind: place.Kind(p.Info.Mode()), File: p.Info,
		ReadOnly: e.o.ReadOnly || p.CheckWritable() != nil}, nil
}

// Directories returns the real paths of the allowed directories. That there are none is an error.
func (e *Engine) Directories(sc *place.Scope) ([]string, error) {
	dirs := sc.Directories()
	if absent := sc.Absent(); len(dirs) == 0 && len(absent) > 0 {
		return nil, absent[0].Refusal()
	}
	if len(dirs) == 0 {
		return nil, sc.RefuseAll()
	}
	return dirs, nil
}

// refuseKind refuses to do something at a place where something else is.
func refuseKind(p *place.Place) *place.Refusal {
	return place.Refuse(place.Exists, "%s is %s; give another path", place.Show(p.Asked), place.Kind(p.Info.Mode()))
}
