package archive

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// walkTar reads a tar of any program to its end and calls fn for each regular file.
// Directories are checked as files are; global PAX headers, which change no path, are
// skipped. A file that is there again, with equal bytes, is read and not given to fn again.
//
// Programs differ in which of the dialects of tar they read, and in what they make of a
// header that belongs to several. A tar is refused unless GNU tar, libarchive, Python and
// node-tar read the same from it: see spec/archive-reading.md.
func walkTar(r io.Reader, limits Limits, names *Names, fn func(Entry, io.Reader) error) error {
	t := &generalTar{r: bufio.NewReaderSize(r, bufferSize), files: map[string]tarFileSeen{}}
	for {
		m, err := t.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m.path = dropDots(m.path, m.kind == tarDirectory)
		if err := t.addName(names, m); err != nil {
			return withLayer(layerTar, err)
		}
		if err := names.checkCount(limits, layerTar); err != nil {
			return err
		}
		if m.kind != tarFile {
			continue
		}
		if err := t.readFile(m, fn); err != nil {
			return err
		}
		if err := t.skipPadding(m.path, m.size); err != nil {
			return err
		}
	}
}

// dropDots returns a path without its segments that are empty or a dot, as GNU tar, libarchive,
// Python and node-tar unpack it; "" is the root. A path that they do not unpack alike is returned
// as it is, for [CheckPath] to refuse: one that is absolute or long, or a file whose name they end
// with a dot or a slash.
func dropDots(path string, dir bool) string {
	segments := strings.Split(path, "/")
	isDot := func(s string) bool { return s == "" || s == "." }
	if strings.HasPrefix(path, "/") || len(path) > MaxPath || !dir && isDot(segments[len(segments)-1]) {
		return path
	}
	return strings.Join(slices.DeleteFunc(segments, isDot), "/")
}

// addName adds the name of a member to names. The name of a file that was read already is one.
func (t *generalTar) addName(names *Names, m tarMember) error {
	_, again := t.files[m.path]
	switch {
	case m.kind == tarGlobal, m.kind == tarDirectory && m.path == "", m.kind == tarFile && again:
		names.entries++
		return nil
	case m.kind == tarDirectory:
		return names.AddDir(m.path)
	}
	return names.Add(m.path)
}

// tarFileSeen is what was read of a file.
type tarFileSeen struct {
	sum  string // sha256, in hex
	exec bool
}

// readFile calls fn with the content of the file m, if that is not there again, and reads what fn
// leaves of it. It refuses a file that differs from the one that was at its path before: programs
// differ in which of the two stays, and in its permissions.
func (t *generalTar) readFile(m tarMember, fn func(Entry, io.Reader) error) error {
	hasher := digest.NewHasher()
	body := &exactReader{r: t.r, left: m.size, short: t.refuse(ProblemTruncated, m.path, "ends inside this file")}
	content := io.TeeReader(body, hasher)
	before, again := t.files[m.path]
	if !again {
		if err := fn(Entry{Path: m.path, Size: m.size, Exec: m.exec}, content); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	now := tarFileSeen{hasher.Digest(digest.SHA256).Hex(), m.exec}
	switch {
	case !again:
		t.files[m.path] = now
	case before.sum != now.sum:
		return t.refuse(ProblemConflict, m.path, "path is there twice, with different bytes")
	case before.exec != now.exec:
		return t.refuse(ProblemConflict, m.path, "path is there twice, and executable only once")
	}
	return nil
}

// tarKind is the kind of a member.
type tarKind int

const (
	tarFile tarKind = iota
	tarDirectory
	tarGlobal // a header for all that follow
)

// tarMember is what the headers of one member say together.
type tarMember struct {
	kind tarKind
	path string
	size int64
	exec bool
}

// next reads the headers of the next member. At the end, which it checks, it returns
// io.EOF.
func (t *generalTar) next() (tarMember, error) {
	h, err := t.readHeader()
	if err != nil {
		return tarMember{}, err
	}
	switch h.kind {
	case 'g':
		data, err := t.readExtension(h)
		if err == nil {
			err = t.checkGlobal(data)
		}
		return tarMember{kind: tarGlobal}, err
	case 'x', 'L':
		return t.nextExtended(h)
	}
	return t.member(h, nil)
}

// nextExtended reads the content of the extended header ext, which holds what the header of
// the next member has no room for, and then that header. It refuses a second extended header
// of either dialect, because programs differ in which of the two they take.
func (t *generalTar) nextExtended(ext tarHeader) (tarMember, error) {
	data, err := t.readExtension(ext)
	if err != nil {
		return tarMember{}, err
	}
	var more *tarExtended
	if ext.kind == 'L' {
		more, err = t.parseLongName(data)
	} else {
		more, err = t.parsePAX(data)
	}
	if err != nil {
		return tarMember{}, err
	}
	h, err := t.readHeader()
	switch {
	case err == io.EOF:
		return tarMember{}, t.refuse(ProblemTruncated, more.path, "ends after an extended header, before what it is of")
	case err != nil:
		return tarMember{}, err
	case h.kind == 'x' || h.kind == 'g' || h.kind == 'L':
		return tarMember{}, t.refuse(ProblemExtended, more.path, "has two extended headers for one file")
	}
	return t.member(h, more)
}

// member joins a header with the extended header before it, nil if there was none.
func (t *generalTar) member(h tarHeader, more *tarExtended) (tarMember, error) {
	m := tarMember{path: h.path, size: h.size, exec: h.mode&0o111 != 0}
	if h.prefix != "" {
		m.path = h.prefix + "/" + h.path
	}
	if more != nil && more.path != "" { // which counts alone: no program joins it with a prefix
		m.path = more.path
	}
	slash := strings.HasSuffix(m.path, "/")
	switch {
	case more != nil && more.size >= 0 && more.size != h.size:
		return m, t.refuse(ProblemContradiction, m.path, "has another size in its extended header")
	case h.mode&unixSetID != 0:
		return m, t.refuse(ProblemSetID, m.path, "has the set-user, set-group or sticky bit")
	case h.kind == '5' && h.size != 0:
		return m, t.refuse(ProblemDirectory, m.path,
			"a directory with content, which some programs skip and others read on in")
	case h.kind == '5':
		m.kind = tarDirectory
	case slash || strings.HasSuffix(h.path, "/"):
		return m, t.refuse(ProblemHeader, m.path, "a file whose name ends as that of a directory")
	}
	return m, nil
}
