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

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/internal/program"
)

// Code mostly names in quotes what it starts or loads by a path. A file of the project whose path is
// quoted in the code of a script is therefore locked, whatever the script does with it. A path that
// a script computes is not found this way: if the script may start programs, the report says
// that the lock may lack some.

// Bounds of what is looked for in the code of one program.
const (
	maxText   = 1024    // bytes of a text in quotes
	maxPieces = 6       // texts of which one path is put together
	maxTried  = 1 << 18 // paths
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

// eachQuotedText calls yield for each text that may stand in quotes in code of any language, until it
// returns false: what lies between two quotes of one kind in a line, wherever a language begins to
// count them, so that no comment, pattern or other quote hides one. joined says that it is put
// together of several: of neighbours in a list, a sum or a quotient, as paths are.
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

var escapeRE = regexp.MustCompile(`\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|[\\/'"])`)

// unescape reads the escapes in which a path may be written.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return escapeRE.ReplaceAllStringFunc(text, func(e string) string {
		if e[1] != 'x' && e[1] != 'u' {
			return e[1:]
		}
		n, _ := strconv.ParseUint(strings.Trim(e[2:], "{}"), 16, 32)
		return string(rune(n))
	})
}

// quotedPaths are the paths that a text of code may hold: those of an argument, without what a
// template computes before them and a URL says after them.
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
// of file: relative to that file, to top, the directory of the script, or to the one that it is
// started in. A path that does not end as code does is tried with endings, too.
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
		if info, failed := os.Stat(path); failed == nil && info.Mode().IsRegular() && r.isOurs(path, top, info) &&
			isCode(path, info) {
			err = found(path)
		}
	}
	eachQuotedText(content, func(text string, joined bool) bool {
		if !strings.ContainsAny(text, "./") {
			return true
		}
		for _, name := range quotedPaths(text) {
			ends := slices.Contains(codeSuffixes, strings.ToLower(filepath.Ext(name)))
			if !ends && joined {
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
				if !ends {
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

// isOurs reports whether a file is the project's, or lies with the script, and is no program that
// the machine has and a link leads to.
func (r *readSet) isOurs(file, top string, info os.FileInfo) bool {
	rel, err := filepath.Rel(top, file)
	if !r.w.Contains(file) && (err != nil || !filepath.IsLocal(rel)) {
		return false
	}
	real := host.RealPath(file)
	rel, err = filepath.Rel(host.RealPath(top), real)
	return r.w.Contains(real) || err == nil && filepath.IsLocal(rel) || !isMachineProgram(real, info)
}

// startsPython are the words by which code of python starts a program, or loads what it computes.
var startsPython = regexp.MustCompile(`\b(subprocess|multiprocessing|runpy|pty)\b|` +
	`\b(os\s*\.\s*system)\b|(?:^|[^.\w])(system)\s*\(|\b(popen|exec|execfile|eval|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|create_subprocess_\w+|` +
	`__import__|spec_from_file_location|SourceFileLoader|CDLL|LoadLibrary)\s*\(|` +
	`\b(import_module)\s*\(\s*[^'"\s)]`)

// startsJavaScript are those of runtimes of JavaScript, besides modules that are imported.
var startsJavaScript = regexp.MustCompile(`\b(Worker)\s*\(|\b(Bun\s*\.\s*spawn|Deno\s*\.\s*(?:Command|run|dlopen))`)

// startModules are the modules of runtimes of JavaScript that start or load what they are told.
var startModules = []string{"child_process", "cluster", "worker_threads", "vm"}

// noteStarts notes that code starts or loads what it computes, by a word of it.
func (r *readSet) noteStarts(words *regexp.Regexp, content []byte) {
	m := words.FindSubmatch(content)
	for _, word := range m[min(1, len(m)):] {
		if len(word) > 0 {
			r.noteComputed(string(word))
		}
	}
}

// noteComputed notes that a script may start or load more than its code names, and how.
func (r *readSet) noteComputed(how string) {
	r.noteUnknown("it may start or load by " + strings.Join(strings.Fields(how), "") +
		" what its code does not name in quotes, or what that loads in turn")
}

// addNamedByPython adds the files that code of python names: that of the script, and of all modules
// which were found.
func (r *readSet) addNamedByPython(s *program.Script) error {
	todo := []string{s.File}
	for _, row := range r.items {
		todo = append(todo, row.path)
	}
	slices.Sort(todo)
	seen := map[string]bool{}
	for len(todo) > 0 {
		file := todo[0]
		todo = todo[1:]
		if info, err := os.Stat(file); seen[file] || err != nil || !info.Mode().IsRegular() || file != s.File &&
			!slices.Contains([]string{".py", ".pyw"}, filepath.Ext(file)) {
			continue
		}
		seen[file] = true
		content, whole, err := readCode(file)
		if err != nil {
			return err
		}
		if !whole {
			r.noteUnknown(filepath.Base(file) + " is too large to be read")
		}
		r.noteStarts(startsPython, content)
		if err := r.findQuotedFiles(file, content, filepath.Dir(s.File), nil, func(path string) error {
			todo = append(todo, path)
			_, err := r.addFile(path)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
