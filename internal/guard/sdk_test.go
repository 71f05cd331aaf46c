package guard

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/surface"
)

var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func keys(t *testing.T, l surface.Listing) (names []string, a Approved) {
	t.Helper()
	s, err := surface.New(l)
	if err != nil {
		t.Fatal(err)
	}
	a.Items = map[string]digest.Digest{}
	for _, it := range s.Items() {
		names = append(names, it.Key())
		a.Items[it.Key()] = it.Digest
	}
	return names, a
}

// TestCapture lists the SDK's server in each version, page by page, and finds the same
// surface.
func TestCapture(t *testing.T) {
	want := []string{"instructions", "tool:double", "tool:morph", "prompt:greet", "resource:mem://a", "template:mem://t/{x}"}
	var first string
	for _, v := range versions {
		p := startSelf(t, "sdk")
		l, info, err := Capture(t.Context(), p, json.RawMessage(`{ "roots" : {"listChanged":true} }`), v, nil)
		if err != nil {
			t.Fatal(v, err)
		}
		if info.ProtocolVersion != v || info.Stateless != (v == "2026-07-28") || info.Name != "sdk" {
			t.Errorf("%s: %+v", v, info)
		}
		if got, _ := keys(t, l); !slices.Equal(got, want) {
			t.Errorf("%s: %q", v, got)
		}
		s, _ := surface.New(l)
		if d := s.Digest().String(); first == "" {
			first = d
		} else if d != first {
			t.Errorf("%s: another surface", v)
		}
		if code := p.ExitCode(); code != 0 {
			t.Errorf("%s: exit code %d", v, code)
		}
	}
}

// TestCaptureExclude leaves out kinds that are not wanted.
func TestCaptureExclude(t *testing.T) {
	l, _, err := Capture(t.Context(), startSelf(t, "sdk"), nil, "2025-11-25",
		map[surface.Kind]bool{surface.KindInstructions: true, surface.KindTool: true, surface.KindResource: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := keys(t, l); !slices.Equal(got, []string{"prompt:greet", "template:mem://t/{x}"}) {
		t.Errorf("%q", got)
	}
}

func TestCaptureHostile(t *testing.T) {
	refuse := []string{`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`}
	for name, x := range map[string]struct {
		r   rules
		why string
	}{
		"greeting and requests": {base(addTool).set("tools/list", []string{"Hello!", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `{"jsonrpc":"2.0","id":"x","result":{}}`, `[` + tools(addTool) + `]`}), ""},
		"only discover":         {base(addTool).set("initialize", refuse).set("server/discover", []string{result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)}), ""},
		"neither":               {base().set("initialize", refuse), "neither initialize"},
		"endless":               {base().set("tools/list", []string{result(`{"tools":[],"nextCursor":"x"}`)}), "earlier one"},
		"dies":                  {base().set("tools/list", []string{"!exit 1"}), "ended without an answer"},
		"dies at once":          {base().set("initialize", []string{"!exit 7"}), "initialize: the server ended without an answer: exit status 7"},
		"is killed at once":     {base().set("initialize", []string{"!kill -9 $$"}), "initialize: the server ended without an answer: signal: killed"},
		"hangs":                 {base().set("tools/list", []string{"!sleep 30"}), "no answer"},
		"folded":                {base().set("tools/list", []string{`{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]},"Result":{}}`}), "letter case"},
		"bad instructions":      {base().set("initialize", []string{result(`{"capabilities":{},"instructions":7}`)}), "instructions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if name == "hangs" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			p, _ := startPeer(t, x.r, nil)
			l, info, err := Capture(ctx, p, nil, "2025-11-25", nil)
			switch {
			case x.why == "" && (err != nil || len(l.Tools) != 1 || info.Stateless != (name == "only discover")):
				t.Errorf("%v, %s, %+v", err, l.Tools, info)
			case x.why != "" && (err == nil || !strings.Contains(err.Error(), x.why)):
				t.Errorf("%v, want %s", err, x.why)
			}
		})
	}
}

// TestSDK runs the SDK's client against the SDK's server through the relay, in every
// protocol version, with a tool that changes another one.
func TestSDK(t *testing.T) {
	l, _, err := Capture(t.Context(), startSelf(t, "sdk"), nil, "2025-11-25", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, approved := keys(t, l)
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			inR, inW, _ := os.Pipe()
			outR, outW, _ := os.Pipe()
			notes := &buffer{}
			done := make(chan int, 1)
			p := startSelf(t, "sdk")
			go func() {
				code, _ := Relay(context.Background(), inR, outW, p, Options{Server: "sdk", Approved: approved, Stderr: notes})
				outW.Close()
				done <- code
			}()
			changed := make(chan bool, 10)
			c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			})
			s, err := c.Connect(ctx, &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: v})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.InitializeResult(); got.ProtocolVersion != v || got.Instructions != "Use with care." {
				t.Errorf("%+v", got)
			}
			var names []string
			for tool, err := range s.Tools(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, []string{"double", "morph"}) {
				t.Errorf("tools %q", names)
			}
			call := func(name string) (string, error) {
				r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"x": 21}})
				if err != nil {
					return "", err
				}
				return r.Content[0].(*mcp.TextContent).Text, nil
			}
			if got, err := call("double"); got != "42" || err != nil {
				t.Errorf("double: %s, %v", got, err)
			}
			if _, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"}); err != nil {
				t.Error(err)
			}
			for _, uri := range []string{"mem://a", "mem://t/1"} {
				if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil {
					t.Error(err)
				}
			}
			if _, err := call("morph"); err != nil {
				t.Error(err)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatal("no list_changed")
			}
			if _, err := call("double"); err == nil || !strings.Contains(err.Error(), "tool double: changed since it was approved; run 'hallmark review sdk'") {
				t.Errorf("after the change: %v", err)
			}
			names = nil
			for tool, err := range s.Tools(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, []string{"morph"}) {
				t.Errorf("tools after the change %q", names)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			inW.Close()
			select {
			case code := <-done:
				if code != 0 {
					t.Errorf("exit code %d", code)
				}
			case <-ctx.Done():
				t.Error("the relay does not end")
			}
			if strings.Count(notes.String(), "\n") != 1 || !strings.Contains(notes.String(), "tool:double") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
