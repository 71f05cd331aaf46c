package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Image is an open file that was hashed and can be executed as it was.
type Image struct {
	// Chain is how the path was resolved: as it was given, each symbolic link
	// that the last element led through, and last the file itself.
	Chain []string

	file     *os.File // what runs: the file as opened, or a sealed copy in memory
	observed evidence.Observed
	shebang  []string // words of the #! line, nil if there is none
	sealed   bool     // file is a copy that nobody can change
}

// maxLinks bounds the symbolic links of one path, as kernels do.
const maxLinks = 40

// OpenImage opens the regular file that path resolves to, once, and hashes what it
// opened. path is used as it is, without PATH.
func OpenImage(path string) (*Image, error) {
	chain, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("executable %s: %w", surface.Escape(path), err)
	}
	m := &Image{Chain: chain}
	if err := m.open(chain[len(chain)-1]); err != nil {
		return nil, fmt.Errorf("executable %s: %w", surface.Escape(path), err)
	}
	return m, nil
}

// resolve follows the symbolic links of path's last element one by one, and
// those of its directories at the end.
func resolve(path string) ([]string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	chain := []string{path}
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, bare(err)
		}
		if info.Mode()&os.ModeSymlink == 0 {
			final, err := filepath.EvalSymlinks(path)
			if err != nil {
				return nil, bare(err)
			}
			if final != path {
				chain = append(chain, final)
			}
			return chain, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return nil, bare(err)
		}
		if !filepath.IsAbs(to) {
			// The directory is resolved first: ".." in a link is relative to
			// where the link is, not to how it was reached.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return nil, bare(err)
			}
			to = filepath.Join(dir, to)
		}
		path = to
		chain = append(chain, path)
	}
	return nil, errors.New("too many levels of symbolic links")
}

// bare is err without the path that it names, which the caller prints escaped.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Observed is the sha256 digest, size and path of the bytes that will run.
func (m *Image) Observed() evidence.Observed { return m.observed }

// Path is the file that was opened, after all links.
func (m *Image) Path() string { return m.Chain[len(m.Chain)-1] }

// Close releases the file. Processes already started are not affected.
func (m *Image) Close() error { return m.file.Close() }

// Interpreter is what the script's #! line names: the path of the interpreter as it
// is written and its argument, which may be empty. ok is false if the file is no
// script. For "#!/usr/bin/env NAME" (also with -S and plain words) path is NAME,
// without a separator, which the caller looks up in the PATH that was approved, as
// env would; the words after it are the argument.
func (m *Image) Interpreter() (path, arg string, ok bool) {
	if len(m.shebang) == 0 {
		return "", "", false
	}
	return m.shebang[0], strings.Join(m.shebang[1:], " "), true
}

// maxShebang is the length at which Linux cuts a #! line.
const maxShebang = 256

// parseShebang returns the interpreter and its arguments, or nil if head does not
// begin with "#!".
func parseShebang(head string) ([]string, error) {
	line, ok := strings.CutPrefix(head, "#!")
	if !ok {
		return nil, nil
	}
	line, _, ok = strings.Cut(line, "\n")
	if !ok && len(head) >= maxShebang {
		return nil, fmt.Errorf("the #! line is longer than %d bytes", maxShebang)
	}
	line = strings.Trim(line, " \t")
	interp, arg, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	arg = strings.TrimLeft(arg, " ")
	switch {
	case interp == "":
		return nil, errors.New("the #! line names no interpreter")
	case filepath.Base(interp) != "env" || arg == "":
		if arg == "" {
			return []string{interp}, nil
		}
		return []string{interp, arg}, nil
	}
	words := []string{arg}
	if rest, ok := strings.CutPrefix(arg, "-S"); ok {
		words = strings.Fields(rest)
	}
	if len(words) == 0 || strings.ContainsAny(arg, `\"'$#=`) || strings.HasPrefix(words[0], "-") || len(words) == 1 && strings.Contains(words[0], " ") {
		return nil, fmt.Errorf("the #! line asks env(1) for more than to find a program: %+q", line)
	}
	return words, nil
}
