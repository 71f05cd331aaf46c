package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// BenchmarkRoute measures what the relay does for a call and its answer, without the system calls.
func BenchmarkRoute(b *testing.B) {
	for _, size := range []int{64, 4096} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			r := newRelay(context.Background(), process.NewSink(io.Discard, false), &process.Process{},
				Options{Approved: approve(b, "tool", addTool)})
			r.listed = true
			client, server := session{relay: r}, session{relay: r}
			text := bytes.Repeat([]byte("x"), size)
			call := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1000000,"method":"tools/call","params":{"name":"add",`+
				`"arguments":{"text":"%s"}}}`+"\n", text)
			answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1000000,"result":{"content":[{"type":"text",`+
				`"text":"%s"}]}}`+"\n",
				text)
			place := bytes.Index(call, []byte("1000000"))
			b.ReportAllocs()
			for id := 1_000_000; b.Loop(); id++ {
				strconv.AppendInt(call[:place], int64(id), 10)
				strconv.AppendInt(answer[:place], int64(id), 10)
				if client.fromClient(call, nil) == nil || server.fromServer(answer, nil) == nil {
					b.Fatal("not passed on")
				}
			}
		})
	}
}
