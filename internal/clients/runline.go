package clients

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// Placeholder matches text that clients replace by a value before they start a server.
var Placeholder = spelling.Form(`\$\{|\{\{|%[A-Za-z_]+%`)

// ProgramName returns the last element of a path in lower case, without a suffix of Windows.
func ProgramName(command string) string {
	name := strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
	for _, suffix := range []string{".exe", ".cmd", ".bat", ".com", ".ps1"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// ChangesHallmark reports whether a variable changes where hallmark finds programs, where it keeps
// its state, or which hosts it asks.
func ChangesHallmark(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"HALLMARK", "XDG_", "GO", "SSL_", "NPM_CONFIG", "PIP_", "UV_", "GIT_", "DOCKER_",
		"CONTAINER", "PODMAN"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return launcher.ChangesLoading(name) || strings.HasSuffix(upper, "_PROXY") ||
		slices.Contains([]string{"PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA",
			"LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "COMSPEC", "TMPDIR", "TMP", "TEMP", "SHELL"}, upper)
}

// RunLine holds the arguments of hallmark run in an entry.
type RunLine struct {
	Name    string   // of the server
	Project string   // directory of --project
	Log     string   // file of --log
	State   string   // directory of --state
	Cache   string   // directory of --cache
	Extra   []string // arguments after --, for the server
}

// ReadRunLine reads the arguments of hallmark run. It reports every flag that it does not know as a
// problem, because a flag may weaken what is verified: some accept a lock or a key without a
// review. shared means that the entry is in a project's file, whose author is not trusted to
// choose where hallmark writes.
func ReadRunLine(args []string, shared bool) (line RunLine, problems []string) {
	values := map[string]*string{"--project": &line.Project, "--log": &line.Log, "--state": &line.State,
		"--cache": &line.Cache}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		flag, value, joined := strings.Cut(word, "=")
		into := values[flag]
		switch {
		case word == "--":
			line.Extra, args = args, nil
		case word == "--require-lock":
		case into != nil && !joined && len(args) == 0, into != nil && *into != "":
			problems = append(problems, "says "+flag+" twice, or without a value")
		case into != nil:
			if !joined {
				value, args = args[0], args[1:]
			}
			if *into = value; value == "" {
				problems = append(problems, "says "+flag+" without a value")
			}
		case strings.HasPrefix(word, "-"):
			problems = append(problems, "has the option "+QuoteText(launcher.Redact([]string{flag})[0])+
				", which may weaken what is verified")
		case line.Name != "":
			problems = append(problems, "names more than one server")
		default:
			line.Name = word
		}
	}
	if shared && line.Log != "" && !isProjectLog(line.Log) {
		problems = append(problems, "has "+QuoteText(line.Log)+" written, which is no log (*.jsonl) in the project")
	}
	if line.Name == "" {
		problems = append(problems, "names no server")
	}
	return line, problems
}

// isProjectLog reports whether a file can only be a log of the project, so that a project's entry
// may append lines to it: a *.jsonl file below the project without hidden parts.
func isProjectLog(name string) bool {
	return filepath.IsLocal(name) && strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, ".") &&
		!strings.Contains(filepath.ToSlash(name), "/.")
}

// IsRunEntry reports whether an entry has the form that Hallmark writes: hallmark run NAME, with or
// without a project. The form alone does not prove that the server is guarded.
func IsRunEntry(s Server) bool {
	if s.Command != "hallmark" && !(filepath.IsAbs(s.Command) && ProgramName(s.Command) == "hallmark") ||
		len(s.Args) == 0 || s.Args[0] != "run" {
		return false
	}
	_, problems := ReadRunLine(s.Args[1:], true)
	return len(problems) == 0 && !slices.ContainsFunc(s.Variables, ChangesHallmark)
}

// QuoteText quotes untrusted text as ASCII, cut after 80 bytes.
func QuoteText(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
