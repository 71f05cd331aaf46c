package hallmark_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/policy"
)

func ExampleVerify() {
	world := newExampleWorld() // server.json names the package notes, with its hash
	defer world.Close()
	ctx := context.Background()

	verdict, err := hallmark.Verify(ctx, world.path("server.json"), hallmark.VerifyOptions{Machine: world.machine})
	fmt.Println(len(verdict.Refused()), "refused,", err)

	// Its publisher puts other bytes in the place of those that were hashed.
	check(world.npm.Publish(
		npmtest.Package{Name: "notes", Version: "1.0.0", Files: map[string]string{"steal.js": "1"}}))
	verdict, err = hallmark.Verify(ctx, world.path("server.json"), hallmark.VerifyOptions{Machine: world.machine})
	for _, f := range verdict.Refused() {
		fmt.Println(f.Evidence.Subject, f.Evidence.Outcome)
	}
	fmt.Println(evidence.ClassOf(err) == evidence.Integrity, errors.As(err, new(*policy.Refusal)))
	// Output:
	// 0 refused, <nil>
	// npm:notes@1.0.0 mismatch
	// true true
}

func ExampleHashGen() {
	world := newExampleWorld()
	defer world.Close()

	hashes, err := hallmark.HashGen(context.Background(), world.path("server.json"),
		hallmark.HashOptions{Machine: world.machine})
	check(err)
	for file, hash := range hashes.Files {
		fmt.Println(file, len(hash.String()) == len("sha256:")+64)
	}
	// Output: npm:notes@1.0.0 true
}

func ExamplePublish() {
	world := newExampleWorld()
	defer world.Close()
	world.serveRegistry()

	published, err := hallmark.Publish(context.Background(), world.path("server.json"), hallmark.PublishOptions{
		Machine: world.machine, Registry: world.registry, LogKey: world.logKey,
	})
	check(err)
	fmt.Println(published.Subject, "is entry", *published.Entry, "of the log")
	// Output: io.github.acme/notes@1.0.0 is entry 0 of the log
}

func ExampleScan() {
	world := newExampleWorld()
	defer world.Close()
	world.write("project/.mcp.json", `{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "notes"]}}}`)

	found, err := hallmark.Scan(context.Background(),
		hallmark.ScanOptions{Machine: world.machine, Dir: world.path("project"), Project: true})
	for _, s := range found.Servers {
		for _, p := range s.Packages {
			fmt.Println(filepath.Base(s.File), s.Name, p.Ecosystem, p.Name, p.Pinned)
		}
	}
	fmt.Println(evidence.ClassOf(err))
	// Output:
	// .mcp.json notes npm notes false
	// policy
}

func ExamplePin() {
	world := newExampleWorld()
	defer world.Close()
	project := world.calculator() // hallmark.toml declares a server
	ctx := context.Background()

	pinned, err := hallmark.Pin(ctx, project, nil, hallmark.PinOptions{
		Machine: world.machine,
		// a program, not a URL
		Start: func(p *hallmark.Pinned) (bool, error) { return p.Entry.Launch.URL == "", nil },
		Confirm: func(p *hallmark.Pinned) (bool, error) {
			fmt.Print(p.Name, " shows ", p.Surface.Outline())
			return !p.Alarm, nil
		},
	})
	check(err)
	fmt.Println(pinned[0].Written)
	// Output:
	// calculator shows tool:add  Adds two numbers.
	// true
}

func ExampleCheck() {
	world := newExampleWorld()
	defer world.Close()
	project := world.calculator()
	ctx := context.Background()
	_, err := hallmark.Pin(ctx, project, nil, hallmark.PinOptions{Machine: world.machine, Yes: true})
	check(err)

	checked, err := hallmark.Check(ctx, project, hallmark.CheckOptions{Machine: world.machine, Offline: true})
	fmt.Println(checked.Sound, "of", checked.Entries, err)

	// Somebody replaces the program.
	world.write("calculator.exe", "#!/bin/sh\n")
	checked, err = hallmark.Check(ctx, project, hallmark.CheckOptions{Machine: world.machine, Offline: true})
	fmt.Println(checked.Sound, "of", checked.Entries, evidence.ClassOf(err))
	// Output:
	// 1 of 1 <nil>
	// 0 of 1 integrity
}

