package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/project"
)

const (
	document   = "../../docs/facets.md"
	tableStart = "<!-- targets: written by go test ./internal/installed -write -->\n"
	tableEnd   = "<!-- end of targets -->\n"
	userStart  = "<!-- targets of users: written by go test ./internal/installed -write -->\n"
	userEnd    = "<!-- end of targets of users -->\n"
)

// cell is a place in a table, which links to the page of the client's documentation.
func cell(n noun) string {
	switch {
	case n.path == "":
		return "–"
	case strings.HasSuffix(n.path, "/NAME"):
		return fmt.Sprintf("[`%s/`](%s)", n.path, n.page)
	}
	text := fmt.Sprintf("[`%s`](%s)", n.path, n.page)
	for _, b := range n.beside {
		text += ", `" + strings.TrimPrefix(b.path, strings.TrimSuffix(n.path, "SKILL.md")) + "`"
	}
	return text
}

// serverFiles are the files of a project in which a client has servers: the first is written if there is
// none.
func serverFiles(t Target) string {
	if t.Client == "" {
		return fmt.Sprintf("[–](%s)", t.serversPage)
	}
	var names []string
	for _, existing := range []string{"", "opencode.json", ".amp/settings.jsonc"} {
		f, ok := clients.ServerFile(t.Client, "/", func(name string) bool { return name == existing })
		if name := "`" + strings.TrimPrefix(filepath.ToSlash(f.Path), "/") + "`"; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := fmt.Sprintf("[%s](%s)", names[0], t.serversPage)
	if len(names) > 1 {
		text += ", or " + names[1] + " if that is there"
	}
	return text
}

// words are the members of a target in a table.
func words(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// targetTables are the tables of docs/facets.md.
func targetTables() string {
	var b strings.Builder
	b.WriteString("| target | skills | also reads skills of | agents | commands | servers |\n|---|---|---|---|---|---|\n")
	for _, t := range All() {
		name := "`" + t.Name + "`"
		if t.Name == project.TargetCopilot {
			name += ", `" + vscode + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, cell(t.skills), words(t.skills.reads), cell(t.agents), cell(t.commands), serverFiles(t))
	}
	b.WriteString("| `dir:PATH` | as in the archive, below `PATH` | – | | | – |\n")
	b.WriteString("\n| target | of a file's own front matter it gets | besides, `adapters` may give |\n|---|---|---|\n")
	for _, t := range All() {
		for _, k := range []struct {
			name string
			noun noun
		}{{"skills", t.skills}, {"agents", t.agents}, {"commands", t.commands}} {
			if k.noun.path == "" {
				continue
			}
			own := words(k.noun.keep)
			if k.noun.all {
				own = "all"
			}
			if tools := k.noun.tools; tools != nil {
				own += "; `tools` as `" + tools.member + "`"
			}
			for _, set := range k.noun.sets {
				own += fmt.Sprintf("; always `%s: %s`", set.name, strings.Trim(yamlValue(set.value), `"`))
			}
			given := slices.DeleteFunc(slices.Clone(k.noun.knows), func(s string) bool { return slices.Contains(k.noun.keep, s) })
			fmt.Fprintf(&b, "| `%s`, %s | %s | %s |\n", t.Name, k.name, own, words(given))
		}
	}
	return b.String()
}

// userTable is the table of what users have for all projects.
func userTable() string {
	var b strings.Builder
	b.WriteString("| target | skills | agents | commands | servers |\n|---|---|---|---|---|\n")
	place := func(n noun) string {
		if strings.HasSuffix(n.path, "/NAME") {
			n.path += "/"
		}
		return words(strings.Fields(n.path))
	}
	for _, t := range All() {
		if !t.HasUser() {
			continue
		}
		t = t.User()
		servers := "`mcp.json` of the editor's user"
		if t.Name != project.TargetCopilot {
			f, err := clients.UserServerFile(t.Client, clients.Machine{OS: "linux", Home: "/", Getenv: func(string) string { return "" }})
			if err != nil {
				panic(err)
			}
			servers = "`" + strings.TrimPrefix(filepath.ToSlash(f.Path), "/") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", t.Name, place(t.skills), place(t.agents), place(t.commands), servers)
	}
	return b.String()
}

// docs/facets.md has the table of targets that the code has.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for _, table := range []struct{ start, text, end string }{
		{tableStart, targetTables(), tableEnd}, {userStart, userTable(), userEnd},
	} {
		before, rest, ok := strings.Cut(want, table.start)
		_, after, ended := strings.Cut(rest, table.end)
		if !ok || !ended {
			t.Fatalf("%s has no place for the table", document)
		}
		want = before + table.start + "\n" + table.text + "\n" + table.end + after
	}
	if string(data) == want {
		return
	}
	if !*write {
		t.Fatalf("the table of %s is not that of the code; run go test ./internal/installed -write", document)
	}
	if err := os.WriteFile(document, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The table has each target of hallmark.toml once, in the same order, and pages of the client for what it
// says.
func TestTable(t *testing.T) {
	var names []string
	for _, target := range All() {
		names = append(names, target.Name)
		for _, n := range []noun{target.skills, target.agents, target.commands} {
			if n.path != "" && !strings.HasPrefix(n.page, "https://") {
				t.Errorf("%s: no page for %s", target.Name, n.path)
			}
			if n.path != "" && strings.Count(n.path, "NAME") != 1 {
				t.Errorf("%s: %s", target.Name, n.path)
			}
			for _, member := range n.needs {
				if !n.all && !slices.Contains(n.keep, member) {
					t.Errorf("%s needs %s, and does not keep it", target.Name, member)
				}
			}
		}
		if !strings.HasPrefix(target.serversPage, "https://") || len(target.Marks) == 0 || target.skills.path == "" {
			t.Errorf("%+v", target)
		}
		if _, ok := clients.ServerFile(target.Client, "/", func(string) bool { return false }); ok != (target.Client != "") {
			t.Errorf("%s: package clients does not write the file of its servers", target.Name)
		}
		if found, ok := Find(target.Name); !ok || found.Name != target.Name {
			t.Errorf("%s is not found", target.Name)
		}
	}
	if !slices.Equal(names, project.Targets()) {
		t.Errorf("%q", names)
	}
	if _, ok := Find("other"); ok {
		t.Error("an unknown target is found")
	}
}
