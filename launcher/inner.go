package launcher

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// InnerLine returns the command line of another program that the server may start or fetch because its
// own arguments say so, from that program's name on; nil if they say nothing of the kind. A lock of the
// server holds nothing of such a program.
//
// The server is unknown, so its arguments alone decide: they are read as words, each argument with
// several words as a line of its own, and a word counts if it is called as a program of this package's
// grammar and what follows it may be that program's command line. The comment of the package has the rule.
func (t Target) InnerLine() []string {
	args := t.Args
	switch {
	case t.Opaque != "": // refused as a whole
		return nil
	case t.File != "" || t.Module != "": // of an interpreter, whose arguments hold the file too
		if at := slices.Index(args, t.File+t.Module); at >= 0 {
			args = args[at+1:]
		}
	case t.Bin != "" && t.Launcher != "uv run":
		args = append([]string{t.Bin}, args...)
	case t.Bin == "" && t.isStarter():
		args = append([]string{t.Packages[0].Name}, args...) // such as cross-env
	}
	return InnerLine(args, len(t.Packages) > 0 && t.Packages[0].Ecosystem == OCI)
}

// declaredInner is InnerLine, but without the name of a package whose version is missing, which is to be said first.
func (t Target) declaredInner() []string {
	if t.Opaque == "" && t.isStarter() && t.Bin == "" && !t.Packages[0].Pinned() {
		return InnerLine(t.Args, false)
	}
	return t.InnerLine()
}

// isStarter reports whether the package that a target runs is called as a program that starts another one, and not a
// script.
func (t Target) isStarter() bool {
	return len(t.Packages) > 0 && t.Packages[0].Ecosystem != OCI && slices.Contains(starters, t.Packages[0].Name) &&
		!t.RunsScript()
}

// RunsScript reports whether the package that a target runs is one that only runs the script which its arguments name,
// such as tsx. The script is not in the package: locking the one locks the other, too.
func (t Target) RunsScript() bool {
	return len(t.Packages) > 0 && (t.Packages[0].Ecosystem == NPM || t.Packages[0].Ecosystem == PyPI) &&
		slices.Contains(scriptRunners, t.Packages[0].Name)
}

// IsScriptRunner reports whether a module of python, such as "fastmcp.cli", is of such a package.
func IsScriptRunner(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	return slices.Contains(scriptRunners, top)
}

// InnerLine is [Target.InnerLine] for the arguments that a server gets. An image brings its own
// interpreters and files, so there only fetching counts.
func InnerLine(args []string, image bool) []string {
	words := splitArguments(args)
	for i, w := range words {
		if !w.mayStart(words[i+1:], image) {
			continue
		}
		line := []string{w.command}
		for _, next := range words[i+1:] {
			if w.line && next.arg != w.arg {
				break
			}
			line = append(line, next.text)
		}
		return line
	}
	return nil
}

// DescribeInner says what the arguments of a server do that have that inner line, with its command and
// arguments as JSON and TOML write them. Secrets are redacted; arguments with one are not written.
func DescribeInner(line []string) (reason, command, args string) {
	shown := Redact(line)
	text := strings.Join(shown, " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	if args = "what follows it"; slices.Equal(shown, line) {
		args = encode(line[1:])
	}
	return "its command line may start or fetch another program, which nothing verifies: " + text,
		encode(shown[0]), args
}

// maxShown bounds a command line in a message, in bytes.
const maxShown = 200

// argumentWord is a word of a server's arguments.
type argumentWord struct {
	text    string
	command string // the part that would be a program's name; "" if none can be
	arg     int
	line    bool // its argument has several words
	list    bool // its argument is items without blanks: docker,git
	comma   bool // a comma stands right behind it
	leads   bool // it begins a line or all arguments, or follows "--"
	value   bool // an option stands before it
	joined  bool // it is an argument, and command its end: --runtime=node
}

// splitArguments cuts arguments into words: at blanks, quotes and what separates commands and items.
func splitArguments(args []string) (out []argumentWord) {
	leads := true
	for i, arg := range args {
		parts, first := splitLine(arg), len(out)
		isLine := len(parts) > 1 && strings.ContainsFunc(arg, unicode.IsSpace) // and no list with commas
		for _, w := range parts {
			w.arg, w.line, w.list = i, isLine, len(parts) > 1 && !isLine
			w.leads = leads && len(parts) == 1 && arg[0] != '-' || isLine && (len(out) == first || w.leads)
			w.command = strings.TrimLeft(w.text, "=:!")
			if at := strings.LastIndexAny(w.command, "=:!"); at >= 0 {
				w.command, w.joined = w.command[at+1:], !isLine
			}
			if strings.HasPrefix(w.command, "-") || strings.HasPrefix(w.text, "@") || strings.Contains(w.text, "://") {
				w.command = ""
			}
			if len(out) > 0 {
				before := out[len(out)-1]
				w.value = before.text[0] == '-' && before.text != "--" && !strings.Contains(before.text, "=") ||
					before.value && RunsOtherCode(before.command)
			}
			leads = w.text == "--" || leads && assignmentRE().MatchString(w.text)
			out = append(out, w)
		}
	}
	return out
}