func ExampleRun() {
	world := newExampleWorld()
	defer world.Close()
	project := world.calculator()
	ctx := context.Background()
	_, err := hallmark.Pin(ctx, project, nil, hallmark.PinOptions{Machine: world.machine, Yes: true})
	check(err)

	client := newConversation(`"id":2`, // leaves when that was answered
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"example","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}`)
	code, err := hallmark.Run(ctx, project, "calculator",
		hallmark.RunOptions{Machine: world.machine, Stdin: client, Stdout: client})
	fmt.Println(code, err)
	fmt.Println(client.Answer != "")
	// Output:
	// 0 <nil>
	// true
}

func ExampleReview() {
	world := newExampleWorld()
	defer world.Close()
	project := world.calculator()
	ctx := context.Background()
	_, err := hallmark.Pin(ctx, project, nil, hallmark.PinOptions{Machine: world.machine, Yes: true})
	check(err)

	// A colleague checks the project out. That machine has approved nothing.
	colleague := world.newMachine("colleague")
	_, err = hallmark.Run(ctx, project, "calculator", hallmark.RunOptions{Machine: colleague})
	fmt.Println("run:", evidence.ClassOf(err))
	seen, err := hallmark.Review(ctx, project, "calculator", hallmark.ReviewOptions{Machine: colleague})
	fmt.Print("review: ", evidence.ClassOf(err), ", ", seen.Surface.Outline())

	_, err = hallmark.Review(ctx, project, "calculator",
		hallmark.ReviewOptions{Machine: colleague, Approve: seen.Consent})
	fmt.Println("approve:", err)
	_, err = hallmark.Run(ctx, project, "calculator", hallmark.RunOptions{Machine: colleague})
	fmt.Println("run:", err)
	// Output:
	// run: policy
	// review: policy, tool:add  Adds two numbers.
	// approve: <nil>
	// run: <nil>
}

func ExampleInstall() {
	world := newExampleWorld()
	defer world.Close()
	world.write("project/hallmark.toml", `manifest_version = 1
[facets]
kit = { path = "kit" }
[adapters]
targets = ["claude-code"]
`)
	world.write("project/kit/facet.json",
		`{"name": "kit", "version": "1.0.0", "commands": {"wave": {"description": "Waves."}}}`)
	world.write("project/kit/commands/wave.md", "Wave.\n")

	installed, err := hallmark.Install(context.Background(), world.path("project"),
		hallmark.InstallOptions{Machine: world.machine})
	check(err)
	fmt.Println(installed.Facets["kit"], installed.Files)
	// Output: installed [.claude/commands/wave.md]
}

func ExampleVerifyPlugin() {
	world := newExampleWorld()
	defer world.Close()
	world.write("notes/mcp-plugin.json",
		`{"manifestVersion": "2", "name": "notes", "version": "1.0.0", "entry": "dist/index.js"}`)
	world.write("notes/dist/index.js", "exports.createPlugin = async () => {}\n")
	ctx := context.Background()
	_, err := plugins.Hash(ctx, world.path("notes"), plugins.HashOptions{Write: true}) // as 'hallmark plugin hash --write' does
	check(err)

	result, err := hallmark.VerifyPlugin(ctx, world.path("notes"), hallmark.VerifyPluginOptions{Machine: world.machine})
	check(err)
	fmt.Println(result.Manifest.Subject(), result.Profile)

	world.write("notes/dist/index.js", "exports.createPlugin = async () => { steal() }\n")
	_, err = hallmark.VerifyPlugin(ctx, world.path("notes"), hallmark.VerifyPluginOptions{Machine: world.machine})
	fmt.Println(evidence.ClassOf(err))
	// Output:
	// notes@1.0.0 guide
	// integrity
}

func ExampleMonitor() {
	world := newExampleWorld()
	defer world.Close()
	world.serveRegistry()
	ctx := context.Background()
	_, err := hallmark.Publish(ctx, world.path("server.json"), hallmark.PublishOptions{
		Machine: world.machine, Registry: world.registry, LogKey: world.logKey,
	})
	check(err)

	audit, err := hallmark.Monitor(ctx,
		hallmark.MonitorOptions{Machine: world.machine, URL: world.registry, LogKey: world.logKey})
	check(err)
	fmt.Println(audit.Origin, audit.Size, audit.Records, len(audit.Anomalies))
	// Output: log.example.com 1 1 0
}
