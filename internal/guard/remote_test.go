package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/surface"
)

// TestRemoteSDK runs the SDK's client against the SDK's server over HTTP, in every version and with
// both kinds of answers.
func TestRemoteSDK(t *testing.T) {
	for _, kind := range []struct {
		name     string
		o        mcp.StreamableHTTPOptions
		versions []string
	}{
		{"events", mcp.StreamableHTTPOptions{}, versions[:4]},
		{"JSON", mcp.StreamableHTTPOptions{JSONResponse: true}, versions[1:4]},
		{"resumable", mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, versions[1:4]},
		{"stateless", mcp.StreamableHTTPOptions{Stateless: true}, versions[1:]},
		{"stateless JSON", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, versions[1:]},
	} {
		for _, v := range kind.versions {
			t.Run(kind.name+"/"+v, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
				defer cancel()
				var deleted atomic.Int32
				url := served(t, &kind.o, func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.Header.Get("Authorization") != "Bearer secret" {
							http.Error(w, "no", http.StatusUnauthorized)
							return
						}
						if r.Method == http.MethodDelete {
							deleted.Add(1)
						}
						h.ServeHTTP(w, r)
					})
				})
				auth := map[string]string{"Authorization": "Bearer secret"}
				l, info, err := Surface(ctx, dial(t, url, auth), nil, v, nil)
				if err != nil {
					t.Fatal(err)
				}
				if info.ProtocolVersion != v {
					t.Errorf("captured under %s", info.ProtocolVersion)
				}
				names, items := guardtest.Keys(t, l)
				if want := []string{"instructions", "tool:double", "tool:morph", "prompt:greet", "resource:mem://a",
					"template:mem://t/{x}"}; !slices.Equal(names, want) {
					t.Fatalf("captured %q", names)
				}
				inR, inW, _ := os.Pipe()
				outR, outW, _ := os.Pipe()
				notes := &buffer{}
				done := make(chan int, 1)
				p := dial(t, url, auth)
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
					t.Fatal(err, notes)
				}
				if got := s.InitializeResult(); got.ProtocolVersion != v || got.Instructions != "Use with care." {
					t.Errorf("%+v", got)
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
				for _, uri := range []string{"mem://a", "mem://t/1"} {
					if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil {
						t.Error(err)
					}
				}
				if _, err := call("morph"); err != nil {
					t.Error(err)
				}
				// Where the server has sessions or a subscription it tells of the change.
				if !kind.o.Stateless || v >= process.FirstStateless {
					select {
					case <-changed:
					case <-time.After(hang.Long):
						t.Fatal("no list_changed", notes)
					}
				} else if _, err := s.ListTools(ctx, nil); err != nil {
					t.Error(err)
				}
				if _, err := call("double"); err == nil ||
					!strings.Contains(err.Error(),
						"tool double: changed since it was approved; run 'hallmark review sdk'") {
					t.Errorf("after the change: %v", err)
				}
				var left []string
				for tool, err := range s.Tools(ctx, nil) {
					if err != nil {
						t.Fatal(err)
					}
					left = append(left, tool.Name)
				}
				if !slices.Equal(left, []string{"morph"}) {
					t.Errorf("tools after the change %q", left)
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
				if want := int32(2); !kind.o.Stateless && deleted.Load() != want {
					t.Errorf("%d sessions were ended, want %d", deleted.Load(), want)
				}
			})
		}
	}
}

// script is a server that answers each request, by method, with what a test says.
type script map[string]http.HandlerFunc

