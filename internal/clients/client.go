package clients

import (
	"fmt"
	"regexp"
	"slices"
)

// client is a row of the table: everything that this package knows of one client. To add a client is
// to add a row. The one client that is named elsewhere is Codex, whose roles are files: see NamedFile.
type client struct {
	id   string // as --client takes it: "claude-code"
	name string // for messages

	servers  []location    // of the files that name servers
	commands []location    // of a project's files with command lines that the client runs itself: see keyed
	programs []program     // files of a project that the client runs when it starts
	install  *installation // how a server is added to a project; nil: nothing is installed for the client

	own         bool // it is Hallmark, whose file package project reads, and refuses what is no server
	substitutes bool // it runs $(command) and `command` in the values of an entry
}

// clientOf is the row of the client called id; the zero row if there is none.
func clientOf(id string) client {
	if i := slices.IndexFunc(table, func(c client) bool { return c.id == id }); i >= 0 {
		return table[i]
	}
	return client{}
}

// locations are those of a client's servers and of the command lines that it runs.
func (c client) locations() []location { return slices.Concat(c.servers, c.commands) }

// program is a file of a project that is a program. It is reported, and not read.
type program struct {
	path string // as that of a location
	adds bool   // servers, in a way of its own: it is a shell script
}

// why says of a program of c that it was not read.
func (p program) why(c client) string {
	if p.adds {
		return fmt.Sprintf("is a shell script that %s runs when it starts, which may add servers, and is not read",
			c.name)
	}
	return fmt.Sprintf("is a program that %s runs when it starts, and is not read", c.name)
}

// scripts are the programs in JavaScript and TypeScript that paths without an extension name.
func scripts(paths ...string) (out []program) {
	for _, path := range paths {
		out = append(out, program{path: path + ".js"}, program{path: path + ".ts"})
	}
	return out
}

// The usual key, that of each plugin in a list of plugins, and the shape of a file that is
// itself the object of servers.
const (
	usual     = "mcpServers"
	inPlugins = "plugins/*/mcpServers"
	itself    = "."
)

// vscode are the editors that keep settings as VS Code does.
var vscode = []string{"Code", "Code - Insiders", "VSCodium"}

// inVSCode locates a file in the user's directory of each of them.
func inVSCode(path, shape string) []location {
	var out []location
	for _, editor := range vscode {
		out = append(out, location{base: config, path: editor + "/User/" + path, shape: shape})
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

// recipes locates the recipes of Goose. They are found in the directory in which it is started
// and in its own, by any name.
func recipes() []location {
	// A name that is no recipe's before it holds extensions, or may hold them in other words.
	named := regexp.MustCompile(`(?i)extensions|\\[xu]|\{[{%#]`)
	other := regexp.MustCompile(`(?s)extensions.*\b(stdio|sse|streamable_http|inline_python)\b|\b(stdio|sse|streamable_http|inline_python)\b.*extensions`)
	var out []location
	add := func(path string, marks *regexp.Regexp) {
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

// both locates a file that a client has in a project and in the user's home directory.
func both(path, shape string) []location {
	return []location{{base: project, path: path, shape: shape}, {base: home, path: path, shape: shape}}
}

func join(parts ...[]location) []location {
	var out []location
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// keyed locates command lines that a client runs itself, in a file of a project, below keys: hooks,
// helpers, language servers, tasks. They are no servers of MCP, and may start one. The table has
// them as far as the client's documentation says so (read in 2026-11).
func keyed(path string, keys ...string) (out []location) {
	for _, key := range keys {
		out = append(out, location{base: project, path: path, shape: key, runs: true})
	}
	return out
}

// geminiKeys are those of "Gemini CLI configuration", its older spelling included.
var geminiKeys = []string{
	"hooks", "tools/discoveryCommand", "tools/callCommand", "toolDiscoveryCommand", "toolCallCommand",
}
