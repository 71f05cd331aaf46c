//go:build unix

package editing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// ripgrep is the reference for searches; the package brings the program along.
const ripgrep = "@vscode/ripgrep@1.18.0"

// The packages that are searched. The first of each are those of every day.
var (
	searchedNode = []string{
		"bootstrap@5.3.3",     // minified, with lines of 200 KB
		"es-abstract@1.24.0",  // with all that it needs: many small files, and names that begin with a dot
		"moment@2.30.1",       // all scripts of the world
		"typescript@5.9.2",    // a file of 9 MB; CRLF
		"core-js-pure@3.45.0", // thousands of files of a line or two
	}
	searchedPython = []string{
		"pyphen==0.17.2",     // Latin-1 and others; a byte order mark; CRLF
		"pytz==2025.2",       // small binary files
		"jedi==0.19.2",       // deep
		"setuptools==80.9.0", // programs of Windows, templates
		"sympy==1.13.3",      // large sources
	}
)

// maxAnswer is what an answer has at most, in bytes: 16,000 tokens of four.
const maxAnswer = 64_000

// TestSearches: what a search finds in packages of npm and PyPI is what ripgrep finds. Each hit is shown, or counted for
// its file, or the file is named as not searched. 'make searches' has all packages and many searches.
//
// These differences are meant: ripgrep searches files that are not UTF-8, and reads UTF-16; a glob that a file matches
// counts more to it than .gitignore; \w, \d and \b are more than ASCII to it. Neither program follows links.
func TestSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	node, python, n := searchedNode[:2], searchedPython[:1], 40
	if sample.Whole() {
		node, python, n = searchedNode, searchedPython, 300
	}
	random := sample.Rand(t)
	s := newSearched(t, node, python)
	for i := range n {
		q := s.generate(random)
		if problem := s.compare(t, q); problem != "" {
			t.Errorf("search %d, %+v: %s", i, q, problem)
		}
	}
	t.Logf("%d hits in %d searches: %d shown, %d counted", s.hits, n, s.shown, s.hits-s.shown)
}

// searched is a tree that both programs search.
type searched struct {
	*editing
	rg          string
	files       []string // that are text, by their path from the tree
	directories []string
	hits, shown int
}

func newSearched(t *testing.T, node, python []string) *searched {
	t.Helper()
	world.NeedsPython(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &editingServer{filepath.Join(base, "hashfile-mcp"), filepath.Join(base, "root"), filepath.Join(base, "home")}
	built.Into(t, server.program, "cmd/hashfile-mcp")
	for dir, names := range map[string][]string{base: {ripgrep}, server.dir: node} {
		if err := built.Modules(t, dir, names...); err != nil {
			world.Lack(t, err, nil)
		}
	}
	programs, _ := filepath.Glob(filepath.Join(base, "node_modules", "@vscode", "ripgrep-*", "bin", "rg"))
	if len(programs) != 1 {
		world.Lack(t, fmt.Errorf("%s has no program for this system", ripgrep), nil)
	}
	out, err := exec.CommandContext(t.Context(), "uv", append([]string{"pip", "install", "--quiet", "--no-deps",
		"--only-binary", ":all:", "--python", "python3", "--target", filepath.Join(server.dir, "py")}, python...)...).
		CombinedOutput()
	if err != nil {
		world.Lack(t, err, out)
	}
	world.Write(t, filepath.Join(server.dir, ".gitignore"), "*.map\n/py/*.dist-info/\n!**/bootstrap.css.map\n")
	world.Write(t, filepath.Join(server.dir, "utf16.txt"), "\xff\xfef\x00u\x00n\x00c\x00t\x00i\x00o\x00n\x00\n\x00")
	s := &searched{editing: server.start(t, true), rg: programs[0], directories: []string{""}}
	s.list()
	return s
}

// list lists what is in the tree and is not ignored.
func (s *searched) list() {
	s.t.Helper()
	seen := map[string]bool{}
	for _, rel := range s.rgFiles("", nil, "--no-require-git") {
		if !s.isText(rel) {
			continue
		}
		s.files = append(s.files, rel)
		for dir := path.Dir(rel); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			s.directories = append(s.directories, dir)
		}
	}
}