func (s script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if h := s[r.Method]; h != nil {
			h(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	json.NewDecoder(r.Body).Decode(&m)
	r.Header.Set("Test-Id", string(m.ID))
	if h := s[m.Method]; h != nil {
		h(w, r)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// say is an answer with a body in which $ID is the id of the request.
func say(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, strings.ReplaceAll(body, "$ID", r.Header.Get("Test-Id")))
	}
}

const (
	inJSON   = "application/json"
	inEvents = "text/event-stream"
)

func scripted(t *testing.T, s script) (*client, string) {
	t.Helper()
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	if s["initialize"] == nil {
		s["initialize"] = say(200, inJSON, strings.Replace(helloAnswer, `"id":0`, `"id":$ID`, 1))
	}
	if s["tools/list"] == nil {
		s["tools/list"] = say(200, inJSON, tools(addTool))
	}
	return relayTo(t, dial(t, ts.URL, map[string]string{"X-Api-Key": "k"}),
		Options{Approved: approve(t, "tool", addTool)}), ts.URL
}

// TestRemoteAnswers: what a server can answer to a call, and what the client gets.
func TestRemoteAnswers(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, x := range map[string]struct {
		answer http.HandlerFunc
		why    string
	}{
		"JSON":   {say(200, inJSON, good), ""},
		"lines":  {say(200, inJSON+"; charset=utf-8", strings.ReplaceAll(good, ",", ",\r\n ")+"\n"), ""},
		"events": {say(200, inEvents, ": hello\nevent: message\nid: 1\nretry: 10\ndata: "+good+"\n\n"), ""},
		"event in parts": {say(200, inEvents,
			"data: {\"jsonrpc\":\"2.0\",\ndata:\"id\":$ID,\"result\":{\"content\":[]}}\r\n\r\n"), ""},
		"other events": {say(200, inEvents, "event: prime\ndata: nonsense\n\nid: 7\n\ndata: "+good+"\n\n"), ""},
		"CR only":      {say(200, inEvents, ": hello\revent: message\rid: 1\rdata: "+good+"\r\r"), ""},
		"CR in parts": {say(200, inEvents,
			"data: {\"jsonrpc\":\"2.0\",\rdata: \"id\":$ID,\r\ndata: \"result\":{\"content\":[]}}\n\r"), ""},
		"mark":        {say(200, inEvents, "\ufeffdata: "+good+"\n\n"), ""},
		"mark and CR": {say(200, inEvents, "\ufeff\r\ndata: "+good+"\r\r"), ""},
		"two marks":   {say(200, inEvents, "\ufeff\ufeffdata: "+good+"\n\n"), "broke off"},
		"half a mark": {say(200, inEvents, "\xef\xbbdata: "+good+"\n\n"), "broke off"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "redirects are refused"},
		"login page": {say(200, "text/html", "<html>"), "of type text/html"},
		"nothing":    {say(202, "", ""), "no answer"},
		"not JSON":   {say(200, inJSON, "nonsense"), "no answer"},
		"other id":   {say(200, inJSON, strings.Replace(good, "$ID", `"other"`, 1)), "no answer"},
		"JSON-RPC error": {say(400, inJSON, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"bad"}}`),
			"bad"},
		"error without id": {say(400, inJSON,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad \u001b[2J"}}`),
			`400 Bad Request; the server said: "bad \x1b[2J"`},
		"no permission": {say(401, "text/plain", "no"), "401 Unauthorized; see 'headers'"},
		"busy":          {say(503, "text/plain", "later"), "503 Service Unavailable"},
		"broken off":    {say(200, inEvents, "data: {"), "broke off"},
		"encoded": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			say(200, inJSON, good)(w, r)
		}, "encoding gzip"},
		"refused answer": {say(200, inJSON, `{"jsonrpc":"2.0","id":$ID,"result":{},"RESULT":{}}`), "letter case"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := scripted(t, script{"tools/call": x.answer})
			c.shake()
			c.send(callTool("1", "add"))
			if x.why == "" {
				got := strings.ReplaceAll(c.next(), " ", "")
				if got != `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`+"\n" {
					t.Errorf("got %s", got)
				}
				return
			}
			line := c.next()
			var got struct {
				ID    int
				Error struct{ Message string }
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.ID != 1 ||
				!strings.Contains(got.Error.Message, x.why) {
				t.Errorf("got %q, want %q", line, x.why)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

// TestRemoteHeaders: what each request carries.
func TestRemoteHeaders(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	note := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[r.Header.Get("Test-Method")+r.Method+r.Header.Get("Mcp-Method")] = r.Header.Clone()
			mu.Unlock()
			h(w, r)
		}
	}
	hello := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "s1")
		say(200, inJSON, strings.Replace(helloAnswer, `"id":0`, `"id":$ID`, 1))(w, r)
	}
	c, _ := scripted(t, script{
		"initialize": hello,
		"tools/call": note(say(200, inJSON, result(`{"content":[]}`))),
		"DELETE":     note(say(200, "", "")),
	})
	c.shake()
	c.send(callTool("1", "add"))
	c.next()
	c.in.Close()
	if code := c.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, method := range []string{"POST", "DELETE"} {
		h := seen[method]
		if h.Get("X-Api-Key") != "k" || h.Get("Mcp-Session-Id") != "s1" ||
			h.Get("Mcp-Protocol-Version") != "2025-11-25" {
			t.Errorf("%s: %v", method, h)
		}
	}

	const bound = `{"name":"add","inputSchema":{"type":"object","properties":{"who":{"type":"string",` +
		`"x-mcp-header":"Who"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},` +
		`"off":{"type":"boolean","x-mcp-header":"bad name"}}}}}}`
	const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	ts := httptest.NewServer(script{
		"tools/list": say(200, inJSON, tools(bound)),
		"tools/call": note(say(200, inJSON, result(`{"content":[]}`))),
	})
	defer ts.Close()
	c = relayTo(t, dial(t, ts.URL, nil), Options{Approved: approve(t, "tool", bound)})
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"who":"Zoë",` +
		`"deep":{"n":7e0,"off":true}},"_meta":` + meta + `}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	h := seen["POSTtools/call"]
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Name": "add", "Mcp-Param-Who": "=?base64?Wm/Dqw==?=",
		"Mcp-Param-N":    "7",
		"Mcp-Session-Id": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestRemoteResume: a broken stream is resumed after its last event.
