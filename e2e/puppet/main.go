// Puppet is an MCP server for tests that shows whatever a file tells it to.
//
//	puppet FILE [ARGUMENT...]
//
// FILE holds one JSON object with the results to give, by method:
//
//	{"tools/list": {"tools": [...]}, "prompts/list": {"prompts": [...]}, "instructions": "..."}
//
// A result {"$error": "TEXT"} is an error with that message instead. A client whose protocol
// version is agreed to be VERSION is given "METHOD@VERSION", where that is there, and one
// with the capability sampling "METHOD+sampling".
// "tools/list CURSOR" is the page with that cursor; without one every page is the first.
// "version" is the server's. "$start" is a shell command that each process begins with, and with
// "$deaf" it ignores signals, and the end of its input while the file is there that this names.
//
// It is read anew for every request. A first line that begins with "#!" is left out, so
// that FILE can be a script whose interpreter the puppet is. A call to a tool is answered by the tool's name:
//
//	args       the arguments that the puppet was started with
//	env        the names and values of its environment, sorted
//	exit       nothing: it ends with code 7
//	ask        its name, after it has asked the client's model for something
//	announce   its name, after notifications that every list has changed
//	any other  the tool's name and the arguments of the call
//
// Called node it answers -p, whatever is asked, as Hallmark asks node: its path and a version.
//
// It is static and small, and speaks the protocol by hand, as a server in any language
// would, hostile or not.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

var errMethod = errors.New("no such method")

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		client
		Meta map[string]json.RawMessage `json:"_meta"` // of a stateless client
	} `json:"params"`
}

// client is what a client says of itself, in initialize or with each request.
type client struct {
	ProtocolVersion string                     `json:"protocolVersion"`
	Capabilities    map[string]json.RawMessage `json:"capabilities"`
}

// is the client of this process.
var is client

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: puppet FILE [ARGUMENT...]")
		os.Exit(2)
	}
	if os.Args[1] == "-p" && filepath.Base(os.Args[0]) == "node" {
		self, err := os.Executable()
		if err != nil {
			fmt.Fprintln(os.Stderr, "puppet:", err)
			os.Exit(1)
		}
		fmt.Printf("%s\n22.0.0\n", self)
		return
	}
	deaf := begin()
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		for _, missing := os.Stat(deaf); err != nil && missing == nil; _, missing = os.Stat(deaf) {
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": r.ID}
		if result, err := respond(r); errors.Is(err, errMethod) {
			answer["error"] = map[string]any{"code": -32601, "message": err.Error()}
		} else if err != nil {
			answer["error"] = map[string]any{"code": -32000, "message": err.Error()}
		} else {
			answer["result"] = result
		}
		data, err := json.Marshal(answer)
		if err != nil {
			fmt.Fprintln(os.Stderr, "puppet:", err)
			os.Exit(1)
		}
		if r.Method == "tools/call" && r.Params.Name == "announce" {
			for _, kind := range []string{"tools", "prompts", "resources"} {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`+"\n", kind)
			}
		}
		if r.Method == "tools/call" && r.Params.Name == "ask" {
			fmt.Println(`{"jsonrpc":"2.0","id":"puppet","method":"sampling/createMessage",` +
				`"params":{"messages":[{"role":"user","content":{"type":"text","text":"hush"}}],"maxTokens":1}}`)
		}
		os.Stdout.Write(append(data, '\n'))
	}
}

// begin does what the file wants of each process, and returns the name under "$deaf".
func begin() string {
	script, err := read()
	if err != nil {
		return "" // the first request says so
	}
	var command, deaf string
	json.Unmarshal(script["$start"], &command)
	json.Unmarshal(script["$deaf"], &deaf)
	if deaf != "" {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	}
	if command != "" {
		shell := exec.Command("/bin/sh", "-c", command)
		shell.Stderr = os.Stderr
		shell.Run()
	}
	return deaf
}

// read reads the file.
func read() (script map[string]json.RawMessage, err error) {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		return nil, err
	}
	if first, rest, ok := bytes.Cut(data, []byte("\n")); ok && bytes.HasPrefix(first, []byte("#!")) {
		data = rest
	}
	err = json.Unmarshal(data, &script)
	return script, err
}

func respond(r request) (any, error) {
	script, err := read()
	if err != nil {
		return nil, err
	}
	const meta = "io.modelcontextprotocol/"
	if r.Method == "initialize" {
		is = r.Params.client
	} else if version := r.Params.Meta[meta+"protocolVersion"]; version != nil {
		if err := errors.Join(json.Unmarshal(version, &is.ProtocolVersion),
			json.Unmarshal(r.Params.Meta[meta+"clientCapabilities"], &is.Capabilities)); err != nil {
			return nil, err
		}
	}
	switch r.Method {
	case "ping":
		return map[string]any{}, nil
	case "initialize", "server/discover":
		capabilities := map[string]any{"tools": map[string]any{}}
		for _, kind := range []string{"prompts", "resources"} {
			if script[kind+"/list"] != nil {
				capabilities[kind] = map[string]any{}
			}
		}
		who := map[string]any{"name": "puppet", "version": "1.0.0"}
		if script["version"] != nil {
			who["version"] = script["version"]
		}
		result := map[string]any{"capabilities": capabilities}
		if r.Method == "initialize" {
			result["protocolVersion"], result["serverInfo"] = r.Params.ProtocolVersion, who
		} else {
			result["supportedVersions"] = []string{"2026-07-28"}
			result["_meta"] = map[string]any{"io.modelcontextprotocol/serverInfo": who}
		}
		if script["instructions"] != nil {
			result["instructions"] = script["instructions"]
		}
		return result, nil
	case "tools/call":
		return call(r)
	}
	name := r.Method
	if _, ok := script[name+"@"+is.ProtocolVersion]; ok {
		name += "@" + is.ProtocolVersion
	} else if _, ok := script[name+"+sampling"]; ok && is.Capabilities["sampling"] != nil {
		name += "+sampling"
	}
	result, ok := script[r.Method+" "+r.Params.Cursor]
	if !ok {
		result, ok = script[name]
	}
	if ok {
		var fault struct {
			Text string `json:"$error"`
		}
		if json.Unmarshal(result, &fault) == nil && fault.Text != "" {
			return nil, errors.New(fault.Text)
		}
		return result, nil
	}
	return nil, errMethod
}

func call(r request) (any, error) {
	var text string
	switch r.Params.Name {
	case "args":
		text = strings.Join(os.Args[2:], " ")
	case "env":
		text = strings.Join(slices.Sorted(slices.Values(os.Environ())), "\n")
	case "exit":
		os.Exit(7)
	default:
		text = r.Params.Name + " " + string(r.Params.Arguments)
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}, nil
}