// isText reports whether a file is one that is searched: it is UTF-8 without NUL.
func (s *searched) isText(rel string) bool {
	data, err := os.ReadFile(filepath.Join(s.dir, rel))
	if err != nil {
		s.t.Fatal(err)
	}
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// aSearch is what both programs are asked.
type aSearch struct {
	Pattern    string   `json:"pattern"`
	Path       string   `json:"path,omitempty"`
	Glob       []string `json:"glob,omitempty"`
	IgnoreCase bool     `json:"ignore_case,omitempty"`
	Context    int      `json:"context,omitempty"`
	MaxResults int      `json:"max_results"`
}

// generate makes a search of what is in the tree.
func (s *searched) generate(random *rand.Rand) aSearch {
	one := func(all ...string) string { return all[random.IntN(len(all))] }
	q := aSearch{MaxResults: []int{5, 100, 1000}[random.IntN(3)], Context: random.IntN(2) * 2}
	switch random.IntN(8) {
	case 0, 1, 2:
	case 3:
		q.Path = one(s.files...)
	default:
		q.Path = one(s.directories...)
	}
	if q.Path == "" || slices.Contains(s.directories, q.Path) {
		q.Glob = globs(one, s.files)
	}
	q.Pattern = s.pattern(random, one)
	if q.IgnoreCase = random.IntN(4) == 0; q.IgnoreCase {
		q.Pattern = one(q.Pattern, strings.ToUpper(s.word(one)), strings.ToLower(s.word(one)))
	}
	return q
}

// globs makes globs that match some of the files.
func globs(one func(...string) string, files []string) []string {
	file := one(files...)
	ext, dir := path.Ext(file), path.Base(path.Dir(file))
	if ext == "" || strings.ContainsAny(file, "{}[]*?!, ") {
		return nil
	}
	all := map[string][]string{
		"extension": {"*" + ext}, "two": {"*" + ext, "*.py"}, "braces": {"*.{css,js,ts,txt}"}, "name": {path.Base(file)},
		"below": {"**/" + dir + "/**"}, "deep": {"**/" + dir + "/**/*" + ext}, "part": {path.Base(file)[:1] + "*"},
		"set": {"[a-m]*" + ext}, "one": {"?*" + ext}, "without": {"!*" + ext}, "without a directory": {"!" + dir + "/"},
		"without a name": {"*" + ext, "!" + dir}, "without two": {"*.{js,py,md}", "!*.min.js", "!*test*"},
		"from the top": {"/*" + ext}, "path": {"*/*" + ext},
	}
	names := []string{"extension", "two", "braces", "name", "below", "deep", "part", "set", "one", "without",
		"without a directory", "without a name", "without two", "from the top", "path", "", "", "", "", ""}
	return all[one(names...)]
}

// line gives a line of a file.
func (s *searched) line(one func(...string) string) string {
	for {
		data, err := os.ReadFile(filepath.Join(s.dir, one(s.files...)))
		if err != nil {
			s.t.Fatal(err)
		}
		line := strings.TrimSuffix(one(strings.Split(string(data), "\n")...), "\r")
		if len(strings.TrimSpace(line)) > 3 {
			return line
		}
	}
}

var words = regexp.MustCompile(`\pL[\pL\pN_]+`)

// word gives a word of a file.
func (s *searched) word(one func(...string) string) string {
	for {
		if all := words.FindAllString(s.line(one), -1); all != nil {
			return one(all...)
		}
	}
}

// pattern makes a pattern, of which most find something.
func (s *searched) pattern(random *rand.Rand, one func(...string) string) string {
	line := []rune(s.line(one))
	from := random.IntN(len(line) - 2)
	part := func(from, to int) string { return regexp.QuoteMeta(string(line[max(0, from):min(to, len(line))])) }
	switch random.IntN(10) {
	case 0:
		return s.word(one)
	case 1:
		return `\b` + s.word(one) + `\b`
	case 2:
		return "^" + part(0, 2+random.IntN(9))
	case 3:
		return part(len(line)-2-random.IntN(9), len(line)) + "$"
	case 4:
		return part(from, from+2+random.IntN(20))
	case 5:
		return s.word(one) + ".*" + s.word(one)
	case 6:
		return s.word(one) + "|" + s.word(one) + "|^" + s.word(one)
	case 7:
		return one("[a-f]{3}[0-9]+", `[^a-z\s]{6}`, `\d{4}`, `[A-Z]\w+\(`, `^\s*[})\]]+;?$`, `\bx\b`, `[^\x00-\x7f]`,
			`^.{300}`)
	case 8:
		return one(".", "^$", "e", `\w+`, "x*", "^", "$", `\bthe\b`, "^ {4}", "return|import")
	}
	return "^" + part(0, len(line)) + "$"
}

// rgPattern is a pattern as ripgrep reads it, to which \w and the like are more than ASCII, and \s a carriage return.
func (q aSearch) rgPattern() string {
	return strings.NewReplacer(`\\`, `\\`, `\b`, `(?-u:\b)`, `[^a-z\s]`, `[^a-z\t\n\f\r ]`, `\s`, `[\t\f ]`,
		`\w`, `[0-9A-Za-z_]`, `\d`, `[0-9]`).Replace(q.Pattern)
}

// runRG runs ripgrep in a directory of the tree.
func (s *searched) runRG(dir string, args ...string) []byte {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.rg, append([]string{"--no-config", "--hidden", "--no-messages",
		"--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot", "--null"}, args...)...)
	cmd.Dir = filepath.Join(s.dir, dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		s.t.Fatalf("ripgrep %q: %v %s", args, err, stderr.Bytes())
	}
	return out
}

