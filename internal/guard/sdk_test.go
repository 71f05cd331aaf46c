package guard

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
)

// TestSDK runs the SDK's client against the SDK's server through the relay, in every
// protocol version, with a tool that changes another one.
func TestSDK(t *testing.T) {
	l, _, err := Surface(t.Context(), startSelf(t, "sdk"), nil, "2025-11-25", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, items := guardtest.Keys(t, l)
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
			defer cancel()
			inR, inW, _ := os.Pipe()
			outR, outW, _ := os.Pipe()
			notes := &buffer{}
			done := make(chan int, 1)
			p := startSelf(t, "sdk")
			go func() {
				code, _ := Relay(context.Background(), inR, outW, p,
					Options{Server: "sdk", Approved: Approved{Items: items}, Stderr: notes})
				outW.Close()
				done <- code
			}()
			changed := make(chan bool, 10)
			c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			})
			s, err := c.Connect(ctx, &mcp.IOTransport{Reader: outR, Writer: inW},
				&mcp.ClientSessionOptions{ProtocolVersion: v})
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
			if _, err := call("double"); err == nil ||
				!strings.Contains(err.Error(),
					"tool double: changed since it was approved; run 'hallmark review sdk'") {
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
