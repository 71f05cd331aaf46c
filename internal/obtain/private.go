package obtain

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// fileModes are the modes of files of a directory that not everybody may read, by path: those of a file itself, without
// what the directories above it keep from others, up to the project's, if the directory lies in that. None on Windows,
// where modes say nothing of others.
func fileModes(root *os.Root, project string, files []tree.File) (map[string]fs.FileMode, error) {
	modes := map[string]fs.FileMode{}
	if runtime.GOOS == "windows" {
		return modes, nil
	}
	above, err := reachBelow(project, root.Name())
	if err != nil {
		return nil, err
	}
	dirs := map[string]fs.FileMode{}
	var reach func(dir string) (fs.FileMode, error) // the bits that a directory leaves to files below it
	reach = func(dir string) (fs.FileMode, error) {
		if bits, ok := dirs[dir]; ok {
			return bits, nil
		}
		bits := above
		if dir != "." {
			var err error
			if bits, err = reach(path.Dir(dir)); err != nil {
				return 0, err
			}
		}
		info, err := root.Lstat(filepath.FromSlash(dir))
		if err != nil {
			return 0, err
		}
		dirs[dir] = bits & passing(info.Mode())
		return dirs[dir], nil
	}
	for _, f := range files {
		bits, err := reach(path.Dir(f.Path))
		if err != nil {
			return nil, err
		}
		info, err := root.Lstat(filepath.FromSlash(f.Path))
		if err != nil {
			return nil, err
		}
		if mode := info.Mode().Perm() & bits; mode&0o044 != 0o044 {
			modes[f.Path] = mode
		}
	}
	return modes, nil
}

// passing are the bits that the mode of a directory leaves to what lies in it.
func passing(mode fs.FileMode) fs.FileMode {
	bits := fs.ModePerm
	if mode&0o010 == 0 {
		bits &^= 0o070
	}
	if mode&0o001 == 0 {
		bits &^= 0o007
	}
	return bits
}

// reachBelow are the bits that the directories between a project and a directory in it leave to others; all outside of
// it.
func reachBelow(project, dir string) (fs.FileMode, error) {
	bits := fs.ModePerm
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	rel, err := filepath.Rel(project, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return bits, nil
	}
	for dir = filepath.Dir(dir); len(dir) > len(project); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return 0, err
		}
		bits &= passing(info.Mode())
	}
	return bits, nil
}

// privateFiles are the files of a directory of this machine that are left out of what is made of it, with why: those
// that are called as secrets are, and those that nobody but their owner can read, where others can read the directory's
// own text.
func privateFiles(d facet.Dir, modes map[string]fs.FileMode) map[string]string {
	const (
		along = "; --private, or 'private = true' in hallmark.toml, takes it along"
		own   = "is left out: nobody else can read it" + along
		named = "is left out: it is called as secrets are" + along
	)
	hidden := func(p string) bool {
		mode, ok := modes[p]
		return ok && mode&0o044 == 0
	}
	_, main := d.Form()
	private := map[string]string{}
	for _, f := range d.Files {
		switch {
		case isSecretName(path.Base(f.Path)):
			private[f.Path] = named
		case hidden(f.Path) && !hidden(main):
			private[f.Path] = own
		}
	}
	for at := range d.Links {
		if isSecretName(path.Base(at)) {
			private[at] = named
		}
	}
	return private
}

// isSecretName reports whether a file is called as those of secrets are: the environment of a program, a key in PEM's
// form, and the private key of ssh. An example of the first is none.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	switch path.Ext(name) {
	case ".example", ".sample", ".template", ".dist":
		return false
	}
	return strings.HasPrefix(name, ".env") || strings.HasSuffix(name, ".pem") ||
		strings.HasPrefix(name, "id_") && !strings.Contains(name, ".")
}