// rgFiles lists the files of a directory that globs are about.
func (s *searched) rgFiles(dir string, globs []string, args ...string) (files []string) {
	s.t.Helper()
	for _, g := range globs {
		args = append(args, "-g", g)
	}
	for name := range strings.SplitSeq(string(s.runRG(dir, append(args, "--files")...)), "\x00") {
		if name != "" {
			files = append(files, path.Join(dir, name))
		}
	}
	slices.Sort(files)
	return files
}

// notIgnored gives the files that a search is about. To ripgrep a glob that a file matches counts more than .gitignore;
// to us it does not, and so the globs are asked for alone.
func (s *searched) notIgnored(q aSearch) []string {
	s.t.Helper()
	all := s.rgFiles(q.Path, nil, "--no-require-git")
	return slices.DeleteFunc(s.rgFiles(q.Path, q.Glob, "--no-ignore"), func(file string) bool {
		_, ok := slices.BinarySearch(all, file)
		return !ok
	})
}

// rgHits gives the lines that ripgrep finds in each file, with those that are ignored and those that are not text.
func (s *searched) rgHits(q aSearch) map[string][]int {
	s.t.Helper()
	args := []string{"-n", "--no-heading", "--with-filename", "--crlf", "-a", "--no-ignore"}
	if q.IgnoreCase {
		args = append(args, "-i")
	}
	for _, g := range q.Glob {
		args = append(args, "-g", g)
	}
	args = append(args, "-e", q.rgPattern(), "--")
	dir := q.Path
	if s.isFile(q) {
		dir = path.Dir(q.Path)
		args = append(args, path.Base(q.Path))
	} else {
		args = append(args, "./")
	}
	found := map[string][]int{}
	for line := range bytes.Lines(s.runRG(dir, args...)) {
		name, rest, ok := bytes.Cut(line, []byte{0})
		number, _, _ := bytes.Cut(rest, []byte(":"))
		if n, err := strconv.Atoi(string(number)); ok && err == nil {
			rel := path.Join(dir, string(name))
			found[rel] = append(found[rel], n)
		}
	}
	return found
}

// isFile reports whether a search is one of a single file.
func (s *searched) isFile(q aSearch) bool {
	info, err := os.Stat(filepath.Join(s.dir, q.Path))
	return err == nil && info.Mode().IsRegular()
}

// ask gives the answer of our server.
func (s *searched) ask(q aSearch) string {
	s.t.Helper()
	arguments, err := json.Marshal(q)
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(toolCall("1", "search_files", string(arguments)))
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	answer := s.next()
	if err := json.Unmarshal([]byte(answer), &m); err != nil || len(m.Result.Content) != 1 || m.Result.IsError {
		s.t.Fatalf("%+v: %v %.500s", q, err, answer)
	}
	return m.Result.Content[0].Text
}

