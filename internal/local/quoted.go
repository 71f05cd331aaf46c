package local

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
)

// Code names most files that it starts or loads by a path in quotes. So a file of code of the project
// whose path stands in quotes in the code of a script is locked, whatever the script does with it. A path
// that a script computes is not found this way: if the script may start programs, the report says that the
// lock may lack some.

// Bounds of the search in the code of one program.
const (
	maxText   = 1024    // bytes of a text in quotes
	maxPieces = 6       // texts that one path is joined from
	maxTried  = 1 << 18 // paths that are looked up
)

// readCode reads a file of code; ok is false if the file is larger than jsscan.MaxFile.
func readCode(file string) (content []byte, ok bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, jsscan.MaxFile+1))
	return content, len(content) <= jsscan.MaxFile, err
}

// eachQuotedText calls yield for each text that may stand in quotes in code of any language, until yield
// returns false. A text is what lies between any two neighbouring quotes of one kind in a line, so that no
// comment, pattern or other quote hides one. joined says that it is joined from several texts that follow
// each other in a list, a sum or a quotient, as those of paths do.
func eachQuotedText(content []byte, yield func(text string, joined bool) bool) {
	type pair struct{ at, end int } // end is 0 if the line has no other such quote
	var pairs []pair
	open := map[byte]int{} // in pairs
	for i, c := range content {
		switch c {
		case '\n':
			clear(open)
		case '"', '\'', '`':
			if before, ok := open[c]; ok {
				pairs[before].end = i
			}
			open[c] = len(pairs)
			pairs = append(pairs, pair{at: i})
		}
	}
	for i := range pairs {
		text, p := "", pairs[i]
		for piece := range maxPieces {
			if p.end == 0 || p.end-p.at > maxText {
				break
			}
			text += unescape(string(content[p.at+1 : p.end]))
			if !yield(text, piece > 0) {
				return
			}
			rest := content[p.end+1 : min(len(content), p.end+65)]
			between := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t\r\n,+/"))]
			next, ok := slices.BinarySearchFunc(pairs, p.end+1+len(between),
				func(p pair, at int) int { return p.at - at })
			if !ok {
				break
			}
			if bytes.ContainsAny(between, ",/") {
				text += "/"
			}
			p = pairs[next]
		}
	}
}

// escapeRE matches an escape in which a character of a path may be written.
var escapeRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|[\\/'"])`)
})

// unescape replaces the escapes that escapeRE matches.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return escapeRE().ReplaceAllStringFunc(text, func(e string) string {
		if e[1] != 'x' && e[1] != 'u' {
			return e[1:]
		}
		n, _ := strconv.ParseUint(strings.Trim(e[2:], "{}"), 16, 32)
		return string(rune(n))
	})
}

// quotedPaths returns the paths that a text of code may hold: those of an argument, without the scheme and
// the query of a URL.
func quotedPaths(text string) (paths []string) {
	for _, name := range argumentNames(text) {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "file://"), "?")
		if name != "" && (strings.Contains(name, "/") ||
			slices.Contains(codeSuffixes, strings.ToLower(filepath.Ext(name)))) {
			paths = append(paths, name)
		}
	}
	return paths
}

// findQuotedFiles calls found for each file of code of the project that is named in quotes in the content
// of file. A name may be relative to that file, to top, the directory of the script, or to the directory
// of the project. A path without a suffix of code is also tried with each of endings.
func (r *readSet) findQuotedFiles(file string, content []byte, top string, endings []string,
	found func(string) error) (err error) {
	try := func(path string) {
		if err != nil || r.tried[path] {
			return
		}
		if r.tried[path] = true; len(r.tried) > maxTried {
			r.noteUnknown("it names more files than are looked for")
			return
		}
		if info, failed := os.Stat(path); failed == nil && info.Mode().IsRegular() &&
			r.isProjectFile(path, top, info) && isCode(path, info) {
			err = found(path)
		}
	}
	eachQuotedText(content, func(text string, joined bool) bool {
		if !strings.ContainsAny(text, "./") {
			return true
		}
		for _, name := range quotedPaths(text) {
			hasSuffix := slices.Contains(codeSuffixes, strings.ToLower(filepath.Ext(name)))
			if !hasSuffix && joined {
				continue // a list of words
			}
			places := []string{filepath.Clean(filepath.FromSlash(name))}
			if !filepath.IsAbs(places[0]) {
				places = nil
			}
			for _, dir := range []string{filepath.Dir(file), top, r.w.Dir} {
				places = append(places, filepath.Join(dir, filepath.FromSlash(name)))
			}
			for _, path := range places {
				try(path)
				if !hasSuffix {
					for _, ending := range endings {
						try(path + ending)
					}
				}
			}
		}
		return err == nil && len(r.tried) <= maxTried
	})
	return err
}

// isProjectFile reports whether a file lies in the project or below top, and is not a link to a program of
// the machine.
func (r *readSet) isProjectFile(file, top string, info os.FileInfo) bool {
	rel, err := filepath.Rel(top, file)
	if !r.w.Contains(file) && (err != nil || !filepath.IsLocal(rel)) {
		return false
	}
	real := host.RealPath(file)
	rel, err = filepath.Rel(host.RealPath(top), real)
	return r.w.Contains(real) || err == nil && filepath.IsLocal(rel) || !isMachineProgram(real, info)
}

// noteStarts notes that code may start or load what it computes, if words match in it.
func (r *readSet) noteStarts(words *regexp.Regexp, content []byte) {
	m := words.FindSubmatch(content)
	for _, word := range m[min(1, len(m)):] {
		if len(word) > 0 {
			r.noteComputed(string(word))
		}
	}
}

// noteComputed notes that a script may start or load more than its code names, by the word how.
func (r *readSet) noteComputed(how string) {
	r.noteUnknown("it may start or load by " + strings.Join(strings.Fields(how), "") +
		" what its code does not name in quotes, or what that loads in turn")
}
