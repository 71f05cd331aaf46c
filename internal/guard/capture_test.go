package guard_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/surface"
)

// TestCapture lists the SDK's server in each version, page by page, and finds the same
// surface.
func TestCapture(t *testing.T) {
	want := []string{"instructions", "tool:double", "tool:morph", "prompt:greet", "resource:mem://a",
		"template:mem://t/{x}"}
	var first string
	for _, v := range guardtest.Versions {
		p := guardtest.StartSelf(t, "sdk")
		l, info, err := guard.Surface(t.Context(), p, json.RawMessage(`{ "roots" : {"listChanged":true} }`), v, nil)
		if err != nil {
			t.Fatal(v, err)
		}
		if info.ProtocolVersion != v || info.Stateless != (v == "2026-07-28") || info.Name != "sdk" {
			t.Errorf("%s: %+v", v, info)
		}
		if got, _ := guardtest.Keys(t, l); !slices.Equal(got, want) {
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
	l, _, err := guard.Surface(t.Context(), guardtest.StartSelf(t, "sdk"), nil, "2025-11-25",
		map[surface.Kind]bool{surface.KindInstructions: true, surface.KindTool: true, surface.KindResource: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := guardtest.Keys(t, l); !slices.Equal(got, []string{"prompt:greet", "template:mem://t/{x}"}) {
		t.Errorf("%q", got)
	}
}

func TestCaptureHostile(t *testing.T) {
	refuse := []string{`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`}
	for name, x := range map[string]struct {
		r   guardtest.Rules
		why string
	}{
		"greeting and requests": {guardtest.Base(guardtest.AddTool).Set("tools/list",
			[]string{"Hello!", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
				`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
				`{"jsonrpc":"2.0","id":"x","result":{}}`, `[` + guardtest.Tools(guardtest.AddTool) + `]`}), ""},
		"only discover": {guardtest.Base(guardtest.AddTool).Set("initialize", refuse).Set("server/discover",
			[]string{guardtest.Result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)}), ""},
		"neither": {guardtest.Base().Set("initialize", refuse), "neither initialize"},
		"endless": {guardtest.Base().Set("tools/list",
			[]string{guardtest.Result(`{"tools":[],"nextCursor":"x"}`)}), "earlier one"},
		"dies": {guardtest.Base().Set("tools/list", []string{"!exit 1"}), "ended without an answer"},
		"dies at once": {guardtest.Base().Set("initialize", []string{"!exit 7"}),
			"initialize: the server ended without an answer: exit status 7"},
		"is killed at once": {guardtest.Base().Set("initialize", []string{"!kill -9 $$"}),
			"initialize: the server ended without an answer: signal: killed"},
		"hangs": {guardtest.Base().Set("tools/list", []string{"!sleep 600"}), "no answer"},
		"folded": {guardtest.Base().Set("tools/list",
			[]string{`{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]},"Result":{}}`}), "letter case"},
		"bad instructions": {guardtest.Base().Set("initialize",
			[]string{guardtest.Result(`{"capabilities":{},"instructions":7}`)}), "instructions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if name == "hangs" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			p, _ := guardtest.StartPeer(t, x.r, nil)
			l, info, err := guard.Surface(ctx, p, nil, "2025-11-25", nil)
			switch {
			case x.why == "" && (err != nil || len(l.Tools) != 1 || info.Stateless != (name == "only discover")):
				t.Errorf("%v, %s, %+v", err, l.Tools, info)
			case x.why != "" && (err == nil || !strings.Contains(err.Error(), x.why)):
				t.Errorf("%v, want %s", err, x.why)
			}
		})
	}
}

// TestCaptureSessions: a server that keeps sessions answers server/discover, with the versions that it
// speaks, and nothing else of a protocol without sessions: it is captured under the newest that it speaks.
func TestCaptureSessions(t *testing.T) {
	url := guardtest.Serve(t, &mcp.StreamableHTTPOptions{}, func(h http.Handler) http.Handler { return h })
	l, info, err := guard.Surface(t.Context(), guardtest.Dial(t, url, nil), nil, "2026-07-28", nil)
	if err != nil || info.ProtocolVersion != "2025-11-25" || info.Stateless || len(l.Tools) != 2 {
		t.Errorf("%v: %+v, %d tools", err, info, len(l.Tools))
	}
}
