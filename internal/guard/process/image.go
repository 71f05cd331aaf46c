package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Image is an open file that was hashed and can be executed as it was.
type Image struct {
	// Chain is how the path was resolved: as it was given, each symbolic link
	// that the last element led through, and finally the file itself.
	Chain []string

	file     *os.File // what runs: the file as opened, or a sealed copy in memory; nil: it was only looked at
	id       *fileID  // of the file before it was read; nil: not known
	observed evidence.Observed
	shebang  []string // words of the #! line, nil if there is none
	compared bool     // it is not to be started, so that no sealed copy is made
	sealed   bool     // file is a copy that nobody can change
}

// maxLinks bounds the symbolic links of one path, as kernels do.
const maxLinks = 40

// Open opens the regular file that path resolves to, once, and hashes what it opened, under sha256 and, in
// the same pass, each of algs. path is used as it is, without PATH.
func Open(path string, algs ...digest.Algorithm) (*Image, error) {
	return new(Image).openAt(path, algs)
}

// openAt sets m to the file that path resolves to.
func (m *Image) openAt(path string, algs []digest.Algorithm) (*Image, error) {
	for _, a := range algs {
		if a.Size() == 0 {
			return nil, fmt.Errorf("executable %s: %w", surface.Escape(path),
				&digest.UnknownAlgorithmError{Algorithm: string(a)})
		}
	}
	chain, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("executable %s: %w", surface.Escape(path), err)
	}
	m.Chain = chain
	if err := m.open(chain[len(chain)-1], append([]digest.Algorithm{digest.SHA256}, algs...)); err != nil {
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
			return nil, withoutPath(err)
		}
		if info.Mode()&os.ModeSymlink == 0 {
			final, err := filepath.EvalSymlinks(path)
			if err != nil {
				return nil, withoutPath(err)
			}
			if final != path {
				chain = append(chain, final)
			}
			return chain, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return nil, withoutPath(err)
		}
		if !filepath.IsAbs(to) {
			// The directory is resolved first: ".." in a link is relative to
			// where the link is, not to how it was reached.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return nil, withoutPath(err)
			}
			to = filepath.Join(dir, to)
		}
		path = to
		chain = append(chain, path)
	}
	return nil, errors.New("too many levels of symbolic links")
}

// withoutPath is err without the path that it names, which the caller prints escaped.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// hash sets what was observed of r, the bytes that will run, which came from path.
func (m *Image) hash(r io.Reader, path string, algs []digest.Algorithm) error {
	h := digest.NewHasher(algs...)
	if _, err := io.CopyBuffer(h, r, make([]byte, digest.BufferSize)); err != nil {
		return err
	}
	m.observed = evidence.Observed{Digests: h.Digests(), Size: h.Size(), From: path}
	return nil
}

// Observed is the digests, size and path of the bytes that will run: sha256 first, then those that Open
// was asked for.
func (m *Image) Observed() evidence.Observed { return m.observed }

// File is the open file that runs, which belongs to m; nil of one that was only looked at, see [Seen.Look].
func (m *Image) File() *os.File { return m.file }

// Path is the file that was opened, after all links.
func (m *Image) Path() string { return m.Chain[len(m.Chain)-1] }

// Close releases the file. Processes already started are not affected.
func (m *Image) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// Interpreter is what the script's #! line names: the path of the interpreter as it is written and the
// arguments that it gets before the script, at most one unless "env -S" splits them. ok is false if the
// file is no script. For "#!/usr/bin/env NAME" (also with -S and plain words) path is NAME, without a
// separator, which the caller looks up in the PATH that was approved, as env would.
func (m *Image) Interpreter() (path string, args []string, ok bool) {
	if len(m.shebang) == 0 {
		return "", nil, false
	}
	return m.shebang[0], slices.Clone(m.shebang[1:]), true
}

// ByName reports whether interpreter, given the descriptor of m, would look up the name behind it and
// open that again. The JavaScript runtimes do, because modules are found beside the file that imports
// them. (node --preserve-symlinks-main would run the descriptor, but then neither relative imports nor
// ES modules work.) For them the caller hashes the file once more, see CheckUnchanged, and passes its
// name. Whoever can write the file's directory can still replace the file between that and the moment
// in which the interpreter opens it; the same holds for whatever the script loads. Only a tree that
// nobody else can write prevents either.
func (m *Image) ByName(interpreter *Image) bool {
	if descriptorsAreNames {
		return true
	}
	for _, path := range interpreter.Chain {
		name := strings.TrimRight(filepath.Base(path), "0123456789.-")
		if slices.Contains([]string{"node", "nodejs", "deno", "bun"}, name) {
			return true
		}
	}
	return false
}

// CheckUnchanged is an error if the bytes under the name of m are no longer those of m.
func (m *Image) CheckUnchanged() error {
	changed := errors.New("the file changed after it was verified")
	info, err := os.Lstat(m.Path())
	switch {
	case err != nil:
		return withoutPath(err)
	case !info.Mode().IsRegular() || info.Size() != m.observed.Size: // no pipe is opened
		return changed
	}
	file, err := durable.OpenRegular(m.Path())
	if err != nil {
		return withoutPath(err)
	}
	defer file.Close()
	sum, _, err := digest.FromReader(io.LimitReader(file, m.observed.Size+1))
	if err != nil {
		return err
	}
	e := evidence.Compare(
		evidence.Claim{Subject: m.Path(), Scheme: evidence.File, Want: []digest.Digest{m.observed.SHA256()}},
		evidence.Observed{Digests: []digest.Digest{sum}})
	if e.Outcome != evidence.Match {
		return changed
	}
	return nil
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
	if len(words) == 0 || strings.ContainsAny(arg, `\"'$#=`) || strings.HasPrefix(words[0], "-") ||
		len(words) == 1 && strings.Contains(words[0], " ") {
		return nil, fmt.Errorf("the #! line asks env(1) for more than to find a program: %+q", line)
	}
	return words, nil
}
