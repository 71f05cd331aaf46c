package clients

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// client is a row of the table: everything that this package knows about one client. To add a client,
// add a row. Only Codex is also named outside of the table, because its roles are files: see NamedFile.
type client struct {
	id   string // as --client takes it: "claude-code"
	name string // for messages

	page    string // of the documentation, which says where the client keeps servers; "" for none that was found
	version string // of the program in which they were seen; "" if pages and public code alone say so
	read    string // the day on which that was looked up, "2026-11-29"

	servers   []location // of the files that name servers
	variables []variable // that name the places of the user's files

	commands []location    // of a project's files with command lines that the client runs itself: see commandsAt
	programs []program     // files of a project that the client runs when it starts
	install  *installation // how a server is added to a project; nil: nothing is installed for the client

	ownTypes          []string // types of entries that are parts of the client itself
	isHallmark        bool     // its file is read by package project too, which refuses what is not a server
	placeholders      []string // with which what it fills into the values of an entry begins, besides "${"
	runsSubstitutions bool     // it runs $(command) and `command` in the values of an entry
}

// locations returns the locations of the servers of c and of the command lines that it runs.
func (c client) locations() []location { return slices.Concat(c.servers, c.commands) }

// FillsIn reports whether the client called id replaces a part of a text in an entry by something else, in a way of its
// own.
func FillsIn(id, text string) bool {
	return slices.ContainsFunc(clientOf(id).placeholders, func(mark string) bool {
		return strings.Contains(text, mark)
	})
}

// program is a file of a project that a client runs. It is reported and not read.
type program struct {
	path string // as that of a location
	adds bool   // it is a shell script, which may add servers
}

// describe says why p, a program of c, was not read.
func (p program) describe(c client) string {
	if p.adds {
		return fmt.Sprintf("is a shell script that %s runs when it starts, which may add servers, and is not read",
			c.name)
	}
	return fmt.Sprintf("is a program that %s runs when it starts, and is not read", c.name)
}

// scripts returns the programs in JavaScript and TypeScript at paths, which have no extension.
func scripts(paths ...string) (out []program) {
	for _, path := range paths {
		out = append(out, program{path: path + ".js"}, program{path: path + ".ts"})
	}
	return out
}

// vscode are the editors that keep settings as VS Code does.
var vscode = []string{"Code", "Code - Insiders", "VSCodium", "Code - OSS"}

// inVSCode locates a file in the user's directory of each editor in vscode.
func inVSCode(path, shape string) []location {
	var out []location
	for _, editor := range vscode {
		out = append(out, location{base: config, path: editor + "/User/" + path, shape: shape})
	}
	return out
}

// inEditors locates a file in the user's directory of each editor that runs extensions of VS Code, here or on a machine
// that it is connected to.
func inEditors(path, shape string) []location {
	out := inVSCode(path, shape)
	for _, editor := range []string{"Cursor", "Windsurf"} {
		out = append(out, location{base: config, path: editor + "/User/" + path, shape: shape})
	}
	for _, remote := range []string{".vscode-server", ".cursor-server"} {
		out = append(out, location{base: home, path: remote + "/data/User/" + path, shape: shape})
	}
	return out
}

// inOpencode locates the two spellings of the file that opencode has in a directory, with the two forms of its servers.
func inOpencode(b base, dir string) (out []location) {
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		out = append(out, location{base: b, path: dir + name, shape: "mcp"},
			location{base: b, path: dir + name, shape: "mcp/servers"})
	}
	return out
}

// inContainer locates the settings of an editor in a development container.
func inContainer(shape string) []location {
	return []location{
		{base: project, path: ".devcontainer/devcontainer.json", shape: shape},
		{base: project, path: ".devcontainer/*/devcontainer.json", shape: shape},
		{base: project, path: ".devcontainer.json", shape: shape},
	}
}

// gooseRecipes locates the recipes of Goose, which may have any name. Goose finds them in its own
// directory and in the directory in which it is started.
func gooseRecipes() []location {
	// A file with the name of a recipe counts if it names extensions, or uses an escape or a template
	// in which the name may be hidden. Another file counts if it also names a kind of extension.
	named := spelling.Form(`(?i)extensions|\\[xu]|\{[{%#]`)
	const kinds = `\b(stdio|sse|streamable_http|inline_python)\b`
	other := spelling.Form(`(?s)extensions.*` + kinds + `|` + kinds + `.*extensions`)
	var out []location
	add := func(path string, marks func() *regexp.Regexp) {
		for _, shape := range []string{"extensions", "recipe/extensions"} {
			out = append(out, location{base: project, path: path, shape: shape, marks: marks})
		}
	}
	for _, ext := range []string{"yaml", "yml", "json"} {
		add(".goose/recipes/*."+ext, named)
		add("recipe."+ext, named)
	}
	add("*.yaml", other)
	add("*.yml", other)
	return out
}

// variable is a variable of the environment whose value stands for the beginning of paths of a client.
type variable struct {
	name   string
	stands string // the beginning, to a slash or the end; "" for the whole path below the base directory
	below  string // what follows the value in the place of that
}

// inProjectAndHome locates a file that a client has in a project and in the user's home directory.
func inProjectAndHome(path, shape string) []location {
	return []location{{base: project, path: path, shape: shape}, {base: home, path: path, shape: shape}}
}

// commandsAt locates command lines that a client runs itself, in a file of a project, below keys: hooks,
// helpers, language servers, tasks. They are not MCP servers, but may start one. The table has those
// that the documentation of the client lists (read in 2026-11).
func commandsAt(path string, keys ...string) (out []location) {
	for _, key := range keys {
		out = append(out, location{base: project, path: path, shape: key, runs: true})
	}
	return out
}

// geminiKeys are the keys of command lines in "Gemini CLI configuration", older spellings included.
var geminiKeys = []string{
	"hooks", "tools/discoveryCommand", "tools/callCommand", "toolDiscoveryCommand", "toolCallCommand",
}
