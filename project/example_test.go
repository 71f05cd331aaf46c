package project_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// A hallmark.toml declares servers and facets. What is wrong in it is an error that names a line.
func ExampleParseConfig() {
	config, err := project.ParseConfig([]byte(`manifest_version = 1
[providers.mcp.notes]
command = "npx"
arguments = ["-y", "@acme/notes@1.4.0"]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	notes := config.Servers["notes"]
	fmt.Println(notes.Line, notes.Command, notes.Arguments, notes.OnDrift)

	_, err = project.ParseConfig([]byte("manifest_version = 1\n[providers.mcp.notes]\ncomand = \"npx\"\n"))
	fmt.Println(err)
	// Output:
	// 2 npx [-y @acme/notes@1.4.0] withhold
	// hallmark.toml: line 3, column 1: unknown key providers.mcp.notes.comand; write command
}

// An entry is added to a lock only with the verdict that admitted all it is made of, and a lock that was changed
// after it was written is not read.
func ExampleLock_Add() {
	shown, err := surface.New(surface.Listing{Tools: []json.RawMessage{[]byte(`{"name":"add"}`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	program := digest.FromBytes([]byte("the program"))
	entry := project.ServerLock{
		Source: project.KindCommand, Ref: "file:tool", Artifacts: map[string]digest.Digest{"file:tool": program},
		Launch: project.Server{Command: "./tool"}.Launch(),
	}
	lock := &project.Lock{}
	fmt.Println(lock.Add(policy.Admitted{}, "tool", entry, shown))

	computed := func(subject string, scheme evidence.Scheme, d digest.Digest) evidence.Evidence {
		return evidence.Compare(evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Lock},
			evidence.Observed{Digests: []digest.Digest{d}})
	}
	verdict := policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{
		computed("file:tool", evidence.File, program),
		computed(project.SurfaceSubject("tool"), evidence.Surface, shown.Digest()),
	})
	fmt.Println(lock.Add(verdict.Admitted(), "tool", entry, shown))

	text, err := lock.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := project.ParseLock(text)
	fmt.Println(read.Servers(), err)
	_, err = project.ParseLock(bytes.Replace(text, []byte("./tool"), []byte("./other"), 1))
	fmt.Println(evidence.ClassOf(err))
	// Output:
	// not admitted: file:tool: a verdict of flow "" does not permit to add
	// <nil>
	// [tool] <nil>
	// integrity
}

// What an entry of a kind of server is made of is asked of the kind.
func ExampleServerKind() {
	for _, kind := range []project.ServerKind{project.KindNPM, project.KindHTTP} {
		fmt.Println(kind, kind.Remote(), kind.Engines())
		for _, file := range kind.Files("notes") {
			fmt.Println("  owes", file.Name)
		}
	}
	// Output:
	// npm false [npm]
	//   owes hallmark.surfaces/notes.json
	//   owes hallmark.closures/notes.json
	// http true []
	//   owes hallmark.surfaces/notes.json
}