// anAnswer is an answer of our server, read.
type anAnswer struct {
	shown          map[string][]int // the lines of hits
	around         map[string][]int // the lines around them
	counted        map[string]int   // hits that are not shown, of each file that is named
	unnamed        int              // hits of the files that are not named
	hits, files, n int              // as the answer says; n is the files that were searched
	passed         map[string][]string
	passedCount    map[string]int
}

var (
	answerLine = regexp.MustCompile(`^([> ]?)([0-9]+):[0-9a-f]+\|(.*)$`)
	answerSum  = regexp.MustCompile(`^\[(\d+) hits? in (\d+) files?; (\d+) files? searched(?:; ` +
		`the first (\d+) shown; not shown: (.*))?\]$`)
	answerRest = regexp.MustCompile(`^(\d+) in (.+)$`)
	answerMore = regexp.MustCompile(`^(\d+) in (\d+) other files?$`)
	answerPass = regexp.MustCompile(`^\[not searched: ([^:\]]+): (.*?)(?: and (\d+) more)?\]$`)
	cutMark    = regexp.MustCompile(`^(?:\[(\d+) bytes cut\])?(.*?)(?:\[(\d+) bytes cut\])?$`)
)

// read reads an answer, and holds its lines to the files.
func (s *searched) read(q aSearch, text string) (*anAnswer, error) {
	a := &anAnswer{shown: map[string][]int{}, around: map[string][]int{}, counted: map[string]int{},
		passed: map[string][]string{}, passedCount: map[string]int{}}
	var file string
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "==> "); ok {
			file = strings.TrimSuffix(name, " <==")
			data, err := os.ReadFile(filepath.Join(s.dir, file))
			if err != nil {
				return nil, err
			}
			lines = strings.Split(string(data), "\n")
		} else if m := answerLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2])
			if n < 1 || n > len(lines) || !isPart(m[3], strings.TrimSuffix(lines[n-1], "\r")) {
				return nil, fmt.Errorf("%s has no such line: %s", file, line)
			}
			if m[1] == ">" || q.Context == 0 {
				a.shown[file] = append(a.shown[file], n)
			} else {
				a.around[file] = append(a.around[file], n)
			}
		} else if !a.readSum(line) && !a.readPassed(line) && !strings.HasPrefix(line, "[file_hash=") &&
			!strings.HasPrefix(line, "[no file here matches the glob") {
			return nil, fmt.Errorf("unknown line %.200q", line)
		}
	}
	return a, nil
}

// isPart reports whether a line of an answer is that of a file, or a part of it where it says how much is cut.
func isPart(got, line string) bool {
	if got == line {
		return true
	}
	m := cutMark.FindStringSubmatch(got)
	left, _ := strconv.Atoi(m[1])
	right, _ := strconv.Atoi(m[3])
	return left+len(m[2])+right == len(line) && line[left:len(line)-right] == m[2] && left+right > 0
}

// readSum reads the line with the number of hits.
func (a *anAnswer) readSum(line string) bool {
	m := answerSum.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	a.hits, _ = strconv.Atoi(m[1])
	a.files, _ = strconv.Atoi(m[2])
	a.n, _ = strconv.Atoi(m[3])
	for part := range strings.SplitSeq(m[5], ", ") {
		if m := answerMore.FindStringSubmatch(part); m != nil {
			a.unnamed, _ = strconv.Atoi(m[1])
		} else if m := answerRest.FindStringSubmatch(part); m != nil {
			a.counted[m[2]], _ = strconv.Atoi(m[1])
		} else if part != "" {
			return false
		}
	}
	return true
}

// readPassed reads a line with files that were not searched.
func (a *anAnswer) readPassed(line string) bool {
	m := answerPass.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	a.passed[m[1]] = strings.Split(m[2], ", ")
	more, _ := strconv.Atoi(m[3])
	a.passedCount[m[1]] = len(a.passed[m[1]]) + more
	return true
}

