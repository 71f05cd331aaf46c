package installed

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// The modes of installed files. They follow from the contents, as an archive holds none.
const (
	filePerm    fs.FileMode = 0o644
	programPerm fs.FileMode = 0o755
)

// permOf is the mode of a file with these bytes: no wider than that of the file in whose place it is written, and of
// the one that it comes from.
func (p *Plan) permOf(o output, data []byte) fs.FileMode {
	perm := PermOf(o.part.Of, o.place.Member, o.place.Skill != "", data)
	if info, err := os.Lstat(p.w.Place(o.place.Path)); err == nil && info.Mode().IsRegular() {
		perm = narrow(perm, info.Mode())
	}
	return perm
}

// PermOf is the mode of a file with the bytes of a member of an archive. One of a skill may be a program.
func PermOf(of *obtain.Archive, member string, ofSkill bool, data []byte) fs.FileMode {
	perm := filePerm
	if ofSkill && IsExecutable(data[:min(len(data), ExecutableHead)]) {
		perm = programPerm
	}
	if mode, ok := of.Modes[member]; ok {
		perm = narrow(perm, mode)
	}
	return perm
}

// narrow takes from a mode what another one keeps from the group and from others.
func narrow(perm, as fs.FileMode) fs.FileMode {
	if as&0o040 == 0 {
		perm &^= 0o070
	}
	if as&0o004 == 0 {
		perm &^= 0o007
	}
	return perm
}

// lacksMode reports whether a file that has the right bytes cannot be started, and is to be: a version of
// Hallmark before modes were set has written it.
func lacksMode(w *workspace.Workspace, place Place) (bool, error) {
	if place.Skill == "" || runtime.GOOS == "windows" {
		return false, nil
	}
	name := w.Place(place.Path)
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Perm()&0o100 != 0 {
		return false, err
	}
	f, err := durable.OpenRegular(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, ExecutableHead)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return IsExecutable(head[:n]), nil
}
