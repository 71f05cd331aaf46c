package archive

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxTarExtension bounds the content of an extended header, in bytes.
const maxTarExtension = 1 << 20

// tarExtended is what an extended header says of the file after it.
type tarExtended struct {
	path string // "" if it holds none
	size int64  // -1 if it holds none
}

// readExtension reads the content of an extended header.
func (t *generalTar) readExtension(h tarHeader) ([]byte, error) {
	if h.size > maxTarExtension {
		return nil, t.refuse(ProblemHeader, h.path, "an extended header of more than %d bytes", maxTarExtension)
	}
	data := make([]byte, h.size)
	if _, err := io.ReadFull(t.r, data); err == io.EOF && h.size > 0 || err == io.ErrUnexpectedEOF {
		return nil, t.refuse(ProblemTruncated, h.path, "ends inside an extended header")
	} else if err != nil && err != io.EOF {
		return nil, err
	}
	return data, t.skipPadding(h.path, h.size)
}

// parseLongName reads the content of a GNU header with a long name: the name and one NUL.
func (t *generalTar) parseLongName(data []byte) (*tarExtended, error) {
	name, ok := bytes.CutSuffix(data, []byte{0})
	if !ok || len(name) == 0 || bytes.IndexByte(name, 0) >= 0 {
		return nil, t.refuse(ProblemExtended, "", "a long name that does not end with its only NUL")
	}
	if !utf8.Valid(name) {
		return nil, t.refuse(ProblemNotUTF8, string(name), "name is not UTF-8")
	}
	return &tarExtended{path: string(name), size: -1}, nil
}

// checkGlobal refuses a header for all following members that holds more than a comment and a
// time, because only some programs use the paths and sizes in it.
func (t *generalTar) checkGlobal(data []byte) error {
	return t.eachRecord(data, func(key, value string) error {
		switch key {
		case "comment":
			return nil
		case "mtime":
			if isPAXTime(value) {
				return nil
			}
		}
		return t.refuse(ProblemExtended, "", "a global PAX header with %s", quote(key))
	})
}

// parsePAX reads the records of a PAX header. It accepts path and size, which all programs
// know, and records that change nothing; it refuses all others.
func (t *generalTar) parsePAX(data []byte) (*tarExtended, error) {
	x := &tarExtended{size: -1}
	err := t.eachRecord(data, func(key, value string) error {
		ok := false
		switch key {
		case "path":
			x.path, ok = value, value != ""
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			x.size, ok = n, err == nil && strconv.FormatInt(n, 10) == value && n >= 0
		case "mtime", "atime", "ctime", "LIBARCHIVE.creationtime":
			ok = isPAXTime(value)
		case "uid", "gid", "SCHILY.dev", "SCHILY.ino", "SCHILY.nlink":
			ok = value != "" && strings.Trim(value, "0123456789") == "" && len(value) < 16
		case "uname", "gname", "comment", "SCHILY.fflags", "MSWINDOWS.rawsd":
			ok = true
		case "hdrcharset":
			ok = value == "ISO-IR 10646 2000 UTF-8"
		default: // attributes of files, which are not unpacked, and notes of node-tar for itself
			ok = strings.HasPrefix(key, "NODETAR.") || strings.HasPrefix(key, "SCHILY.xattr.") ||
				strings.HasPrefix(key, "LIBARCHIVE.xattr.") || strings.HasPrefix(key, "SCHILY.acl.")
		}
		if !ok {
			return t.refuse(ProblemExtended, x.path, "a PAX header whose %s programs read differently", quote(key))
		}
		return nil
	})
	return x, err
}

// eachRecord calls f with each record of a PAX header: a length in decimal, a space, key, an
// equals sign, value and a line feed. It refuses a key that stands there twice.
func (t *generalTar) eachRecord(data []byte, f func(key, value string) error) error {
	seen := map[string]bool{}
	for len(data) > 0 {
		digits, _, ok := bytes.Cut(data[:min(len(data), 8)], []byte{' '})
		n, err := strconv.Atoi(string(digits))
		if !ok || err != nil || strconv.Itoa(n) != string(digits) || n > len(data) || n < len(digits)+len(" k=\n") ||
			data[n-1] != '\n' {
			return t.refuse(ProblemExtended, "", "a PAX header that is malformed")
		}
		key, value, ok := strings.Cut(string(data[len(digits)+1:n-1]), "=")
		binary := strings.Contains(key, "xattr.")
		switch {
		case !ok || key == "" || seen[key]:
			return t.refuse(ProblemExtended, "", "a PAX header that is malformed, or has %s twice", quote(key))
		case !binary && (!utf8.ValidString(value) || strings.ContainsRune(value, 0)) || !utf8.ValidString(key) ||
			strings.ContainsRune(key, 0):
			return t.refuse(ProblemExtended, "", "a PAX header whose %s is no text", quote(key))
		}
		seen[key], data = true, data[n:]
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// isPAXTime reports whether s is a time in the form of PAX: seconds with a fraction.
func isPAXTime(s string) bool {
	whole, part, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return whole != "" && len(s) < 40 && strings.Trim(whole+part, "0123456789") == ""
}
