package program

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// TestCaptureVersions requires that a surface is captured under every version that the Go
// SDK speaks: a server of the SDK says which those are.
func TestCaptureVersions(t *testing.T) {
	near, far := mcp.NewInMemoryTransports()
	server := mcp.NewServer(&mcp.Implementation{Name: "versions", Version: "1"}, nil)
	session, err := server.Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	client, err := near.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ask, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Write(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	answer, err := client.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	response, ok := answer.(*jsonrpc.Response)
	if !ok || response.Error != nil {
		t.Fatalf("the answer is %+v", answer)
	}
	var speaks struct {
		Versions []string `json:"supportedVersions"`
	}
	if err := json.Unmarshal(response.Result, &speaks); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(speaks.Versions, captureVersions[:]) {
		t.Errorf("the SDK speaks %q, captured is %q", speaks.Versions, captureVersions)
	}
}

func TestJoin(t *testing.T) {
	shown := func(tools ...string) *surface.Surface {
		var l surface.Listing
		for _, tool := range tools {
			name, text, _ := strings.Cut(tool, ":")
			data, err := json.Marshal(map[string]any{"name": name, "description": text,
				"inputSchema": map[string]string{"type": "object"}})
			if err != nil {
				t.Fatal(err)
			}
			l.Tools = append(l.Tools, data)
		}
		s, err := surface.New(l)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := func(last ...string) []*clientView {
		return []*clientView{
			{version: "2026-07-28", caps: "{}", shown: shown("a:one")},
			{version: "2025-11-25", caps: "{}", shown: shown("a:one", "b:two")},
			{version: "2024-11-05", caps: `{"roots":{}}`, shown: shown(last...)},
		}
	}
	got, err := joinViews("notes", all("c:three"))
	if err != nil {
		t.Fatal(err)
	}
	if want := shown("a:one", "b:two", "c:three"); string(got.Surface.Canonical()) != string(want.Canonical()) || len(got.Varying) > 0 {
		t.Errorf("the union is %s, want %s", got.Surface.Canonical(), want.Canonical())
	}
	const pair = "differs, to a client of 2025-11-25 that can do nothing and to a client of 2024-11-05 that can do everything"
	got, err = joinViews("notes", all("b:other", "c:three"))
	if err != nil {
		t.Fatal(err)
	}
	if want := shown("a:one", "c:three"); string(got.Surface.Canonical()) != string(want.Canonical()) {
		t.Errorf("without what varies it is %s, want %s", got.Surface.Canonical(), want.Canonical())
	}
	if len(got.Varying) != 1 || got.Varying["tool:b"] != pair {
		t.Errorf("varying: %q", got.Varying)
	}
	var problem *evidence.Error
	if err := got.ToolsError("notes"); !errors.As(err, &problem) || problem.Class() != evidence.Drift ||
		!strings.Contains(err.Error(), "tool:b "+pair) {
		t.Errorf("a tool that varies: %v", err)
	}
	if err := (&Shown{Varying: map[string]string{"prompt:p": pair}}).ToolsError("notes"); err != nil {
		t.Errorf("a prompt that varies: %v", err)
	}
	if err := got.Withhold([]string{"prompt:p", "tool:a", "tool:b"}, map[surface.Kind]bool{surface.KindPrompt: true}); err != nil {
		t.Fatal(err)
	}
	if want := shown("c:three"); string(got.Surface.Canonical()) != string(want.Canonical()) ||
		got.Varying["tool:a"] == "" || len(got.Varying) != 2 || got.Varying["tool:b"] != pair {
		t.Errorf("withheld: %s, %q", got.Surface.Canonical(), got.Varying)
	}
}

// A range of npm is of a newer Node.js if all that it names is.
func TestNewerNode(t *testing.T) {
	for wanted, want := range map[string]bool{
		">=22": true, "^22.12.0 || >=24": true, "v22.x": true, ">= 21.0.0 < 30": true, "~21.5": true,
		"": false, "*": false, ">=18": false, "^18 || >=22": false, "20": false, "<=22": false, "<22.0.0": false, "lts": false,
		"0.12 || >=22": false,
	} {
		if isNewerNode(wanted, "20") != want {
			t.Errorf("%q is newer than 20: %t", wanted, !want)
		}
	}
	if isNewerNode(">=22", "") {
		t.Error("newer than one that is not known")
	}
}
