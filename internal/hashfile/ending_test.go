package hashfile

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// TestEndOfInput ends with the client's end, whether the client reads the answer that is written or not, and leaves
// nothing running.
func TestEndOfInput(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "f"), text(12<<20), 0o600))
	before := runtime.NumGoroutine()
	for _, reads := range []bool{true, false} {
		s, err := New(Config{Roots: []string{dir}, Locks: private(t), Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		in, client := io.Pipe()
		answers, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context(), in, out) }()
		fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
			`"capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
		buf := make([]byte, 1<<20)
		for n := 0; n == 0 || buf[n-1] != '\n'; {
			if n, err = answers.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintln(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_text_file",`+
			`"arguments":{"path":"f","max_bytes":100000000}}}`)
		n, err := answers.Read(buf) // it has begun to write
		must(t, err)
		client.Close()
		var got strings.Builder
		if got.Write(buf[:n]); reads {
			io.Copy(&got, answers)
		}
		if err := <-ended; err != nil {
			t.Errorf("reads %v: %v", reads, err)
		}
		if !strings.HasPrefix(got.String(), `{"jsonrpc":"2.0","id":2,"result"`) {
			t.Errorf("reads %v: %.300s", reads, got.String())
		}
		s.Close()
	}
	hang.Until(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}
