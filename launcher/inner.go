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
	}
	return InnerLine(args, len(t.Packages) > 0 && t.Packages[0].Ecosystem == OCI)
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
// arguments as JSON and TOML write them. Secrets are redacted.
func DescribeInner(line []string) (reason, command, args string) {
	shown := Redact(line)
	text := strings.Join(shown, " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return "its command line may start or fetch another program, which nothing verifies: " + text,
		encode(shown[0]), encode(shown[1:])
}

// maxShown bounds a command line in a message, in bytes.
const maxShown = 200

// argumentWord is a word of a server's arguments.
type argumentWord struct {
	text    string
	command string // the part that would be a program's name; "" if none can be
	arg     int
	line    bool // its argument has several words
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
		for _, part := range parts {
			w := argumentWord{text: part.text, arg: i, line: isLine}
			w.leads = leads && len(parts) == 1 && arg[0] != '-' || isLine && (len(out) == first || part.at.shell)
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

// splitLine cuts one argument into words. The place of one that begins a command of a shell line is
// marked shell.
func splitLine(arg string) (out []word) {
	begins := false
	var text strings.Builder
	flush := func() {
		if strings.Trim(text.String(), `=:!\`) != "" {
			out = append(out, word{text.String(), place{shell: begins}})
			begins = false
		}
		text.Reset()
	}
	for _, r := range arg {
		switch {
		case strings.ContainsRune(";|&(\n`", r):
			flush()
			begins = true
		case unicode.IsSpace(r) || strings.ContainsRune(`"'){}[]<>,$`, r):
			flush()
		default:
			text.WriteRune(r)
		}
	}
	flush()
	return out
}

// maxInner bounds how much of a command line is read behind each word, in words.
const maxInner = 64

// mayStart reports whether w is a program's name, and rest may be that program's command line.
func (w argumentWord) mayStart(rest []argumentWord, image bool) bool {
	if w.command == "" || len(rest) == 0 || !RunsOtherCode(w.command) {
		return false
	}
	isPath := strings.ContainsAny(w.command, `/\`)
	w.leads = w.leads && (!isPath || w.line || w.arg > 0) // a directory may be called "go"
	words := make([]word, min(len(rest), maxInner))
	for i := range words {
		words[i].text = rest[i].text
	}
	name := commandName(w.command)
	t := parse(name, words, 0)
	_, launches := launchers[name]
	i, interprets := interpreterOf(name)
	switch {
	case t.Opaque == "" && len(t.Packages) > 0:
		return true
	case launches && slices.Contains(runners, name): // whose only use is to fetch
		return !isPath || words[0].text[0] == '-'
	case launches && t.Opaque != "" && t.Launcher != name: // "docker run", with options that are not known
		return true
	case image:
		return false
	case launches:
		return t.Opaque == "" || w.leads && words[0].text[0] != '-' || hasVerb(words)
	case interprets && !w.joined:
		return w.mayInterpret(i, t, words, isPath)
	case interprets:
		return false
	}
	return w.mayWrap(name, words)
}

// runners are the launchers that do nothing but fetch and run a package.
var runners = []string{"npx", "bunx", "pnpx", "pnx", "uvx", "dnx"}

// mayInterpret reports whether w, an interpreter, may be told to run what words name: a module, a text
// or a file. As an option's value it may as well be the name of a language, which another option follows.
func (w argumentWord) mayInterpret(i interpreter, t Target, words []word, isPath bool) bool {
	switch {
	case t.Module != "" || i.shell && hasCommandOption(words):
		return true
	case t.Opaque != "":
		return w.leads || isShortOption(words[0].text) || !w.value && !isPath
	}
	return w.leads || hasSuffix(t.File)
}

// mayWrap reports whether w, a program that starts others or a shell with a syntax of its own, may be
// told to start what words name. What it starts is found by its own name too, where it has one.
func (w argumentWord) mayWrap(name string, words []word) bool {
	first := words[0].text
	switch {
	case name == "cmd":
		return len(first) == 2 && first[0] == '/'
	case slices.Contains(shells, name):
		return isShortOption(first) || w.leads
	}
	return w.leads && !w.joined || first == "run" || first == "exec" || !w.value && hasSuffix(first)
}

// startingVerbs are commands of launchers that start or fetch something besides what the grammar reads.
var startingVerbs = []string{"run", "exec", "start", "create", "compose", "install"}

// hasVerb reports whether words begin with such a command, after options that may have a value each.
func hasVerb(words []word) bool {
	option := false
	for _, w := range words {
		switch {
		case strings.HasPrefix(w.text, "-"):
			option = true
		case slices.Contains(startingVerbs, w.text):
			return true
		case !option:
			return false
		default:
			option = false
		}
	}
	return false
}

// isShortOption reports whether s is an option with one dash, as interpreters take a text or a module.
func isShortOption(s string) bool { return len(s) > 1 && s[0] == '-' && s[1] != '-' }

// hasSuffix reports whether a file's name ends as that of a program may: "server.js", not "3.11".
func hasSuffix(name string) bool {
	ext := path.Ext(name)
	return len(ext) > 1 && unicode.IsLetter(rune(ext[1])) && !strings.Contains(name, "://")
}