// splitLine cuts one argument into words. One that begins a command of a shell line leads.
func splitLine(arg string) (out []argumentWord) {
	begins := false
	var text strings.Builder
	flush := func(r rune) {
		if strings.Trim(text.String(), `=:!\`) != "" {
			out = append(out, argumentWord{text: text.String(), leads: begins, comma: r == ','})
			begins = false
		}
		text.Reset()
	}
	for _, r := range arg {
		switch {
		case strings.ContainsRune(";|&(\n`", r):
			flush(r)
			begins = true
		case unicode.IsSpace(r) || strings.ContainsRune(`"'){}[]<>,$`, r):
			flush(r)
		default:
			text.WriteRune(r)
		}
	}
	flush(0)
	return out
}

// maxInner bounds how much of a command line is read behind each word, in words.
const maxInner = 64

// mayStart reports whether w is a program's name, and rest may be that program's command line: the grammar finds
// a package in it; or w is an argument of its own, or begins a line, and anything follows. Elsewhere w may be just
// a name, and what follows decides.
func (w argumentWord) mayStart(rest []argumentWord, image bool) bool {
	if w.command == "" || len(rest) == 0 || !RunsOtherCode(w.command) {
		return false
	}
	isPath := isPath(w.command) && !w.line // a directory may be called "go"
	words := make([]word, min(len(rest), maxInner))
	for i := range words {
		words[i].text = rest[i].text
	}
	name := commandName(w.command)
	t := parse(name, words, 0)
	read, launches := launchers[name]
	i, interprets := interpreterOf(name)
	switch {
	case t.Opaque == "" && len(t.Packages) > 0:
		return true
	case launches && len(read(name, []word{{text: "name"}}).Packages) > 0: // its only use is to fetch
		return !isPath || words[0].text[0] == '-'
	case launches && t.Opaque != "" && t.Launcher != name: // "docker run", with options that are not known
		return true
	case launches && !w.list && !w.line && fetchesLater(read, name, words):
		return true
	case image:
		return false
	case w.leads && !w.joined && (!isPath || w.arg > 0) || !w.value && !w.joined && !w.list && !w.line && !isPath:
		return true
	case interprets && !launches:
		return w.mayInterpret(i, t, words, isPath)
	case launches && t.Opaque == "":
		return true
	}
	return w.mayLaunch(name, rest[:len(words)], launches)
}

// fetchesLater reports whether what fetches begins behind options: --command docker --args run,IMAGE. Whose options
// they are cannot be told.
func fetchesLater(read parser, name string, words []word) bool {
	for i := 1; i < len(words) && strings.HasPrefix(words[0].text, "-"); i++ {
		if t := read(name, words[i:]); t.Opaque == "" && len(t.Packages) > 0 {
			return true
		}
	}
	return false
}

// mayLaunch reports whether w, a launcher or a program that starts others, may be told to do so by rest, where it
// may be just a name as well. As an option's value and as a path it is a name if an option, a path or another name
// follows; in a list, if no option is in the list. In a text a launcher is one if a comma ends it; the other
// programs, many of them words of English too, unless an option or a file follows.
func (w argumentWord) mayLaunch(name string, rest []argumentWord, launches bool) bool {
	next := rest[0]
	switch {
	case name == "cmd":
		return len(next.text) == 2 && next.text[0] == '/'
	case slices.Contains(shells, name) && isShortOption(next.text):
		return true
	case w.list:
		return slices.ContainsFunc(rest, func(r argumentWord) bool { return r.arg == w.arg && r.text[0] == '-' })
	case w.line && launches:
		return !w.comma && next.arg == w.arg
	case w.line:
		return next.arg == w.arg && (next.text[0] == '-' || hasSuffix(next.text))
	}
	return next.text[0] != '-' && !isPath(next.text) && !RunsOtherCode(next.command)
}

// mayInterpret reports whether w, an interpreter, may be told to run what words name: a module, a text
// or a file. As an option's value it may as well be the name of a language, which another option follows; as
// --language=NAME a file may be the server's own.
func (w argumentWord) mayInterpret(i interpreter, t Target, words []word, isPath bool) bool {
	switch {
	case t.Module != "" || i.shell && hasCommandOption(words):
		return true
	case t.Opaque != "":
		return isShortOption(words[0].text) || !w.value && !w.joined && !isPath
	}
	return !w.joined && hasSuffix(t.File)
}

// isPath reports whether s names something by its place.
func isPath(s string) bool { return strings.ContainsAny(s, `/\`) }

// isShortOption reports whether s is an option with one dash, as interpreters take a text or a module.
func isShortOption(s string) bool { return len(s) > 1 && s[0] == '-' && s[1] != '-' }

// hasSuffix reports whether a file's name ends as that of a program may: "server.js", not "3.11".
func hasSuffix(name string) bool {
	ext := path.Ext(name)
	return len(ext) > 1 && unicode.IsLetter(rune(ext[1])) && !strings.Contains(name, "://")
}
