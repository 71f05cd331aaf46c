package hallmark

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// runLine is what stands behind hallmark run in an entry.
type runLine struct {
	name    string
	project string
	log     string   // file of --log
	extra   []string // for the server
}

// readRun reads the arguments of hallmark run. Flags that are not on its list weaken what
// it does, or may: those that accept a lock or a key unseen do. shared says that the entry
// stands in a project's file, which its author cannot be trusted to have written.
func readRun(args []string, shared bool) (line runLine, problems []string) {
	values := map[string]*string{"--project": &line.project, "--log": &line.log}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		flag, value, joined := strings.Cut(word, "=")
		into := values[flag]
		switch {
		case word == "--":
			line.extra, args = args, nil
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
			problems = append(problems, "has the option "+quote(launcher.Redact([]string{flag})[0])+", which may weaken what is verified")
		case line.name != "":
			problems = append(problems, "names more than one server")
		default:
			line.name = word
		}
	}
	if shared && line.log != "" && !isLogOfProject(line.log) {
		problems = append(problems, "has "+quote(line.log)+" written, which is no log (*.jsonl) in the project")
	}
	if line.name == "" {
		problems = append(problems, "names no server")
	}
	return line, problems
}

// isLogOfProject reports whether a file that a project's entry has lines appended to can be
// nothing but a log.
func isLogOfProject(name string) bool {
	return filepath.IsLocal(name) && strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, ".") && !strings.Contains(filepath.ToSlash(name), "/.")
}

// isRunEntry reports whether an entry is like those that we write: hallmark run NAME, with
// a project or without. Whether it is guarded is more than its form tells.
func isRunEntry(s clients.Server) bool {
	if s.Command != "hallmark" && !(filepath.IsAbs(s.Command) && programName(s.Command) == "hallmark") || len(s.Args) == 0 || s.Args[0] != "run" {
		return false
	}
	_, problems := readRun(s.Args[1:], true)
	return len(problems) == 0 && !slices.ContainsFunc(s.Variables, steers)
}

// quote prints text from outside, short.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
