package userconfig

import (
	"fmt"
	"path/filepath"
	"strings"
)

// login is what a netrc says for a machine.
type login struct{ user, password string }

// parseNetrc reads a netrc file: words "machine NAME login USER password SECRET
// account X", in any order after the machine. A word may be quoted with escapes, "#"
// at the beginning of a word begins a comment unless a value is due there, and
// "macdef NAME" lasts until an empty line. The first entry of a machine counts. The
// default entry is skipped, because it would be sent to every host. Nothing is an error.
func parseNetrc(text string) map[string]login {
	logins := make(map[string]login)
	machine, entry, macro, due := "", login{}, false, ""
	flush := func() {
		if _, seen := logins[machine]; machine != "" && !seen && (entry.user != "" || entry.password != "") {
			logins[machine] = entry
		}
		machine, entry = "", login{}
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
		if macro {
			macro = strings.TrimSpace(line) != ""
			continue
		}
		for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
			var word string
			if due == "" && line[0] == '#' {
				break
			}
			word, line = cutNetrcWord(line)
			what := due
			due = ""
			switch {
			case what == "machine":
				machine = strings.ToLower(word)
			case what == "login":
				entry.user = word
			case what == "password":
				entry.password = word
			case what != "": // of no use here
			case word == "machine":
				flush()
				due = word
			case word == "login", word == "password", word == "account":
				due = word
			case word == "user":
				due = "login"
			case word == "default":
				flush()
			case word == "macdef":
				flush()
				macro, line = true, ""
			}
		}
	}
	flush()
	return logins
}

// cutNetrcWord returns the first word of a line, and what follows it.
func cutNetrcWord(line string) (word, rest string) {
	if line[0] != '"' {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return line, ""
		}
		return line[:i], line[i:]
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '"':
			return b.String(), line[i+1:]
		case line[i] == '\\' && i+1 < len(line):
			i++
		}
		b.WriteByte(line[i])
	}
	return b.String(), ""
}

// readNetrc reads the file that NETRC names, else ~/.netrc or ~/_netrc.
func readNetrc(env func(string) string, home string) (map[string]login, error) {
	paths := []string{env("NETRC")}
	if paths[0] == "" && home != "" {
		paths = []string{filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")}
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		text, err := ReadFile(absolutePath(path, "", home), maxConfigFile)
		if err != nil {
			return nil, fmt.Errorf("netrc: %w", err)
		}
		if text != "" {
			return parseNetrc(text), nil
		}
	}
	return nil, nil
}
