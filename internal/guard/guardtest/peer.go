package guardtest

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

//go:embed testdata/peer.py
var peerScript []byte

// What an honest server says: its answer to initialize, and its tool.
const (
	HelloAnswer = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"srv","version":"1"}}}`
	AddTool = `{"name":"add","description":"Adds.","inputSchema":{"type":"object","required":["a","b"],` +
		`"properties":{"a":{"type":"number","minimum":1},"b":{"type":"number"}}}}`
)

// Rules are what the hostile server says, by method: a list of lines for each request in turn, in
// which $ID is the id of the request. testdata/peer.py says what else a line may be.
type Rules map[string][][]string

// StartPeer starts the hostile server.
func StartPeer(t testing.TB, r Rules, extra map[string]any) (p *process.Process, log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the peer is a Unix script")
	}
	all := map[string]any{}
	for k, v := range r {
		all[k] = v
	}
	maps.Copy(all, extra)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "received")
	if err := os.WriteFile(filepath.Join(dir, "rules"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "peer.py"), peerScript, 0o700); err != nil {
		t.Fatal(err)
	}
	script := Open(t, filepath.Join(dir, "peer.py"))
	python := Open(t, "/usr/bin/python3")
	adm, subjects := Admit(t, script, python)
	p, err = process.Exec(t.Context(), adm, subjects, process.Command{
		Name: "peer", Exe: script, Interpreter: python, Args: []string{"peer.py"},
		Env: append(os.Environ(), "PEER_RULES="+filepath.Join(dir, "rules"), "PEER_LOG="+log),
	})
	if err != nil {
		t.Fatal(err)
	}
	killAtEnd(t, p)
	return p, log
}

// Result is an answer with that result to the request of a rule.
func Result(body string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + body + `}` }

// Tools is a page of those tools.
func Tools(items ...string) string {
	return Result(`{"tools":[` + strings.Join(items, ",") + `]}`)
}

// Base are the rules of an honest server with the given tools.
func Base(items ...string) Rules {
	return Rules{
		"initialize": {{strings.Replace(HelloAnswer, `"id":0`, `"id":$ID`, 1)}},
		"tools/list": {{Tools(items...)}},
		"tools/call": {{Result(`{"content":[]}`)}},
		"ping":       {{Result(`{}`)}},
	}
}

// Set sets the answers to method.
func (r Rules) Set(method string, answers ...[]string) Rules {
	r[method] = answers
	return r
}
