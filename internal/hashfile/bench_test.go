package hashfile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

// text is much like the file of bench's P11.
func text(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "    value_%d = compute(input[%d], \"name %d\"); // comment %d\n", i, i, i, i)
	}
	return b.Bytes()
}

// discard is a client that looks into nothing.
type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func BenchmarkAnswer(b *testing.B) {
	data := text(10 << 20)
	reader := contents.NewReader(DefaultMaxFile)
	answers := texts.New()
	client := answers.Writer(discard{io.Discard})
	send := func(write func(io.Writer) error) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		io.WriteString(client, answers.Put(ctx, write))
	}
	b.SetBytes(int64(len(data)))
	b.Run("all", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			send(func(w io.Writer) error { return reader.WriteTagged(w, data, 1, 2) })
		}
	})
	b.Run("tags", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		var buf []byte
		for b.Loop() {
			buf = hashline.AppendLines(buf[:0], data, 1, 2)
		}
	})
	b.Run("escape", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			send(func(w io.Writer) error {
				for at := 0; at < len(data); at += 64 << 10 {
					w.Write(data[at:min(at+64<<10, len(data))])
				}
				return nil
			})
		}
	})
	b.Run("sum", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			digest.FromBytes(data)
		}
	})
	b.Run("survey", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			(&hashline.Survey{First: 1}).WriteAll(data)
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			hashline.Parse(data)
		}
	})
}

// BenchmarkRead is a whole call, of a client that looks into nothing.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1000, 100_000, 10_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dir := b.TempDir()
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(path, text(size), 0o600); err != nil {
				b.Fatal(err)
			}
			s, err := New(Config{Roots: []string{dir}, Locks: dir, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			go s.Run(b.Context(), in, out)
			answers := bufio.NewReaderSize(fromServer, 1<<20)
			ask := func(message string) {
				fmt.Fprintln(toServer, message)
				for {
					if _, err := answers.ReadSlice('\n'); err == nil {
						return
					} else if err != bufio.ErrBufferFull {
						b.Fatal(err)
					}
				}
			}
			ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
				`"capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
			fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				ask(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_text_file",`+
						`"arguments":{"path":%q,"max_bytes":100000000}}}`, path))
			}
			toServer.Close()
		})
	}
}
