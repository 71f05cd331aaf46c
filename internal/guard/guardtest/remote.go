package guardtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Dial connects to a remote server as a launch does.
func Dial(t testing.TB, url string, headers map[string]string) *process.Process {
	t.Helper()
	d := digest.FromBytes([]byte(url))
	v := policy.Judge(policy.Launch, policy.Settings{}, evidence.Report{evidence.Compare(
		evidence.Claim{Subject: "srv", Scheme: evidence.Launch, Authority: evidence.Lock, Want: []digest.Digest{d}},
		evidence.Observed{Digests: []digest.Digest{d}})})
	p, err := process.Connect(t.Context(), v.Admitted(), process.Subject{Name: "srv", Digest: d},
		process.Remote{Name: "srv", URL: url, Headers: headers, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	return p
}

// Serve serves the SDK's server over streamable HTTP, and returns its URL.
func Serve(t testing.TB, o *mcp.StreamableHTTPOptions, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	s := SDKServer()
	h := http.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	if wrap != nil {
		h = wrap(h)
	}
	ts := httptest.NewServer(h)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts.URL
}