// compare says how an answer differs from what ripgrep finds.
func (s *searched) compare(t *testing.T, q aSearch) string {
	t.Helper()
	text := s.ask(q)
	if len(text) > maxAnswer {
		return fmt.Sprintf("the answer has %d bytes", len(text))
	}
	a, err := s.read(q, text)
	if err != nil {
		return err.Error()
	}
	searched := []string{q.Path}
	if !s.isFile(q) {
		searched = s.notIgnored(q)
		if problem := s.comparePassed(q, a, searched); problem != "" {
			return problem
		}
	}
	found := s.rgHits(q)
	hits, shown, files := 0, 0, 0
	for _, file := range searched {
		lines := found[file]
		if !s.isText(file) {
			lines = nil
		}
		if problem := a.compareFile(q, file, lines); problem != "" {
			return problem
		}
		hits, shown, files = hits+len(lines), shown+len(a.shown[file]), files+min(len(lines), 1)
	}
	s.hits, s.shown = s.hits+hits, s.shown+shown
	switch {
	case hits != a.hits || files != a.files:
		return fmt.Sprintf("%d hits in %d files, and ripgrep has %d in %d", a.hits, a.files, hits, files)
	case hits > 0 && shown == 0:
		return "no hit is shown"
	case shown != a.total():
		return fmt.Sprintf("%d hits are shown, and %d in files that are searched", a.total(), shown)
	}
	return ""
}

// total is how many hits are shown.
func (a *anAnswer) total() (n int) {
	for _, lines := range a.shown {
		n += len(lines)
	}
	return n
}

// compareFile says how the hits in one file differ from the lines that ripgrep finds.
func (a *anAnswer) compareFile(q aSearch, file string, lines []int) string {
	shown := a.shown[file]
	for _, n := range a.around[file] {
		next, hit := slices.BinarySearch(lines, n)
		before, after := next > 0 && lines[next-1] >= n-q.Context, next < len(lines) && lines[next] <= n+q.Context
		if hit || !before && !after {
			return fmt.Sprintf("%s:%d is shown as one around a hit", file, n)
		}
	}
	for _, n := range shown {
		if _, ok := slices.BinarySearch(lines, n); !ok {
			return fmt.Sprintf("%s:%d is shown, and ripgrep does not find it", file, n)
		}
	}
	counted, named := a.counted[file]
	if (named || a.unnamed == 0) && counted != len(lines)-len(shown) {
		return fmt.Sprintf("%s: %d counted and %d shown, and ripgrep has %.200s", file, counted, len(shown),
			fmt.Sprint(lines))
	}
	return ""
}

// comparePassed says how what was not searched differs from the files that ripgrep lists as ignored, and from those of
// the others that are not text.
func (s *searched) comparePassed(q aSearch, a *anAnswer, searched []string) string {
	var binary []string
	for _, file := range searched {
		if !s.isText(file) {
			binary = append(binary, file)
		}
	}
	if a.n != len(searched)-len(binary) {
		return fmt.Sprintf("%d files searched, and ripgrep has %d, with %d that are not text", a.n, len(searched),
			len(binary))
	}
	for _, name := range slices.Concat(a.passed["not UTF-8"], a.passed["binary"]) {
		if !slices.Contains(binary, name) {
			return name + " is text"
		}
	}
	if a.passedCount["not UTF-8"]+a.passedCount["binary"] != len(binary) {
		return fmt.Sprintf("not UTF-8: %v, and not %v", a.passed, binary)
	}
	ignored := map[string]bool{} // files, and directories instead of what is in them
	for _, file := range s.rgFiles(q.Path, q.Glob, "--no-ignore") {
		if _, ok := slices.BinarySearch(searched, file); !ok {
			if dir, _, below := strings.Cut(file, ".dist-info/"); below {
				file = dir + ".dist-info/"
			}
			ignored[file] = true
		}
	}
	var why []string
	for _, name := range a.passed["ignored by .gitignore"] {
		if !ignored[name] && !strings.HasSuffix(name, "/") {
			why = append(why, name+" is not ignored")
		}
	}
	if n := a.passedCount["ignored by .gitignore"]; n < len(ignored) {
		why = append(why, fmt.Sprintf("%d ignored of %d", n, len(ignored)))
	}
	for reason := range a.passed {
		if !slices.Contains([]string{"not UTF-8", "binary", "ignored by .gitignore", "a symbolic link"}, reason) {
			why = append(why, "passed over as "+reason)
		}
	}
	return strings.Join(why, "; ")
}