func TestRemoteResume(t *testing.T) {
	var id atomic.Value
	c, _ := scripted(t, script{
		"tools/call": func(w http.ResponseWriter, r *http.Request) {
			id.Store(r.Header.Get("Test-Id"))
			say(200, inEvents, "id: 5\nretry: 1\n"+
				"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")(w, r)
		},
		"GET": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Last-Event-Id") != "5" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			say(200, inEvents, strings.ReplaceAll("id: 6\ndata: "+result(`{"content":[]}`)+"\n\n", "$ID",
				id.Load().(string)))(w, r)
		},
	})
	c.shake()
	c.send(callTool("1", "add"))
	c.want(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
}

// TestRemoteGone: a server that forgot the session ends it, with exit code 1.
func TestRemoteGone(t *testing.T) {
	var deleted atomic.Bool
	c, _ := scripted(t, script{
		"initialize": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Mcp-Session-Id", "s1")
			say(200, inJSON, strings.Replace(helloAnswer, `"id":0`, `"id":$ID`, 1))(w, r)
		},
		"tools/call": say(404, "text/plain", "who?"),
		"DELETE":     func(http.ResponseWriter, *http.Request) { deleted.Store(true) },
	})
	c.shake()
	c.send(callTool("1", "add"))
	c.wantError("1", jsonrpc.CodeInternal, "ended the session")
	if code := c.wait(); code != 1 || deleted.Load() {
		t.Errorf("exit code %d", code)
	}
}

// TestRemoteBounds: endless answers end, and so do servers that answer nothing.
func TestRemoteBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("moves much data through the goroutines of other remote servers")
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", inEvents)
		chunk := []byte("data: " + strings.Repeat("x", 1<<20) + "\n")
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	c, _ := scripted(t, script{"tools/call": endless, "x/hang": hang})
	c.shake()
	c.send(callTool("1", "add"))
	c.wantError("1", jsonrpc.CodeInternal, "too long")
	for i := range process.MaxCalls + 1 {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x/hang"}`, i+10))
	}
	c.wantError(fmt.Sprint(process.MaxCalls+10), jsonrpc.CodeInternal, "too many requests")
	c.in.Close()
	if code := c.wait(); code != 128+15 {
		t.Errorf("exit code %d", code)
	}
}

// TestRemoteCancel: a cancelled request is not waited for.
func TestRemoteCancel(t *testing.T) {
	gone := make(chan bool, 1)
	c, _ := scripted(t, script{"tools/call": func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		gone <- true
	}})
	c.shake()
	c.send(callTool("1", "add"))
	time.Sleep(100 * time.Millisecond)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	hang.Ends(t, "the request", func() { <-gone })
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	c.wantError("2", jsonrpc.CodeInternal, "no answer")
	c.in.Close()
	if code := c.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestRemoteUnreachable: that a server cannot be reached is an error that says so.
func TestRemoteUnreachable(t *testing.T) {
	ts := httptest.NewServer(nil)
	ts.Close()
	_, _, err := Surface(t.Context(), dial(t, ts.URL, nil), nil, "2025-11-25", map[surface.Kind]bool{})
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%v", err)
	}
}
