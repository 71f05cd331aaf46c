package local

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxJarManifest bounds META-INF/MANIFEST.MF and INDEX.LIST of a jar, in bytes.
const maxJarManifest = 4 << 20

// classTree is a directory of classes and resources.
var classTree = &treeKind{skip: func(string, bool) bool { return false }}

// addClassPath adds what java loads with a jar: the jars and directories that its manifest names, and
// those that their manifests name.
func (r *readSet) addClassPath(file string) error {
	todo, seen := []string{file}, map[string]bool{file: true}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		names, err := readClassPath(at)
		if err != nil {
			return err
		}
		for _, name := range names {
			if rest, ok := strings.CutPrefix(name, "file:"); ok {
				name = "/" + strings.TrimLeft(rest, "/")
			} else if scheme, _, ok := strings.Cut(name, ":"); ok && len(scheme) > 1 {
				r.noteUnknown("its manifest names " + name)
				continue
			}
			next := filepath.Clean(r.w.Absolute(filepath.Dir(at), name))
			if strings.HasSuffix(name, "/") {
				if err := r.addTree(next, classTree); err != nil {
					return err
				}
				continue
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if info, err := os.Stat(next); err != nil || !info.Mode().IsRegular() {
				continue // java goes on without it; once it exists, it is refused as added
			}
			if _, err := r.addFile(next); err != nil {
				return err
			}
			todo = append(todo, next)
		}
	}
	return nil
}

// readClassPath returns the class path in META-INF/MANIFEST.MF of a jar, and the jars that an index of
// older tools lists. A file that is not an archive has none, and java does not start it.
func readClassPath(file string) (names []string, err error) {
	f, err := beneath.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(f, info.Size())
	if errors.Is(err, zip.ErrFormat) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the list of files of %s: %w", file, err)
	}
	for _, member := range archive.File {
		var read func(io.Reader) ([]string, error)
		switch strings.ToUpper(member.Name) {
		case "META-INF/MANIFEST.MF":
			read = parseManifest
		case "META-INF/INDEX.LIST":
			read = parseIndex
		default:
			continue
		}
		if member.UncompressedSize64 > maxJarManifest {
			return nil, fmt.Errorf("%s of %s has more than %d bytes", surface.Escape(member.Name), file, maxJarManifest)
		}
		body, err := member.Open()
		if err != nil {
			return nil, fmt.Errorf("open %s of %s: %w", surface.Escape(member.Name), file, err)
		}
		more, err := read(body)
		body.Close()
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", surface.Escape(member.Name), file, err)
		}
		for _, name := range more {
			if decoded, err := url.PathUnescape(name); err == nil {
				name = decoded
			}
			if len(name) <= 4096 && !strings.ContainsRune(name, 0) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// parseManifest returns the names in Class-Path, of the first section of a manifest. A line that begins
// with a blank continues the one before.
func parseManifest(r io.Reader) (names []string, err error) {
	value, in := "", false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxJarManifest)
	lines.Split(splitLines)
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, " "); ok {
			if in {
				value += rest
			}
			continue
		}
		if line == "" {
			break
		}
		key, rest, _ := strings.Cut(line, ":")
		if in = strings.EqualFold(strings.TrimSpace(key), "Class-Path"); in {
			value += " " + strings.TrimPrefix(rest, " ")
		}
	}
	return strings.Fields(value), lines.Err()
}

// splitLines splits at "\r\n", "\n" and "\r".
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for i, c := range data {
		switch {
		case c == '\n':
			return i + 1, data[:i], nil
		case c == '\r' && i+1 < len(data) && data[i+1] == '\n':
			return i + 2, data[:i], nil
		case c == '\r' && (i+1 < len(data) || atEOF):
			return i + 1, data[:i], nil
		}
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// parseIndex returns the jars that INDEX.LIST names, which java read up to version 21.
func parseIndex(r io.Reader) (names []string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxJarManifest)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); strings.HasSuffix(strings.ToLower(name), ".jar") {
			names = append(names, name)
		}
	}
	return names, lines.Err()
}
