package clients

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("write", false, "write docs/clients.md")

// TestDocument: docs/clients.md is what the table says. go test ./internal/clients -run TestDocument -write writes it.
func TestDocument(t *testing.T) {
	const name = "../../docs/clients.md"
	want := []byte(describeTable())
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/clients.md is not what the table says, %v; run this test with -write", err)
	}
}

// describeTable writes the table of clients as Markdown.
func describeTable() string {
	var b strings.Builder
	b.WriteString(`# Where clients keep servers

This page is written from the table that ` + "`hallmark`" + ` reads: every file that it looks at, and the keys under which a client has its
servers there. A *user's* file counts in every directory, a *project's* in its own, the *machine's* is its administrator's. What belongs to a *plugin* or an extension is
shown and not rewritten, because its next version replaces it. ` + "`*`" + ` is any name, ` + "`**`" + ` any directories. Of clients with a version the places were
seen in the program itself; of the others they are what its pages and public code say.

| written here | Linux | macOS | Windows |
|---|---|---|---|
| ` + "`~`" + ` | the home directory | the same | the same |
| ` + "`<xdg>`" + ` | ` + "`$XDG_CONFIG_HOME`" + `, else ` + "`~/.config`" + ` | the same | the same |
| ` + "`<config>`" + ` | as ` + "`<xdg>`" + ` | ` + "`~/Library/Application Support`" + ` | ` + "`%APPDATA%`" + ` |
| ` + "`<local>`" + ` | as ` + "`<xdg>`" + ` | as ` + "`<xdg>`" + ` | ` + "`%LOCALAPPDATA%`" + ` |
| ` + "`<data>`" + ` | ` + "`$XDG_DATA_HOME`" + `, else ` + "`~/.local/share`" + ` | the same | the same, else ` + "`%LOCALAPPDATA%`" + ` |

A place that is missing here is a defect: it is one line of the table, with the page that says so. A client that is not here can be scanned all the
same, by naming its file: ` + "`hallmark scan FILE`" + `.
`)
	rows := slices.Clone(table)
	slices.SortFunc(rows, func(a, b client) int { return cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	for _, c := range rows {
		if c.isHallmark {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n`--client %s`", c.name, c.id)
		if c.page != "" {
			fmt.Fprintf(&b, " · [its page](%s)", c.page)
		}
		if c.version != "" {
			fmt.Fprintf(&b, " · seen in the program, version %s", c.version)
		}
		fmt.Fprintf(&b, " · checked on %s\n\n| whose | file | servers under |\n|---|---|---|\n", c.read)
		var lines, files []string
		keys := map[string][]string{}
		for _, l := range c.servers {
			file := fmt.Sprintf("| %s | `%s`%s |", l.whose(), l.written(), l.onSystem())
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
			if !slices.Contains(keys[file], l.shape) {
				keys[file] = append(keys[file], l.shape)
			}
		}
		for _, file := range files {
			lines = append(lines, file+" "+describeKeys(keys[file])+" |")
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
		var moves []string
		for _, v := range c.variables {
			moves = append(moves, "`"+v.name+"` "+describeVariable(v))
		}
		if len(moves) > 0 {
			b.WriteString("\n" + strings.Join(moves, ", ") + ".\n")
		}
	}
	return b.String()
}

// whose says whose file a location is.
func (l location) whose() string {
	switch {
	case l.plugin:
		return "plugin"
	case l.base == project:
		return "project"
	case l.base == system, l.base == programs:
		return "machine"
	}
	return "user"
}

// written is the path of a location, as the page writes it.
func (l location) written() string {
	if l.base == named {
		name, rest, ok := strings.Cut(l.path, "/")
		if ok {
			rest = "/" + rest
		}
		return "$" + name + rest
	}
	before := map[base]string{home: "~/", xdg: "<xdg>/", config: "<config>/", local: "<local>/", data: "<data>/",
		programs: "%ProgramFiles%/", system: "/"}[l.base]
	if l.base == system && l.os == "windows" {
		before = "%PROGRAMDATA%/"
	}
	return before + l.path
}

// onSystem says on which system alone a client has the file.
func (l location) onSystem() string {
	if l.base == system || l.base == programs {
		return ""
	}
	return map[string]string{"linux": " (Linux)", "darwin": " (macOS)", "windows": " (Windows)"}[l.os]
}

func describeKeys(shapes []string) string {
	var out []string
	for _, shape := range shapes {
		switch shape {
		case wholeFile:
			out = append(out, "the file itself")
		default:
			out = append(out, "`"+shape+"`")
		}
	}
	return strings.Join(out, ", ")
}

func describeVariable(v variable) string {
	switch {
	case v.stands == "":
		return "stands for the home directory"
	case v.below == "" && !strings.HasSuffix(v.stands, "/"):
		return "names the file in the place of `" + v.stands + "`"
	case v.below == "":
		return "stands for `" + strings.TrimSuffix(v.stands, "/") + "`"
	}
	return "holds `" + v.below + "` in the place of `" + v.stands + "`"
}
