package launcher_test

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// Tell what the command line of an MCP server really runs.
func ExampleParse() {
	for _, line := range [][]string{
		{"npx", "-y", "@acme/notes@1.4.0", "--stdio"},
		{"uvx", "--from", "acme-notes>=1", "notes"},
		{"docker", "run", "--rm", "-i", "registry.example.com/acme/notes:1.4"},
		{"python3.12", "server.py"},
		{"sh", "-c", "notes || notes-fallback"},
	} {
		t := launcher.Parse(line[0], line[1:])
		switch {
		case t.Opaque != "":
			fmt.Println("cannot tell:", t.Opaque)
		case len(t.Packages) > 0:
			p := t.Packages[0]
			fmt.Printf("%s runs %s (%s), %s\n", t.Launcher, p.Name, p.Ecosystem, p.Pin)
		default:
			fmt.Println(t.Launcher, "runs the file", t.File)
		}
	}
	// Output:
	// npx runs @acme/notes (npm), version
	// uvx runs acme-notes (pypi), range
	// docker run runs registry.example.com/acme/notes (oci), tag
	// python3.12 runs the file server.py
	// cannot tell: the option -c of sh runs a shell line that is more than one simple command
}

// Write a command line with an exact version, in the launcher's own syntax.
func ExampleTarget_Spell() {
	t := launcher.Parse("uvx", []string{"--from", "acme-notes[all]>=1", "notes", "--stdio"})
	args, ok := t.Spell("1.4.0")
	fmt.Printf("%q %v\n", args, ok)
	fmt.Println(launcher.Parse("uvx", args).Pinned())
	// Output:
	// ["--from" "acme-notes[all]==1.4.0" "notes" "--stdio"] true
	// true
}

// Hold a server of a client's configuration against the rules.
func ExampleDeclared_Evidence() {
	server := launcher.Declared{Command: "npx", Args: []string{"-y", "@acme/notes", "--api-key", "hunter2hunter2"}}
	_, report := server.Evidence(evidence.Claim{Subject: "notes", Where: "mcp.json"})
	for _, e := range report {
		fmt.Println(e.Rule, e.Outcome, e.Fix)
	}
	// Output:
	// unpinned-launcher absent "@acme/notes@<version>" in place of "@acme/notes"
	// secret-in-args mismatch a variable of the environment, which the entry names
}

// Print the arguments of a command line without the secrets in them.
func ExampleRedact() {
	fmt.Println(launcher.Redact([]string{"--token", "hunter2hunter2", "--header", "Authorization: Bearer ${TOKEN}"}))
	// Output:
	// [--token <redacted> --header Authorization: Bearer ${TOKEN}]
}
